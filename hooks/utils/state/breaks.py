"""How long the user was away between an answer and the next request, and what the cache held then: what past sessions of the host tell,
kept as one small file, so that what keeping it warm would have been worth can be told. A file that cannot be used tells nothing.
"""

from __future__ import annotations

import os
import time

from ..hosts.claude_code import moments, projects
from ..io import codec, files
from ..io.storage import Storage
from ..policy import warming
from ..policy.economics import HOUR_S
from ..policy.warming import Break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "breaks.json"
# An earlier PopKit has learnt how likely results are needed again, too.
STORAGE = (Storage("learnt of projects", {"": r"(breaks|need-model)\.json", "projects": r"[^/]+/need-model\.json[^/]*"}),)
SCHEMA = 2
MOST_BYTES = 512 * 1024
# What is looked at: so many of the newest transcripts, so much of them, for so long.
TRANSCRIPTS, TRANSCRIPT_BYTES, ALL_BYTES, SECONDS = 100, 64 * 1024 * 1024, 256 * 1024 * 1024, 3.0
# Fewer requests make no session: somebody has tried something.
LEAST_REQUESTS = 5
_DAY_S = 86_400
# What is kept has a bound, too.
MOST_BREAKS, _MODEL_CHARS = 5_000, 60


class Known:
    """The breaks of each session whose cache lives for minutes; `sessions` that were looked at, `hour`: how many of them have one that
    lasts an hour; `at` which time, 0 for never."""

    __slots__ = ("at", "breaks", "hour", "sessions")

    def __init__(self, breaks: list[list[Break]] | None = None, sessions: int = 0, hour: int = 0, at: float = 0.0) -> None:
        self.breaks = breaks or []
        self.sessions = sessions
        self.hour = hour
        self.at = at

    def is_old(self, now: float) -> bool:
        """Whether it is time to learn anew."""
        return abs(now - self.at) >= _DAY_S


def own(popkit_home: str) -> Known:
    """What the user's sessions have taught; nothing where nothing is learnt yet."""
    try:
        return _known(files.read_text(os.path.join(popkit_home, NAME), MOST_BYTES + 1) or "")
    except (OSError, ValueError):
        return Known()


def _known(text: str) -> Known:
    value = codec.loads(text)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError("not a file of breaks")
    learnt, sessions = value.get("learnt"), value.get("breaks")
    if not (isinstance(learnt, dict) and isinstance(sessions, list) and all(isinstance(rows, list) for rows in sessions)):
        raise ValueError("not a file of breaks")
    counts = (_count(learnt.get(name)) for name in ("sessions", "hour", "at"))
    return Known([list(map(_break_of, rows)) for rows in sessions], *counts)


def _break_of(row: object) -> Break:
    if not (isinstance(row, list) and len(row) == 4 and isinstance(row[3], str)):
        raise ValueError("not a file of breaks")
    seconds = float("inf") if row[0] is None else float(_count(row[0]))
    return Break(seconds, _count(row[1]), _count(row[2]), row[3])


def _count(value: object) -> int:
    if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**10):
        raise ValueError("not a file of breaks")
    return value


def learn(environ: Mapping[str, str], popkit_home: str, now: float) -> Known:
    """Looks at the newest transcripts, within the bounds above, and keeps what they tell. OSError where that cannot be written."""
    paths = projects.newest_first(environ)[:TRANSCRIPTS]
    known, left, began = Known(at=now), ALL_BYTES, time.monotonic()
    rows = 0
    for path in paths:
        if time.monotonic() - began > SECONDS or rows > MOST_BREAKS:
            break
        found, size = _read(path)
        left -= size
        if left < 0:
            break
        if len(found) >= LEAST_REQUESTS:
            rows += _add(known, found, now)
    _keep(popkit_home, known)
    return known


def _add(known: Known, found: list[moments.Moment], now: float) -> int:
    """Takes in the requests of a session; how many breaks they had."""
    known.sessions += 1
    if any(moment.usage is not None and moment.usage.cache_ttl_s >= HOUR_S for moment in found):
        known.hour += 1
        return 0
    goes_on = now - found[-1].answered_at < _DAY_S  # how long its last break is nobody knows yet
    breaks = [one for one in warming.breaks_of(found) if one.seconds < float("inf") or not goes_on]
    if breaks:
        known.breaks.append(breaks)
    return len(breaks)


def _read(path: str) -> tuple[list[moments.Moment], int]:
    """(the requests of a transcript, its bytes); none of one that is too large or cannot be read."""
    try:
        size = os.stat(path).st_size
        return (moments.of(path), size) if size <= TRANSCRIPT_BYTES else ([], 0)
    except (OSError, ValueError):
        return [], 0


def _keep(popkit_home: str, known: Known) -> None:
    learnt = {"sessions": known.sessions, "hour": known.hour, "at": round(known.at)}
    rows = [[_row_of(one) for one in breaks] for breaks in known.breaks]
    files.make_private_folder(popkit_home)
    files.replace_text(os.path.join(popkit_home, NAME), codec.dumps({"schema": SCHEMA, "learnt": learnt, "breaks": rows}))


def _row_of(one: Break) -> list[Any]:
    seconds = round(one.seconds) if one.seconds < float("inf") else None
    return [seconds, one.prompt, one.kept, one.model[:_MODEL_CHARS]]
