"""Entire's checkpoints: a folder for each session in a commit, with what the agent had recorded so far in its own form (`full.jsonl`) and
what is known of it (`metadata.json`). Each holds its session from the beginning, or from where Entire took over: the last one counts.

Checkpoints are read from folders, and from the commits that Entire keeps them in: on a branch of its own, sharded by their ids, or one for
each ref. There a checkpoint has an address in place of a path, `REPOSITORY/.git:COMMIT:FOLDER/full.jsonl`. Git is asked, reads alone, for
a limited time; nothing is fetched and nothing is written.
"""

from __future__ import annotations

import errno
import io
import os
import re  # noqa: TID253  no hook on a tool call reads other hosts' records
import time

from ..io import files, processes, repository
from ..io.codec import loads
from ..io.system import join
from .claude_code import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

NAME = "Entire"
FULL = "full.jsonl"
CONDENSED = "transcript.jsonl"  # beside it, without results and usage
_CONDENSED_HEAD = b'{"v":1,"agent":'
_METADATA, _METADATA_BYTES = "metadata.json", 1 << 20
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(?:Z|([+-])(\d\d):(\d\d))")
_EARLIER = "an earlier checkpoint of a session with a later one"
_COPY = "the condensed copy of a checkpoint, without results"


class Checkpoint:
    """The description of a checkpoint: the id of its `session`, when it was made (`at`, seconds; 0 where that is missing), and the `agent`
    that it was recorded of, as Entire calls it ("" where that is missing)."""

    __slots__ = ("agent", "at", "session")

    def __init__(self, session: str, at: float, agent: str) -> None:
        self.session = session
        self.at = at
        self.agent = agent


def checkpoint_of(path: str) -> Checkpoint | None:
    """Return the checkpoint whose `full.jsonl` is at a path or an address; None for anything else."""
    place = _placed(path)
    if place is not None:
        top, commit, folder = place
        return next((checkpoint for _, checkpoint in _described(top, [(commit, folder)])), None)
    folder, _, name = path.rpartition("/")
    if name != FULL:
        return None
    try:
        return _checkpoint(files.read_bytes(join(folder or ".", _METADATA), _METADATA_BYTES) or b"")
    except OSError:
        return None


def _checkpoint(metadata: bytes) -> Checkpoint | None:
    known = _object(metadata)
    session, created_at, agent = (known.get(key) for key in ("session_id", "created_at", "agent"))
    if not isinstance(session, str) or not session:
        return None
    return Checkpoint(session, _seconds(created_at) if isinstance(created_at, str) else 0.0, agent if isinstance(agent, str) else "")


def _seconds(stamp: str) -> float:
    """Return a time as Go writes it: with any number of digits behind the point, and in any time zone."""
    match = _TIME.fullmatch(stamp)
    if match is None:
        return 0.0
    hours, minutes = int(match[4] or 0), int(match[5] or 0)
    return seconds_of(match[1]) + float(match[2] or 0) - (hours * 3_600 + minutes * 60) * (-1 if match[3] == "-" else 1)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = loads(files.text_of(data))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_condensed(head: bytes) -> bool:
    """Return whether a file that begins so is the condensed copy of a checkpoint."""
    return head.startswith(_CONDENSED_HEAD)


def last_of_each(sized: Iterable[tuple[int, str]], skip: Callable[[str, str], object]) -> list[tuple[int, str]]:
    """Return (bytes, path) of the files that count: of the checkpoints of a session the last, and none of their condensed copies.
    `skip(path, reason)` is called for all others."""
    pairs = list(sized)
    known = {path: checkpoint for _, path in pairs for checkpoint in [checkpoint_of(path)] if checkpoint is not None}
    last: dict[str, tuple[float, int, str]] = {}
    for size, path in pairs:
        if path in known:
            rank = (known[path].at, size, path)
            last[known[path].session] = max(last.get(known[path].session, rank), rank)
    folders = {path.rpartition("/")[0] for path in known}
    counting = []
    for size, path in pairs:
        folder, _, name = path.rpartition("/")
        if name == CONDENSED and folder in folders:
            skip(path, _COPY)
        elif path in known and last[known[path].session][2] != path:
            skip(path, _EARLIER)
        else:
            counting.append((size, path))
    return counting


# --- in commits ------------------------------------------------------------------------------------------------------------------------


