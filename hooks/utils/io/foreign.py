"""Recognise paths that a repository could have chosen in the user's place.

A project's settings may set the environment of all that runs in a session. What that names may be anything; but a repository does not know
where else something of its own lies, so nothing within it is trusted. Links are followed by asking the system, from folder to folder
upwards, as `realpath` would take a hook too long to load. `hooks/launch.sh` asks the same.
"""

from __future__ import annotations

from .system import absolute, os, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

# From there a path leads into whatever project is at hand.
_SYSTEM = ("/proc", "/dev/fd", "/sys")
# What tells that a folder is a project.
_SIGNS = ("/.git", "/.claude/settings.json", "/.claude/settings.local.json")
_DEEPEST = 128


def fault_of(folder: str, environ: Mapping[str, str]) -> str:
    """Return why a folder (an absolute path) cannot be trusted to be the user's, in words behind it; "" where it can."""
    if is_of_system(folder):
        return "lies below /proc, /dev/fd or /sys, from where a path can lead into any project"
    try:
        owner = os.stat(folder).st_uid
    except OSError:  # it is not there yet
        owner = None
    if owner is not None and hasattr(os, "geteuid") and owner != os.geteuid():
        return "belongs to another user"
    if is_in_project(folder, environ) and folder != _own_home() + "/.claude/popkit":
        return "lies in the project at hand, where a repository could put it"
    return ""


def is_of_system(path: str) -> bool:
    """Return whether a path begins in a folder of the system's."""
    return ("/" + path.strip("/")).startswith(tuple(f"{folder}/" for folder in _SYSTEM)) or "/" + path.strip("/") in _SYSTEM


def is_in_project(folder: str, environ: Mapping[str, str]) -> bool:
    """Return whether a folder, which need not exist yet, lies in the current project. A folder that contains the user's whole home folder
    is not a project."""
    project = environ.get("CLAUDE_PROJECT_DIR")
    above = {identity for _, identity in _upwards(folder)}
    inside = {identity for start in _starts(environ) for identity in _projects(start, start == project, environ, above)}
    return bool(inside and inside.difference(identity for _, identity in _upwards(_own_home())))


def program(name: str, environ: Mapping[str, str]) -> str:
    """Return the path of a program by the PATH, passing over folders that a repository could have put there; "" where there is none."""
    for folder in (environ.get("PATH") or "").split(":"):
        path = f"{folder.rstrip('/')}/{name}"
        if (
            folder.startswith("/")
            and os.access(path, os.X_OK)
            and not is_of_system(absolute(folder))
            and not is_in_project(folder, environ)
        ):
            return path
    return ""


def is_set_by_project(name: str, environ: Mapping[str, str]) -> bool:
    """Return whether the settings of the project at hand set a variable of the environment."""
    from . import files  # only where something leaves the machine

    own = {identity for _, identity in _upwards(_own_home())}
    for start in _starts(environ):
        for path, identity in _upwards(start):
            for sign in _SIGNS[1:] if identity not in own else ():
                variables = files.read_object(path + sign).get("env")
                if isinstance(variables, dict) and name in variables:
                    return True
    return False


def _is_named_home(identity: tuple[int, int], environ: Mapping[str, str]) -> bool:
    """Return whether a folder is the home that the environment names, as in a container: the settings there are the user's own, unless
    those of the project may have named it."""
    named = environ.get("HOME") or ""
    if not named.startswith("/") or not os.access(named, os.F_OK) or _identity(named) != identity:
        return False
    return named == _own_home() or not is_set_by_project("HOME", environ)


def is_run_by_host(environ: Mapping[str, str]) -> bool:
    """Return whether the environment may come from a project's settings: the host, or a command of the model, has started us."""
    return any(environ.get(name) for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"))


def _starts(environ: Mapping[str, str]) -> list[str]:
    starts = [environ.get("CLAUDE_PROJECT_DIR") or ""]
    try:
        starts.append(os.getcwd())
    except OSError:  # it was deleted
        pass
    return [start for start in dict.fromkeys(starts) if start.startswith("/")]


def _projects(start: str, is_one: bool, environ: Mapping[str, str], among: Container[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what identifies the projects that a folder lies in, of those `among` which they are looked for. `is_one`: it is one itself,
    whatever is in it."""
    for path, identity in _upwards(start):
        if identity in among and (
            (is_one and path == start)
            or os.access(path + _SIGNS[0], os.F_OK)
            or (any(os.access(path + sign, os.F_OK) for sign in _SIGNS[1:]) and not _is_named_home(identity, environ))
        ):
            yield identity


def _identity(folder: str) -> tuple[int, int]:
    stat = os.stat(folder)
    return stat.st_dev, stat.st_ino


def _upwards(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield (path, what identifies it) of a folder, or the nearest that is there, and of those that it really lies in."""
    path, before = folder, None
    while path and not os.access(path, os.F_OK):
        path = parent_of(path)
    for _ in range(_DEEPEST):
        try:
            stat = os.stat(path or "/")
        except OSError:
            return
        identity = (stat.st_dev, stat.st_ino)
        if identity == before:
            return
        yield path, identity
        before = identity
        path += "/.."


def _own_home() -> str:
    """Return the home folder that the system knows, whatever the environment says; "/" where it knows none, which no project lies below."""
    try:
        from posix import getuid
        from pwd import getpwuid

        return getpwuid(getuid()).pw_dir or "/"
    except (ImportError, KeyError):
        return "/"
