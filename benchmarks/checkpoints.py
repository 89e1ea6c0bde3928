"""Ordinary transcripts of Entire's checkpoints: a checkpoint holds what an agent had recorded of its session so far (`full.jsonl`, a large
one in pieces) beside what is known of it (`metadata.json`). They lie in folders, or in the commits of a repository, on a branch of Entire's
own or each in a ref. The last of each session counts. Repositories are asked by git; nothing is fetched or changed there.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, TypeVar

Piece = TypeVar("Piece")
AGENTS = ("Claude Code", "Codex", "OpenCode", "")  # whose recordings PopKit reads; "" where that is not said
_FULL, _METADATA = "full.jsonl", "metadata.json"
_PIECE = re.compile(r"full\.jsonl(?:\.\d{3})?")
_BRANCHES = ("checkpoints/v1", "sessions/v1", "sessions")  # what the branch of all checkpoints is and was called
_REFS = [*(f"refs/{where}/entire/{name}" for where in ("heads", "remotes/*") for name in _BRANCHES), "refs/entire/checkpoints"]
_SMALL = re.compile(r"\.\d+")  # parts of a second, with any number of digits
# Entire used to put a date before the id that the agent had given.
_DATED = re.compile(r"\d{4}-\d\d-\d\d-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


class Checkpoint(NamedTuple):
    """The id of its session, when it was made, the agent, and what reads its recording."""

    session: str
    at: datetime
    agent: str
    read: Callable[[], bytes]


def in_folder(folder: Path) -> Iterator[Checkpoint]:
    """Yield the checkpoints in a folder and below it."""
    for path in sorted(folder.rglob(_FULL)):
        if (path.parent / _METADATA).is_file():
            pieces = sorted(piece for piece in path.parent.iterdir() if _PIECE.fullmatch(piece.name))
            yield from _described((path.parent / _METADATA).read_bytes(), pieces, Path.read_bytes)


def in_commits(repository: Path) -> Iterator[Checkpoint]:
    """Yield the checkpoints in the commits of a repository; none where it is not one."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=False).stdout

    def blob_of(name: str) -> bytes:
        return git("cat-file", "blob", name)

    for commit in dict.fromkeys(git("for-each-ref", "--format=%(objectname)", *_REFS).decode().split()):
        names = git("ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "surrogateescape").split("\0")
        for name in names:
            folder = name.removesuffix(_FULL)
            if name.rpartition("/")[2] == _FULL and folder + _METADATA in names:
                pieces = sorted(one for one in names if one.startswith(folder) and _PIECE.fullmatch(one[len(folder) :]))
                blobs = [f"{commit}:{piece}" for piece in pieces]
                yield from _described(blob_of(f"{commit}:{folder}{_METADATA}"), blobs, blob_of)


def _described(metadata: bytes, pieces: list[Piece], read: Callable[[Piece], bytes]) -> Iterator[Checkpoint]:
    """Yield the checkpoint whose metadata these are, if they say whose session it is."""
    try:
        known = json.loads(metadata)
        session, made = known["session_id"], datetime.fromisoformat(_SMALL.sub("", known["created_at"]).replace("Z", "+00:00"))
    except (ValueError, KeyError, TypeError):
        return
    dated = _DATED.fullmatch(session)
    at = made if made.tzinfo else made.replace(tzinfo=timezone.utc)
    yield Checkpoint(dated[1] if dated else session, at, known.get("agent", ""), lambda: b"\n".join(map(read, pieces)))


def convert(places: Iterable[Path], folder: Path) -> tuple[list[Path], dict[str, int]]:
    """Write the last checkpoint of each session as a transcript, byte by byte what its agent wrote. Return what was written, and how many
    sessions other agents have."""
    last: dict[str, Checkpoint] = {}
    for place in places:
        for each in (*in_folder(place), *in_commits(place)):
            if each.session not in last or last[each.session].at < each.at:
                last[each.session] = each
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    others: dict[str, int] = {}
    for each in last.values():
        if each.agent not in AGENTS:
            others[each.agent] = others.get(each.agent, 0) + 1
            continue
        written.append(folder / (re.sub(r"[^\w.-]", "-", each.session) + ".jsonl"))
        written[-1].write_bytes(each.read())
    return written, others