_ADDRESS = re.compile(rf"(.+)/\.git:([0-9a-f]{{40,64}}):((?:[^\n]+/)?){re.escape(FULL)}", re.DOTALL)
_BRANCHES = ("checkpoints/v1", "sessions/v1", "sessions")  # what the branch of all checkpoints is and was called
_REFS = "refs/entire/checkpoints"  # below it a ref for each checkpoint
_PATTERNS = [*(f"refs/{where}/entire/{name}" for where in ("heads", "remotes/*") for name in _BRANCHES), _REFS]
_BELOW_REFS = ("entire", "heads/entire", "remotes")
_MOST_REFS, _MOST_SESSIONS = 5_000, 100  # the newest refs; sessions in one checkpoint
_MOST_BYTES = 64 << 20  # of paths and of metadata, of one repository
LARGEST = 128 << 20  # bytes of a session
_LOOK_S = 10.0  # for all repositories together
_BUFFER = 1 << 16  # of which the beginning tells whose recording it is
_CHUNK = re.compile(rb"full\.jsonl(?:\.\d{3})?")
_known: dict[str, tuple[bytes, list[tuple[str, Checkpoint]]]] = {}  # top of a checkout -> its refs as they were, what was found


def _placed(address: str) -> tuple[str, str, str] | None:
    match = _ADDRESS.fullmatch(address)
    return (match[1], match[2], match[3]) if match else None


def is_address(path: str) -> bool:
    """Return whether this is the address of a checkpoint in a commit."""
    return _ADDRESS.fullmatch(path) is not None


def top_of(address: str) -> str:
    """Return the top of the checkout that the address of a checkpoint leads to."""
    place = _placed(address)
    return place[0] if place else ""


def sessions_in(folders: Iterable[str]) -> list[tuple[str, Checkpoint]]:
    """Return (address, checkpoint) of the last checkpoint of each session in the repositories of these folders, the newest first; nothing
    of a repository that git cannot read, or for which no time is left."""
    until = time.monotonic() + _LOOK_S
    tops = dict.fromkeys(repository.of(folder).root for folder in dict.fromkeys(folders) if folder.startswith("/"))
    last: dict[str, tuple[str, Checkpoint]] = {}
    for top in tops:
        if time.monotonic() < until and _may_hold(top):
            for address, checkpoint in _in_repository(top):
                if checkpoint.session not in last or last[checkpoint.session][1].at < checkpoint.at:
                    last[checkpoint.session] = address, checkpoint
    return sorted(last.values(), key=lambda each: (each[1].at, each[0]), reverse=True)


def _may_hold(top: str) -> bool:
    """Return whether a look by git is worth its time: most repositories have nothing of Entire's."""
    dot_git = join(top, ".git")
    if not os.path.isdir(dot_git):
        return os.path.isfile(dot_git)  # a worktree: git knows where its refs are
    refs = [join(dot_git, "refs", below) for below in _BELOW_REFS]
    loose = [refs[0], refs[1], *(join(refs[2], remote, "entire") for remote in files.names(refs[2])), join(dot_git, "reftable")]
    if any(map(os.path.isdir, loose)):
        return True
    try:
        return b"/entire/" in (files.read_bytes(join(dot_git, "packed-refs"), _MOST_BYTES) or b"")
    except OSError:
        return False


def _in_repository(top: str) -> list[tuple[str, Checkpoint]]:
    """Return (address, checkpoint) of all checkpoints in a repository. Read once for as long as its refs do not move."""
    form = "--format=%(objectname) %(refname)"
    listed = processes.ask_git(
        top, "for-each-ref", "--sort=-committerdate", f"--count={_MOST_REFS}", form, *_PATTERNS, timeout_s=processes.PATIENT_S
    )
    if not listed:
        return []
    known = _known.get(top)
    if known is None or known[0] != listed:
        lines = listed.decode("utf-8", "replace").splitlines()
        tips = [(commit, name.startswith(_REFS)) for commit, _, name in (line.partition(" ") for line in lines)]
        branches = dict.fromkeys(commit for commit, is_alone in tips if not is_alone)
        places = [(commit, folder) for commit in branches for folder in _folders_of_branch(top, commit)]
        places += _folders_of_refs(top, [commit for commit, is_alone in tips if is_alone])
        # A checkpoint keeps its address though its branch moves on: what is known of it is not read again.
        addresses = {(address.rpartition(":")[2], each.session, each.at): address for address, each in known[1]} if known else {}
        checkpoints = []
        for (commit, folder), each in _described(top, places):
            checkpoints.append((addresses.get((folder + FULL, each.session, each.at)) or _address(top, commit, folder), each))
        known = _known[top] = listed, checkpoints
    return known[1]


def _address(top: str, commit: str, folder: str) -> str:
    return f"{top.rstrip('/')}/.git:{commit}:{folder}{FULL}"


