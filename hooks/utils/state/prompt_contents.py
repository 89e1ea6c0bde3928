"""Find what the messages of a session's newest prompt hold: by its host's own count, or estimated from the transcript."""

from __future__ import annotations

from functools import lru_cache  # noqa: TID253  no hook of a tool call loads this

from ..hosts.recordings import session_id_of
from ..hosts.transcripts import sent
from ..io.system import os
from ..policy.kind_rows import kind_rows
from . import prompt_breakdowns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def contents_of(popkit_home: str, project: str, transcript_path: str) -> dict[str, Any]:
    """Return `rows` of `kind_rows` of the newest request, `is_counted`: whether the host counted them since its answer, and `added`: what
    the host has attached so far {times, tokens, times_again, tokens_again}, as the bill of a session has it; {} before the first request,
    or where the transcript cannot be read."""
    from os.path import realpath

    try:
        status = os.stat(transcript_path)
        ended, holds, added = _read(transcript_path, status.st_size, status.st_mtime)
    except (OSError, ValueError):
        return {}
    if not ended:
        return {}
    breakdown = prompt_breakdowns.load_breakdown(popkit_home, realpath(project)) if project else {}
    counted = prompt_breakdowns.counted_messages(breakdown, session_id_of(transcript_path), ended)
    return {
        "rows": kind_rows(counted or holds),
        "is_counted": bool(counted),
        "added": dict(zip(("times", "tokens", "times_again", "tokens_again"), added)),
    }


@lru_cache(maxsize=8)
def _read(path: str, size: int, _changed_at: float) -> tuple[float, dict[str, int], list[int]]:
    """Return when the newest answer came (seconds), 0 where there is none, what its request held, and the sums of what the host added."""
    session = sent.read(path, size)
    added = [sum(counts) for counts in zip(*session.added.values())] or [0] * 4
    return session.requests[-1].usage.at if session.requests else 0.0, session.holds, added
