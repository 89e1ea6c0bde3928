"""The paths of our files, under safe names."""

from __future__ import annotations

from ..errors import PopkitError
from . import foreign
from .system import absolute, join, parent_of, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
NAME_CHARS = 80
ORIGINAL = "original.jsonl"  # in the folder of a session: its transcript as it was before the last change of ours
SHOWN = "shown-"  # how files in the folder of a session begin: pictures and documents that were restored
GOVERNANCE = "data/state"  # retention policies, their log and what they have marked
TRANSCRIPTS = "transcripts"  # those that the helper keeps of other hosts' sessions, a folder for each project


class NoHome(PopkitError):
    """Our folder has no name: neither POPKIT_HOME nor CLAUDE_CONFIG_DIR nor a home folder is known, or POPKIT_HOME is a relative path."""

    def __init__(self, why: str = "no folder for PopKit's state: set POPKIT_HOME (or HOME)"):
        super().__init__(why)


class HomeRefused(NoHome):
    """Our folder is one that a repository could have chosen."""


def claude_folder(environ: Mapping[str, str]) -> str:
    """Return the host's configuration folder."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or ""
    return absolute(folder) if folder else join(user_folder(environ), ".claude")


def user_folder(environ: Mapping[str, str]) -> str:
    """Return the user's own folder; NoHome where it is unknown."""
    user = environ.get("HOME") or environ.get("USERPROFILE") or _home_of_user()
    if user.startswith("~"):  # no shell has expanded it
        raise NoHome
    return absolute(user)


def _home_of_user() -> str:
    """Return the home folder that the system knows. Not `expanduser`, for which an empty HOME is the root folder."""
    try:
        from posix import getuid
        from pwd import getpwuid

        known = getpwuid(getuid()).pw_dir
    except (ImportError, KeyError):
        known = ""
    if not known:
        raise NoHome
    return known


def popkit_home(environ: Mapping[str, str]) -> str:
    """Return the folder of state, archive and logs: $POPKIT_HOME, else popkit in the host's configuration folder. A shell expands no quoted
    `~`, so we do. NoHome for a relative path: it would be another folder in every project, with our files among the project's. HomeRefused
    for one that a repository could have chosen: what lies there decides what is run and read."""
    folder = _named(environ)
    fault = foreign.fault_of(folder, environ)
    if fault:
        raise HomeRefused(f"PopKit does not use {_shown(folder)}, which {fault}. Set POPKIT_HOME to a folder of your own")
    return folder


def _named(environ: Mapping[str, str]) -> str:
    folder = environ.get("POPKIT_HOME") or ""
    if not folder:
        return join(claude_folder(environ), "popkit")
    if folder == "~" or folder.startswith("~/"):
        folder = user_folder(environ) + folder[1:]
    if not folder.startswith("/"):
        raise NoHome(f'POPKIT_HOME is "{_shown(folder)}", a relative path. Set it to an absolute one, or to one that begins with ~/')
    return absolute(folder)


def _shown(folder: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in folder[:60])


def plugin_root() -> str:
    """Return the folder that holds hooks/, commands/ and the shipped configuration; of a wheel, the folder of its package."""
    library = parent_of(parent_of(absolute(__file__)))  # hooks/utils, or popkit_retention/core, which leads to it in a checkout
    above = parent_of(library)
    if not library.endswith("/core"):
        return parent_of(above)
    return parent_of(parent_of(above)) if above.endswith("/power-mode/popkit_retention") else above


def safe_name(name: str) -> str:
    """Return a file name for an id from outside: itself where it is harmless, else a digest of it. Never empty, never a path."""
    if name and len(name) <= NAME_CHARS and _SAFE.issuperset(name):
        return name
    return "x" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def managed_config() -> str:
    """Return the configuration of the organisation that manages this machine: beside Claude Code's own managed settings."""
    import sys

    folder = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
    return join(folder, "popkit", "retention-config.json")


def archive_path(popkit_home: str) -> str:
    return join(popkit_home, "archive.sqlite")


def session_folder(home: str, session_id: str) -> str:
    return join(home, "sessions", safe_name(session_id))
