"""The folders of sessions under a data rule, in file systems kept in memory: their files never reach a disk.

They lie at places that no environment names, so that all processes of a session find the same one, and no repository chooses it. A place
counts only while the system says that memory is what is mounted there; a folder, only while it is ours alone.
"""

from __future__ import annotations

from . import files, home
from .proc import client, facts, read_of_system
from .system import is_alive, join, os, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# The user's own folder for what runs (systemd), and the one for shared memory.
PLACES = ("/run/user/{}", "/dev/shm")  # noqa: S108  only our own folder there is used, and only where nobody else can replace it
_MOUNTS = "/proc/self/mountinfo"
_IN_MEMORY = ("tmpfs", "ramfs")
_MOUNT_BYTES = 1 << 20
_CLIENT = "client"  # in a folder: the process that the session runs in
_GONE = ".gone-"
_TRIES = 3  # another session may just have ended and taken the empty folder around it along
# Parts of the mode of a file.
_KIND, _FOLDER, _OTHERS, _OTHERS_WRITE, _STICKY = 0o170000, 0o040000, 0o077, 0o022, 0o1000


def is_below(path: str) -> bool:
    """Return whether a path is one that only these folders have."""
    return hasattr(os, "geteuid") and path.startswith(tuple(join(_parent(place.format(os.geteuid())), "") for place in PLACES))


def find(popkit_home: str, session_id: str) -> str:
    """Return the folder of a session; "" where there is none, or none that is safe."""
    for place, device in _places():
        folder = _folder(place, popkit_home, session_id)
        if _is_ours(_parent(place), device) and _is_ours(folder, device):
            return folder
    return ""


def make(popkit_home: str, session_id: str) -> str:
    """Return the folder of a session that runs in the client around us, made where there is none; "" where none can be made safely."""
    folder = find(popkit_home, session_id) or _made(popkit_home, session_id)
    try:
        if folder:
            files.replace_text(join(folder, _CLIENT), client())
    except OSError:
        return ""  # full
    return folder


def _made(popkit_home: str, session_id: str) -> str:
    for place, device in _places():
        folder = _folder(place, popkit_home, session_id)
        for _ in range(_TRIES):
            if _is_made(_parent(place), device) and _is_made(folder, device):
                return folder
    return ""


def _is_made(folder: str, device: int) -> bool:
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        pass  # it is there, whoever made it, or cannot be made
    return _is_ours(folder, device)


def is_possible() -> bool:
    """Return whether the system has a place for such folders."""
    return any(True for _ in _places())


def folders(popkit_home: str) -> list[tuple[str, str]]:
    """Return (folder, safe name of the session) of all sessions of a home, and of what removals have left ("")."""
    beginning = _beginning(popkit_home)
    found = []
    for place, device in _places():
        parent = _parent(place)
        for name in files.names(parent) if _is_ours(parent, device) else ():
            session = name.removeprefix(beginning) if name.startswith(beginning) else ""
            if (session or name.startswith(_GONE + beginning)) and _is_ours(join(parent, name), device):
                found.append((join(parent, name), session))
    return found


def is_client_gone(folder: str) -> bool:
    """Return whether the process that a session ran in has ended; True where that is unknown."""
    pid, _, began = (files.read_text(join(folder, _CLIENT), 100) or "").partition(" ")
    return not (pid.isdecimal() and is_alive(int(pid)) and facts(int(pid))[2] == began)


def remove(folder: str) -> None:
    """Remove a folder with all that is in it, at once as far as others see; OSError where something stays."""
    from shutil import rmtree  # seldom

    parent, _, name = folder.rpartition("/")
    aside = folder if name.startswith(_GONE) else f"{parent}/{_GONE}{name}.{os.getpid()}"
    try:
        if aside != folder:
            os.rename(folder, aside)
        rmtree(aside)
        os.rmdir(parent)
    except FileNotFoundError:
        return  # another process was faster
    except OSError:
        if files.is_there(aside):
            raise  # else other sessions have their folders beside it


def _places() -> Iterator[tuple[str, int]]:
    """Yield (path, device) of each place that is kept in memory and in which nobody else can replace what is ours."""
    if not hasattr(os, "geteuid"):
        return
    for pattern in PLACES:
        place = pattern.format(os.geteuid())
        device = device_of(place)
        if device is not None:
            yield place, device


def device_of(place: str) -> int | None:
    """Return the device of a place that is kept in memory and safe; None for any other."""
    try:
        stat = os.lstat(place)
        is_safe = not stat.st_mode & _OTHERS_WRITE or bool(stat.st_mode & _STICKY)
        if stat.st_mode & _KIND != _FOLDER or stat.st_uid not in (0, os.geteuid()) or not is_safe:
            return None
        mounts = read_of_system(_MOUNTS, _MOUNT_BYTES)
        device = f"{os.major(stat.st_dev)}:{os.minor(stat.st_dev)}"
    except (OSError, AttributeError):
        return None
    return stat.st_dev if _type_of(mounts, device) in _IN_MEMORY else None


def _type_of(mounts: str, device: str) -> str:
    """Return the type of the file system of a device ("major:minor"), by the system's list of what is mounted; "" where it has none."""
    for line in mounts.split("\n"):
        mounted, _, system = line.partition(" - ")
        if mounted.split(" ", 3)[2:3] == [device]:
            return system.partition(" ")[0]
    return ""


def _is_ours(folder: str, device: int) -> bool:
    """Return whether there is a folder, and no link to one, that is ours alone and lies on this device."""
    try:
        stat = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.st_mode & (_KIND | _OTHERS) == _FOLDER and stat.st_uid == os.geteuid() and stat.st_dev == device


def _parent(place: str) -> str:
    return join(place, f"popkit-{os.geteuid()}")


def _folder(place: str, popkit_home: str, session_id: str) -> str:
    return join(_parent(place), _beginning(popkit_home) + home.safe_name(session_id))


def _beginning(popkit_home: str) -> str:
    """Return how the folders of a home begin: each home has its own."""
    return sha256(files.encoded(popkit_home)).hexdigest()[:16] + "-"
