"""Stores in our folder: what each declares, files that survive a power cut, and the hook log.

A store declares its files, how `popkit doctor` checks it and what a person may want to keep, in the constant STORAGE of a module of its
own, and `popkit_retention/operations/stores.py` lists that module.
"""

from __future__ import annotations

import time

from . import files, home
from .system import is_alive, join, os, parent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    # (our folder, the project's folder, the environment, the time in seconds) -> a finding
    Checker = Callable[[str, str, Mapping[str, str], float], "Check"]

OK, WARNING, PROBLEM = "ok", "warning", "problem"
LOGS = "logs and the like"  # the title of small files that belong to no larger store
# What SQLite, locks and atomic writes append to a name, and what they put between it and a process id.
_ENDINGS = ("-journal", "-shm", "-wal", ".lock", ".old", ".tmp")
_BEHIND = (".missed-", ".tmp-")
# Between a file's name and the process and time in the name of its replacement, as the specification has it.
_TEMPORARY = ".tmp-"
_OLD_S = 86_400.0
LOG_BYTES = 256 * 1024
LOG_NAME = "hooks.log"
_MARK = "!! "


class Check:
    """A finding of `popkit doctor`: what was looked at, its level, what was seen, and what to do (`advice`, empty where nothing is to be
    done). `facts`: the same for programs."""

    __slots__ = ("advice", "facts", "level", "name", "text")

    def __init__(self, name: str, level: str, text: str, advice: str = "", **facts: object):
        self.name = name
        self.level = level
        self.text = text
        self.advice = advice
        self.facts = facts

    def to_json(self) -> dict[str, object]:
        return {"check": self.name, "level": self.level, "text": self.text, "advice": self.advice, **self.facts}


class Storage:
    """What a store keeps. `title`: as a person reads it, shared by stores that are shown as one · `files`: folder below ours ("" for our
    own) -> a regular expression of the paths in it · `check`: what doctor calls · `keep`: how to keep it before it is deleted, in words,
    and the command or the folder for that ({} is our folder) · `stays`: it is the user's, and uninstall leaves it · `proof`: a file of ours
    without which nothing there is ours."""

    __slots__ = ("check", "files", "keep", "proof", "stays", "title")

    def __init__(self, title: str, files: Mapping[str, str], check: Checker | None = None, keep: tuple[str, ...] = (), stays: bool = False,
                 proof: str = ""):  # fmt: skip
        self.title = title
        self.files = files
        self.check = check
        self.keep = keep
        self.stays = stays
        self.proof = proof

    def owns(self, popkit_home: str, path: str) -> bool:
        """Return whether a file is one of these, by its path below our folder."""
        import re

        for folder, pattern in self.files.items():
            inside = path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else "" if folder or "/" in path else path
            if inside and any(re.fullmatch(pattern, name, re.DOTALL) for name in (inside, _stem(inside))):
                return not self.proof or files.is_there(join(popkit_home, self.proof))
        return False

    def bytes_in(self, popkit_home: str) -> int:
        """Return how many bytes it keeps."""
        paths = (path for folder in self.files for path in paths_in(popkit_home, folder))
        return sum(size_of(path) for path in paths if self.owns(popkit_home, below(popkit_home, path)))


def _stem(path: str) -> str:
    """Return a path without what a writer puts behind it: `interpreter.123`, `swept.123.tmp`, `archive.sqlite.missed-1-2`."""
    folder, slash, name = path.rpartition("/")
    for mark in _BEHIND:
        name = name.partition(mark)[0]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    stem, _, pid = name.rpartition(".")
    return folder + slash + (stem if pid.isdigit() else name)


def paths_in(popkit_home: str, folder: str) -> Iterator[str]:
    """Yield the files below a folder of ours, or directly in our folder for "". No link is followed."""
    from os import walk

    for inside, folders, names in walk(join(popkit_home, folder) if folder else popkit_home):
        if not folder:
            folders.clear()
        yield from [join(inside, name) for name in names]


def below(popkit_home: str, path: str) -> str:
    """Return the path of a file from our folder on."""
    return path[len(popkit_home.rstrip("/")) + 1 :]


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 for one that has just been replaced."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


# --- the hook log ---


STORAGE = (Storage(LOGS, {"": r"hooks\.log"}),)


def log_path(popkit_home: str) -> str:
    return join(popkit_home, LOG_NAME)


