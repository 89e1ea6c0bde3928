"""How long the user was away between an answer and the next request: what past sessions of the host have taught, kept as one small file,
and the shipped lengths of others. A file that cannot be used teaches nothing.
"""

from __future__ import annotations

import os
import time

from ..edges import codec, files, home
from ..host import moments, projects
from ..policy import warming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "breaks.json"
SCHEMA = 1
MOST_BYTES = 512 * 1024
# What is looked at: so many of the newest transcripts, so much of them, for so long.
TRANSCRIPTS, TRANSCRIPT_BYTES, ALL_BYTES, SECONDS = 100, 64 * 1024 * 1024, 256 * 1024 * 1024, 3.0
# Fewer requests make no session: somebody has tried something.
LEAST_REQUESTS = 5
_DAY_S = 86_400
# The shortest break after which a cache can be cold.
_LIFETIME_S = 300


class Known:
    """The `seconds` of each break, infinite where a session ended; `sessions` that were looked at, `at` which time, 0 for never."""

    __slots__ = ("at", "seconds", "sessions")

    def __init__(self, seconds: list[float] | None = None, sessions: int = 0, at: float = 0.0) -> None:
        self.seconds = seconds or []
        self.sessions = sessions
        self.at = at

    def is_old(self, now: float) -> bool:
        """Whether it is time to learn anew."""
        return abs(now - self.at) >= _DAY_S

    def after_which_cold(self, ttl_s: float) -> list[float]:
        """The breaks after which a cache of this lifetime would have been cold."""
        return [length for length in self.seconds if length > warming.interval_s(ttl_s)]


def own(popkit_home: str) -> Known:
    """What the user's sessions have taught; nothing where nothing is learnt yet."""
    try:
        return _known(files.read_text(os.path.join(popkit_home, NAME), MOST_BYTES + 1) or "")
    except (OSError, ValueError):
        return Known()


def others() -> Known:
    """What comes with the plugin."""
    return _known(files.read_text(os.path.join(home.plugin_root(), "hooks", "utils", "data", NAME)) or "")


def _known(text: str) -> Known:
    value = codec.loads(text)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError("not a file of breaks")
    seconds, learnt = value.get("seconds"), value.get("learnt")
    if not (isinstance(seconds, list) and isinstance(learnt, dict)):
        raise ValueError("not a file of breaks")
    finite = [float(_count(length)) for length in seconds]
    endless = [float("inf")] * min(_count(value.get("ended")), MOST_BYTES)
    return Known(finite + endless, _count(learnt.get("sessions")), float(_count(learnt.get("at", 0))))


def _count(value: object) -> int:
    if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**10):
        raise ValueError("not a file of breaks")
    return value


def learn(environ: Mapping[str, str], popkit_home: str, now: float) -> Known:
    """Looks at the newest transcripts, within the bounds above, and keeps what they tell. OSError where that cannot be written."""
    paths = sorted(projects.every(environ), key=projects.changed, reverse=True)[:TRANSCRIPTS]
    seconds: list[float] = []
    sessions, left, began = 0, ALL_BYTES, time.monotonic()
    for path in paths:
        if time.monotonic() - began > SECONDS:
            break
        found, size = _read(path)
        left -= size
        if left < 0:
            break
        if len(found) >= LEAST_REQUESTS:
            sessions += 1
            goes_on = now - found[-1].answered_at < _DAY_S  # how long its last break is nobody knows yet
            lengths = warming.lengths(found, _LIFETIME_S)
            seconds += [length for length in lengths if length < float("inf") or not goes_on]
    known = Known(sorted(seconds), sessions, now)
    _keep(popkit_home, known)
    return known


def _read(path: str) -> tuple[list[moments.Moment], int]:
    """(the requests of a transcript, its bytes); none of one that is too large or cannot be read."""
    try:
        size = os.stat(path).st_size
        return (moments.of(path), size) if size <= TRANSCRIPT_BYTES else ([], 0)
    except (OSError, ValueError):
        return [], 0


def _keep(popkit_home: str, known: Known) -> None:
    finite = [round(length) for length in known.seconds if length < float("inf")]
    value = {
        "schema": SCHEMA, "learnt": {"sessions": known.sessions, "at": round(known.at)},
        "ended": len(known.seconds) - len(finite), "seconds": finite,
    }  # fmt: skip
    files.make_private_folder(popkit_home)
    files.replace_text(os.path.join(popkit_home, NAME), codec.dumps(value))
