"""Check whether the entries of MEMORY.md still hold in the current checkout, where files may be gone, renamed or changed.

Files are read, unless they are as they were when MEMORY.md was written; git is asked for renames alone, and only where a file is gone:
twice at most, however many items there are.
"""

from __future__ import annotations

from ..io import files, repository
from ..io.system import join, os
from .memory_records import CHANGED, COMMAND, ERROR, GONE, NAME, PATH, RENAMED, SAME, Entry, Fact, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# A larger file is not read: it counts as unchanged.
LARGEST_FILE = 1 << 20
# git is asked about the files of at most this many commits.
MOST_COMMITS = 2
_GIT_S = 1.0
# The coarsest clock of a file system.
_JUST_WRITTEN_NS = 2_000_000_000
_KIND, _FOLDER = 0o170000, 0o040000


def check(root: str, facts: Iterable[Fact]) -> dict[Fact, Verdict]:
    """Return the state of each fact in the checkout at `root`; nothing where there is no such folder."""
    if not files.is_folder(root):
        return {}
    contents: dict[str, bytes | None] = {}
    verdicts = {}
    for fact in facts:
        if fact not in verdicts:
            verdicts[fact] = Verdict(_state(root, fact, contents), fact.file)
    missing = [fact for fact, verdict in verdicts.items() if verdict.state == GONE and not files.is_there(join(root, fact.file))]
    renames = _renames(root, missing)
    for fact in missing:
        path = renames.get(fact.file)
        if path and files.is_there(join(root, path)):
            verdicts[fact] = Verdict(RENAMED, path)
    return verdicts


def _state(root: str, fact: Fact, contents: dict[str, bytes | None]) -> str:
    path = join(root, fact.file)
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return GONE
    if stat.st_mode & _KIND == _FOLDER:
        return GONE if fact.holds else SAME
    if stat.st_size > LARGEST_FILE or not (fact.holds or fact.blob):
        return SAME
    if fact.file not in contents:
        contents[fact.file] = content(path)
    data = contents[fact.file]
    if data is None or repository.blob_of(data) == fact.blob:
        return SAME
    if fact.holds and files.encoded(fact.holds) not in data:
        return GONE
    return CHANGED if fact.blob else SAME


def content(path: str) -> bytes | None:
    """Return the content of a file; None for one that cannot be read."""
    try:
        return files.read_bytes(path, LARGEST_FILE)
    except OSError:
        return None


def _renames(root: str, missing: Sequence[Fact]) -> dict[str, str]:
    """Return the files that git says were renamed since the commits at which most of the missing ones were learnt: old path -> new."""
    commits = [fact.commit for fact in missing if fact.commit and all(char in "0123456789abcdef" for char in fact.commit)]
    renames: dict[str, str] = {}
    if not commits:
        return renames
    from ..io import git

    for commit in sorted(dict.fromkeys(commits), key=commits.count, reverse=True)[:MOST_COMMITS]:
        # Between that commit and the index: no filter of the working tree runs.
        output = git.ask_git(
            root, "diff", "--cached", "--name-status", "-z", "-M", "--diff-filter=R", "--no-ext-diff", "--no-color", commit, "--",
            timeout_s=_GIT_S,
        )  # fmt: skip
        fields = files.text_of(output or b"").split("\0")
        renames.update(zip(fields[1::3], fields[2::3]))
    return renames


def current(root: str, entries: Sequence[Entry], stamps: object = None) -> list[Entry]:
    """Return the entries that still hold, with their current paths and marks. Files that have these stamps (as `stamps_of` returns them)
    are not read: what the entries say of them still holds."""
    same = {file for file, stamp in stamps.items() if stamp == _stamp(join(root, file))} if isinstance(stamps, dict) else set()
    as_written = [all(fact.file in same for fact in entry.facts) for entry in entries]
    verdicts = check(root, [fact for entry, is_same in zip(entries, as_written) if not is_same for fact in entry.facts])
    return [entry for entry, is_same in zip(entries, as_written) if is_same or holds_still(entry, verdicts)]


def stamps_of(root: str, entries: Sequence[Entry], now_ns: int) -> dict[str, list[int]]:
    """Return file -> the stamp that it has while all that the entries say of it holds. A file that has just been written has none: its next
    change may leave its times as they are. `now_ns`: the present in nanoseconds, as file systems count them."""
    facts = list(dict.fromkeys(fact for entry in entries for fact in entry.facts))
    stamps = {file: _stamp(join(root, file)) for file in sorted({fact.file for fact in facts})}  # before the files are read
    verdicts = check(root, [fact for fact in facts if stamps[fact.file]])
    for entry in entries:
        for fact in entry.facts:
            state = verdicts[fact].state if fact in verdicts else GONE
            if state not in (SAME, CHANGED) or (entry.kind == PATH and entry.changed != (state == CHANGED)):
                stamps[fact.file] = None
    return {file: stamp for file, stamp in stamps.items() if stamp and max(stamp[:2]) < now_ns - _JUST_WRITTEN_NS}


def _stamp(path: str) -> list[int] | None:
    """Return what changes whenever a file does: its times and its size."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size]


def holds_still(entry: Entry, verdicts: Mapping[Fact, Verdict]) -> bool:
    """Return whether an entry still holds; set the current path of its file, and its mark."""
    checked = [verdicts[fact] for fact in entry.facts if fact in verdicts]
    if any(verdict.state == GONE or (verdict.state == RENAMED and entry.kind == COMMAND) for verdict in checked):
        return False
    for fact, verdict in zip(entry.facts, checked):
        if entry.kind == PATH:
            entry.changed = verdict.state == CHANGED
        if verdict.state == RENAMED and entry.kind == PATH:
            entry.home, _, entry.text = verdict.path.rpartition("/")
        elif verdict.state == RENAMED and entry.kind == NAME:
            entry.home = verdict.path
        elif verdict.state == RENAMED and entry.kind == ERROR:
            entry.text = entry.text.replace(fact.file, verdict.path)
    return True
