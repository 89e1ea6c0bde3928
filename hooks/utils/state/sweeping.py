"""Delete old data from our folder, a little at a time: originals of transcripts, folders of sessions.

An original goes when its undo can no longer be asked for: its transcript is gone, or it is older than `keep_days.originals`. The folder of
a session goes when its transcript is gone, and in any case after `keep_days.sessions` in which neither has changed; with it goes the
transcript that the helper has kept of a session of another host. A live session keeps its own. The counters of a session stay in
`past.jsonl`, for the statistics.
"""

from __future__ import annotations

from ..io import files, home
from ..io.storage import LOGS, Storage
from ..io.system import join, os, parent_of
from ..policy.ruleset import KEEP_DAYS
from . import session, stored_contexts
from .past import note_past

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .site import Site

# Limits of one call: folders of sessions that it checks, files that it removes, their bytes.
FOLDERS, FILES, BYTES = 20, 200, 256 << 20
_CURSOR = "swept"
_DAY_S = 86_400.0
_LIVES_S = 2 * _DAY_S  # a session that was written to more recently is live
_GONE_S = 7 * _DAY_S  # how long a state waits for a transcript that may come back
_ASIDE = ".swept-"
# How the names of our files in the folder of a session begin.
_OURS = ("main.", "agent-", "session.json", "noted.json", "clear.lock", "warming.lock", "data-rules", home.ORIGINAL, home.SHOWN)
STORAGE = (
    Storage("kept originals", {"sessions": r"[^/]+/original\.jsonl[^/]*"}),
    Storage(
        "states of sessions", {"sessions": r"[^/]+/(main\.|agent-|shown-|(session|noted)\.json|data-rules|(clear|warming)\.lock)[^/]*"}
    ),
    Storage(LOGS, {"": r"past\.jsonl|swept"}),
)


class _Budget:
    """The number of removals left to one call."""

    __slots__ = ("bytes", "files")

    def __init__(self) -> None:
        self.files = FILES
        self.bytes = BYTES

    @property
    def spent(self) -> bool:
        return self.files <= 0 or self.bytes <= 0

    def remove(self, path: str) -> None:
        """Remove a file if there is one."""
        try:
            size = os.lstat(path).st_size
            os.unlink(path)
        except OSError:
            return  # there is none, or it went meanwhile
        self.files -= 1
        self.bytes -= size


def sweep(site: Site, now: float) -> None:
    """Remove the due files of the next few sessions; `now` in seconds. The session of the caller is live."""
    budget = _Budget()
    sessions = join(site.lasting_home, "sessions")
    names = stored_contexts.folders(site.lasting_home)
    for name in names:
        if name.startswith(_ASIDE) and _is_folder(join(sessions, name)):
            _empty(join(sessions, name), budget)
    keep = {**KEEP_DAYS, **(site.config.get("keep_days") or {})}
    for name in _next(site.lasting_home, [name for name in names if not name.startswith(_ASIDE)]):
        if budget.spent:
            return
        if name != home.safe_name(site.session_id):
            _sweep_session(site.lasting_home, name, now, keep, budget)


def sweep_memory(site: Site) -> None:
    """Remove the folders in memory of sessions whose client was killed, and which no helper serves."""
    from ..io import volatile

    known = volatile.folders(site.lasting_home)
    if not known:
        return
    from . import sockets

    served = sockets.running(site.lasting_home)
    own = home.safe_name(site.session_id)
    for folder, name in known:
        is_left = not name or (sockets.stem_of(name) not in served and volatile.is_client_gone(folder))
        if is_left and name != own:
            try:
                volatile.remove(folder)
            except OSError:
                pass  # the next session tries again


def _is_ours(name: str) -> bool:
    """Return whether a file in the folder of a session is one of ours. POPKIT_HOME may be a folder in which others keep sessions too."""
    return name.startswith(_OURS)


