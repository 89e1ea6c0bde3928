"""Where our files are, and safe names for ids that come from outside."""

from __future__ import annotations

from .system import absolute, join, parent_of, sha256

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
NAME_CHARS = 80
ORIGINAL = "original.jsonl"  # in the folder of a session: its transcript as it was before the last change of ours


class NoHome(Exception):
    """No folder of ours can be named: neither POPKIT_HOME nor CLAUDE_CONFIG_DIR nor a home folder is known."""

    def __init__(self):
        super().__init__("no folder for PopKit's state: set POPKIT_HOME (or HOME)")


def claude_folder(environ) -> str:
    """The host's configuration folder."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or ""
    if folder:
        return absolute(folder)
    user = environ.get("HOME") or environ.get("USERPROFILE") or _home_of_user()
    if user.startswith("~"):  # nobody has resolved it
        raise NoHome
    return join(absolute(user), ".claude")


def _home_of_user() -> str:
    """The home folder that the system knows. Not `expanduser`, for which an empty HOME is the root folder."""
    try:
        from posix import getuid
        from pwd import getpwuid

        known = getpwuid(getuid()).pw_dir
    except (ImportError, KeyError):
        known = ""
    if not known:
        raise NoHome
    return known


def popkit_home(environ) -> str:
    """The folder of state, archive and logs: $POPKIT_HOME, else popkit in the host's configuration folder."""
    folder = environ.get("POPKIT_HOME") or ""
    return absolute(folder) if folder else join(claude_folder(environ), "popkit")


def plugin_root() -> str:
    """The folder that holds hooks/, commands/ and the shipped configuration."""
    return parent_of(parent_of(parent_of(parent_of(absolute(__file__)))))


def safe_name(name: str) -> str:
    """A file name for an id from outside: itself where it is harmless, else a digest of it. Never empty, never a path."""
    if name and len(name) <= NAME_CHARS and _SAFE.issuperset(name):
        return name
    return "x" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def archive_path(popkit_home: str) -> str:
    return join(popkit_home, "archive.sqlite")


def session_folder(home: str, session_id: str) -> str:
    return join(home, "sessions", safe_name(session_id))


def project_folder(popkit_home: str, project: str) -> str:
    return join(popkit_home, "projects", safe_name(project))