def _folders_of_branch(top: str, commit: str) -> list[str]:
    """Return the folders of sessions below all checkpoints of a branch, each with / at its end."""
    listed = processes.ask_git(top, "ls-tree", "-r", "-z", "--name-only", commit, timeout_s=processes.PATIENT_S, most=_MOST_BYTES) or b""
    paths = {path.decode("utf-8", "surrogateescape") for path in listed.split(b"\0") if b"\n" not in path}
    folders = sorted(path.removesuffix(FULL) for path in paths if path.rpartition("/")[2] == FULL)
    return [folder for folder in folders if folder + _METADATA in paths]


def _folders_of_refs(top: str, commits: list[str]) -> list[tuple[str, str]]:
    """Return (commit, folder of a session in it) of the checkpoints that these commits are."""
    places = []
    for (commit, _), metadata in _contents(top, [(commit, _METADATA) for commit in commits]):
        known = _object(metadata)
        sessions = known.get("sessions")
        if isinstance(sessions, list):
            places += [(commit, f"{number}/") for number in range(min(len(sessions), _MOST_SESSIONS))]
        elif "session_id" in known:
            places.append((commit, ""))
    return places


def _described(top: str, places: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], Checkpoint]]:
    """Yield ((commit, folder), its checkpoint) of those whose metadata tell."""
    for (commit, path), metadata in _contents(top, [(commit, folder + _METADATA) for commit, folder in places]):
        checkpoint = _checkpoint(metadata)
        if checkpoint is not None:
            yield (commit, path.removesuffix(_METADATA)), checkpoint


def _contents(top: str, wanted: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Yield ((commit, path), content) of the files that are there and no larger than metadata are, as many as there is room for."""
    sizes, room, small = _sizes(top, wanted), _MOST_BYTES, []
    for each in wanted:
        if 0 <= sizes.get(each, -1) <= min(_METADATA_BYTES, room):
            room -= sizes[each]
            small.append(each)
    data, at = _batch(top, small), 0
    for each in small:
        if len(data) < at + 1 + sizes[each]:
            return
        yield each, data[at + 1 : at + 1 + sizes[each]]
        at += sizes[each] + 2  # a newline is before each and behind it


def _sizes(top: str, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return (commit, path) -> bytes of the files that are there."""
    objects = list(wanted)
    lines = (_batch(top, objects, "--batch-check=%(objecttype) %(objectsize)") if objects else b"").split(b"\n")
    replies = {each: line.split(b" ") for each, line in zip(objects, lines)}
    return {each: int(words[1]) for each, words in replies.items() if len(words) == 2 and words[0] == b"blob" and words[1].isdigit()}


def _batch(top: str, wanted: Iterable[tuple[str, str]], how: str = "--batch=") -> bytes:
    """Return what git's cat-file says of files in commits; with the empty form nothing but their contents, each in newlines."""
    names = b"".join(f"{commit}:{path}\n".encode("utf-8", "surrogateescape") for commit, path in wanted)
    return (processes.ask_git(top, "cat-file", how, stdin=names, timeout_s=processes.PATIENT_S) or b"") if names else b""


def size(address: str) -> int:
    """Return how many bytes a checkpoint's recording has; OSError where it is not there."""
    return sum(_parts(address).values())


def _parts(address: str) -> dict[tuple[str, str], int]:
    """Return (commit, path) -> bytes of the files that a recording is in, in order: a large one is cut. OSError where it is not there."""
    top, commit, folder = _placed(address) or ("", "", "")
    listed = (
        processes.ask_git(top, "ls-tree", "-z", "--name-only", commit, *([folder] if folder else []), timeout_s=processes.PATIENT_S)
        if top
        else None
    )
    names = (path.rpartition(b"/")[2] for path in sorted((listed or b"").split(b"\0")))
    sizes = _sizes(top, [(commit, folder + name.decode()) for name in names if _CHUNK.fullmatch(name)])
    if not sizes:
        raise OSError(errno.ENOENT, "git finds no checkpoint there", address)
    if sum(sizes.values()) > LARGEST:
        raise OSError(errno.EFBIG, f"the checkpoint has more than {LARGEST >> 20} MiB", address)
    return sizes


def opened(address: str) -> BinaryIO:
    """Return the recording of a checkpoint as a file; OSError where it is not there or git does not give it."""
    parts, read, at = _parts(address), [], 1
    data = _batch(top_of(address), parts)
    if len(data) != sum(parts.values()) + 2 * len(parts):
        raise OSError(errno.EIO, "git cannot read this checkpoint", address)
    for length in parts.values():
        read.append(data[at : at + length])
        at += length + 2
    return io.BufferedReader(io.BytesIO(b"\n".join(read)), _BUFFER)