def _next(popkit_home: str, names: list[str]) -> list[str]:
    """Return the sessions after those that the last call looked at, and note where the next call begins."""
    if not names:
        return []
    path = join(popkit_home, _CURSOR)
    last = files.read_text(path, home.NAME_CHARS) or ""
    chosen = ([name for name in names if name > last] + names)[: min(FOLDERS, len(names))]
    files.replace_text(path, chosen[-1])
    return chosen


def _sweep_session(popkit_home: str, name: str, now: float, keep: dict[str, int], budget: _Budget) -> None:
    folder = join(popkit_home, "sessions", name)
    transcript = session.read(popkit_home, name).transcript or ""
    names = files.names(folder)
    inside = [join(folder, each) for each in names]
    idle = now - max(map(_changed, (*(inside or [folder]), transcript)))
    if not _is_folder(folder) or idle < _LIVES_S:
        return
    orphaned = bool(transcript) and _is_gone(transcript)
    due = idle >= keep["sessions"] * _DAY_S or (orphaned and idle >= _GONE_S)
    if due and all(map(_is_ours, names)):
        if _remove_session(popkit_home, name, budget):
            _remove_kept(popkit_home, transcript, budget)
        return
    original = join(folder, home.ORIGINAL)
    # A kept original is a renamed file: its mtime is that of its last line, its ctime that of the change.
    if orphaned or now - _changed(original, status=True) >= keep["originals"] * _DAY_S:
        budget.remove(original)


def _is_gone(transcript: str) -> bool:
    """Return whether a transcript was deleted. Where the folder of all projects is missing, the transcripts are elsewhere."""
    try:
        os.stat(parent_of(parent_of(transcript)))
    except (OSError, ValueError):
        return False
    try:
        os.stat(transcript)
    except FileNotFoundError:
        return True
    except OSError:
        pass  # unknown
    return False


def _is_folder(path: str) -> bool:
    """Return whether it is a folder, and no link to one."""
    try:
        return os.lstat(path).st_mode & 0o170000 == 0o040000
    except OSError:
        return False


def _changed(path: str, status: bool = False) -> float:
    """Return when a file was last written to, or with `status` changed in any way; 0 for none."""
    try:
        stat = os.lstat(path)
    except (OSError, ValueError):  # a payload may name anything
        return 0.0
    return stat.st_ctime if status else stat.st_mtime


def _remove_session(popkit_home: str, name: str, budget: _Budget) -> bool:
    """Move a session's folder aside as a whole, note its counters, and empty it as far as the budget goes; the next call goes on. Return
    whether it is out of the way."""
    folder = join(popkit_home, "sessions", name)
    held: list[int] = []
    try:
        for each in files.names(folder):
            if each.endswith(".lock") and not _try_lock(join(folder, each), held):
                return False  # another process is at work in it
        note_past(popkit_home, name)
        aside = join(popkit_home, "sessions", _ASIDE + name)
        os.rename(folder, aside)
    except OSError:
        return False  # another sweep was faster
    finally:
        for fd in held:
            os.close(fd)
    _empty(aside, budget)
    return True


def _remove_kept(popkit_home: str, transcript: str, budget: _Budget) -> None:
    """Remove what the helper has kept of a session of another host: its transcript, those of its subagents, and the folders that this
    leaves empty. A transcript of the host's own stays."""
    project = parent_of(transcript)
    if parent_of(project) != join(popkit_home, home.TRANSCRIPTS) or ".." in transcript.split("/"):
        return
    stem = transcript.removesuffix(".jsonl")
    agents = join(stem, "subagents")
    for path in (*(join(agents, name) for name in files.names(agents)), transcript):
        budget.remove(path)
    for folder in (agents, stem, project):
        files.remove_empty(folder)


def _try_lock(path: str, held: list[int]) -> bool:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    held.append(fd)
    try:
        if hasattr(os, "lockf"):
            os.lockf(fd, os.F_TLOCK, 0)
    except OSError as error:
        return not isinstance(error, (BlockingIOError, PermissionError))
    return True


def _empty(folder: str, budget: _Budget) -> None:
    for name in files.names(folder):
        if budget.spent:
            return
        budget.remove(join(folder, name))
    files.remove_empty(folder)
