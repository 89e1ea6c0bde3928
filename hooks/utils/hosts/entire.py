"""Entire's checkpoints: a folder for each session in a commit, with what the agent had recorded so far in its own form (`full.jsonl`) and
what is known of it (`metadata.json`). Each holds its session from the beginning, or from where Entire took over: the last one counts.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import loads
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FULL = "full.jsonl"
CONDENSED = "transcript.jsonl"  # beside it, without results and usage
_CONDENSED_HEAD = b'{"v":1,"agent":'
_METADATA, _METADATA_BYTES = "metadata.json", 1 << 20
_EARLIER = "an earlier checkpoint of a session that is there"
_COPY = "the condensed copy of a checkpoint, without results"


class Checkpoint:
    """What is known of a checkpoint: the id of its `session`, and when it was `made`, as its metadata writes times."""

    __slots__ = ("made", "session")

    def __init__(self, session: str, made: str) -> None:
        self.session = session
        self.made = made


def checkpoint_of(path: str) -> Checkpoint | None:
    """Return the checkpoint whose `full.jsonl` a file is; None for any other file."""
    folder, _, name = path.rpartition("/")
    if name != FULL:
        return None
    try:
        text = files.read_text(join(folder or ".", _METADATA), _METADATA_BYTES)
        known = loads(text) if text is not None else None
    except (OSError, ValueError):
        return None
    session, made = (known.get(key) for key in ("session_id", "created_at")) if isinstance(known, dict) else (None, None)
    return Checkpoint(session, made if isinstance(made, str) else "") if isinstance(session, str) and session else None


def is_condensed(head: bytes) -> bool:
    """Return whether a file that begins so is the condensed copy of a checkpoint."""
    return head.startswith(_CONDENSED_HEAD)


def last_of_each(found: Iterable[tuple[int, str]], skip: Callable[[str, str], object]) -> list[tuple[int, str]]:
    """Return (bytes, path) of the files that count: of the checkpoints of a session the last, and none of their condensed copies.
    `skip(path, reason)` is called for all others."""
    pairs = list(found)
    known = {path: checkpoint for _, path in pairs for checkpoint in [checkpoint_of(path)] if checkpoint is not None}
    last: dict[str, tuple[str, int, str]] = {}
    for size, path in pairs:
        if path in known:
            rank = (known[path].made, size, path)
            last[known[path].session] = max(last.get(known[path].session, rank), rank)
    folders = {path.rpartition("/")[0] for path in known}
    kept = []
    for size, path in pairs:
        folder, _, name = path.rpartition("/")
        if name == CONDENSED and folder in folders:
            skip(path, _COPY)
        elif path in known and last[known[path].session][2] != path:
            skip(path, _EARLIER)
        else:
            kept.append((size, path))
    return kept