def log_failure(environ: Mapping[str, str], hook: str, error: BaseException) -> None:
    """Log a failure of a hook. Where even that fails (a full disk, no folder), nothing is done."""
    try:
        popkit_home = home.popkit_home(environ)
        files.make_private_folder(popkit_home)
        path = log_path(popkit_home)
        if _is_full(path):
            _rotate(path)
        files.append_text(path, _entry(hook, error, popkit_home))
    except (OSError, ValueError, home.NoHome):
        return


def _rotate(path: str) -> None:
    try:
        with files.Lock(path + ".lock"):  # two that rotate at once would lose the older log
            if _is_full(path):
                os.replace(path, path + ".old")
    except files.LockTimeout:
        return  # another process rotates it


def _is_full(path: str) -> bool:
    try:
        return os.stat(path).st_size > LOG_BYTES
    except FileNotFoundError:
        return False


def _without_others(error: BaseException, popkit_home: str) -> str:
    """Return the message of an error, without the name of a file that is not ours."""
    names = [name for name in (getattr(error, "filename", None), getattr(error, "filename2", None)) if name is not None]
    if all(isinstance(name, str) and name.startswith(popkit_home) for name in names):
        return str(error)
    return f"[Errno {getattr(error, 'errno', None)}] {getattr(error, 'strerror', None)}"


def _entry(hook: str, error: BaseException, popkit_home: str) -> str:
    import traceback

    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # The frames say where; the message of an error may hold text of the user, so usually only its type is kept.
    is_safe = isinstance(error, (OSError, home.NoHome)) or getattr(error, "is_safe_to_log", False)
    message = _without_others(error, popkit_home)[:200] if is_safe else ""
    lines = [f"{_MARK}{stamp} {hook} {type(error).__name__} {message}".rstrip()]
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    lines.extend(f"   {frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}" for frame in frames)
    return "\n".join(lines) + "\n"


def logged_failures(popkit_home: str) -> list[str]:
    """Return the first lines of the failures in the log, oldest first: "time hook error"."""
    text = (files.read_text(log_path(popkit_home) + ".old") or "") + (files.read_text(log_path(popkit_home)) or "")
    return [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]


def count_failures(popkit_home: str, hooks: tuple[str, ...]) -> int:
    """Return how many failures of these hooks the log has; 0 where it cannot be read, which its own check reports."""
    try:
        lines = logged_failures(popkit_home)
    except OSError:
        return 0
    return sum(line.split(" ")[1:2] in ([name] for name in hooks) for line in lines)


# --- files that survive a power cut ---


def write_durably(path: str, data: bytes) -> None:
    """Replace a file (0600) by its absolute path, its folder made if need be. It is on disk when this returns. OSError where that is
    uncertain: the old one is unchanged, or the new one has its name already."""
    folder = parent_of(path) or "/"
    make_durable_folder(folder)
    temporary = f"{path}{_TEMPORARY}{os.getpid()}-{time.time_ns()}"
    files.replace(path, lambda fd: files.write_all(fd, data), temporary=temporary, sync=True)
    sync_folder(folder)


def make_durable_folder(path: str) -> None:
    """Make a folder and its missing parents (0700), each of them on disk when this returns."""
    if files.is_folder(path):
        return
    parent = parent_of(path) or "/"
    make_durable_folder(parent)
    files.make_private_folder(path)
    sync_folder(parent)


def sync_folder(path: str) -> None:
    """Put the names in a folder on disk: without it a power cut may undo a rename."""
    from errno import EINVAL, ENOTSUP

    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (EINVAL, ENOTSUP):  # a file system that cannot sync a folder
            raise
    finally:
        os.close(fd)


def sweep_temporary(folder: str) -> int:
    """Delete what killed processes have left of `write_durably` in a folder: files of processes that are gone, and any older than a day.
    Return how many. The caller holds the lock under which they are written."""
    swept, now = 0, time.time()
    for name in files.names(folder):
        _, temporary, rest = name.rpartition(_TEMPORARY)
        pid, _, nanoseconds = rest.partition("-")
        if not temporary or not _is_number(pid) or not _is_number(nanoseconds):
            continue
        if not is_alive(int(pid)) or now - int(nanoseconds) / 1e9 > _OLD_S:
            try:
                os.unlink(join(folder, name))
                swept += 1
            except OSError:
                pass  # a folder of that name, or gone meanwhile
    return swept


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
