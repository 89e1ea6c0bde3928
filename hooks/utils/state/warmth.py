"""Decide whether the prompt cache of a session is kept warm and when the next request goes out; learn from past sessions what that would
have been worth. Of the session's transcript only the end is read.

Facts of the session: `warm`, the user's word (on or off) · `warming`, of the requests since the newest answer: {`row` (id of that answer),
`model` (as the client names it), `used` (when the last answered one was sent), `next` (when the next one goes out, null for never), `ended`
(why), `about`}.

The journal records each request twice: before it is sent (`warming`: its cost, and the answer behind which it goes), so that no other
window, helper or kill makes a session send more than its limits allow, and once it is answered (`warmed`: its real cost). The time of a
request also identifies it: both entries have the same.

Breaks are how long the user was away between an answer and the next request, and what the cache held then. They are kept in one small file;
one that cannot be used counts as empty.
"""

from __future__ import annotations

import os
import time

from ..hosts import is_kept
from ..hosts.claude_code import entries, projects
from ..io import codec, files
from ..io.storage import Storage
from ..policy import economics, warming
from ..policy.economics import HOUR_S, used_by
from ..policy.ruleset import KEEP_WARM_REQUESTS, KEEP_WARM_USD
from ..policy.warming import Break
from . import journal, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..policy.economics import Models, Prices
    from .live import Site

ON, OFF = "on", "off"
_NAME_CHARS = 200
_MOST_USD = 1e6


class Warmth:
    """`on`, by the word of the session or by configuration (`from_session`) · `moment`: the newest request, None before the first · `model`
    and `prices` that hold for it · `usd`: dollars a unit, None where they are not known · `sent`: journal entries of all requests of the
    session that kept the cache warm and were answered, `in_a_row`: how many were sent since the newest answer · `open_at`: when one of
    these was sent that was not answered (yet), None for none · `spent`: dollars, with those that were never answered · `facts`: see above,
    empty where they are of an answer before · `most_in_a_row`, `most_usd`: the limits · `learnt`: the breaks of past sessions."""

    def __init__(self, site: Site, transcript_path: str) -> None:
        config, word = site.config, site.session.get("warm")
        self.from_session = word in (ON, OFF)
        self.is_guest = is_kept(site.session_id)
        self.on = site.enabled and (word if self.from_session else config.get("keep_warm")) == ON
        self.most_in_a_row: int = config.get("keep_warm_requests", KEEP_WARM_REQUESTS)
        self.most_usd: float = config.get("keep_warm_usd", KEEP_WARM_USD)
        self.moment = entries.newest_moment(transcript_path) if transcript_path else None
        usage = self.moment.usage if self.moment else None
        self.models: Models = site.rules().models
        self.model = self.models.model(usage.model if usage else "")
        self.prompt = usage.tokens if usage else 0
        self.prices, self.usd = _priced(self.models, usage.model if usage else "", self.prompt, usage.cache_ttl_s if usage else 300)
        self._count(store.read_lines(site.paths().journal))
        self.last_row: dict[str, Any] = site.session.get("warming") or {}
        self.facts = self.last_row if self.moment and self.last_row.get("row") == self.row else {}
        self.learnt = read_breaks(site.home)

    @property
    def row(self) -> str:
        """Return the id of the newest answer, "" before the first."""
        return self.moment.message_id[:_NAME_CHARS] if self.moment else ""

    def _count(self, entries: list[Any]) -> None:
        self.sent = [entry for entry in entries if _is_sent(entry)]
        answered = {entry["at"]: self._usd_of(entry) for entry in self.sent}
        requests = [entry for entry in entries if _is_asked(entry)]
        in_row = [entry["at"] for entry in requests if self.row and entry["row"] == self.row]
        self.in_a_row = len(in_row)
        self.open_at: float | None = max((at for at in in_row if at not in answered), default=None)
        self._asked_at = max(in_row, default=0.0)
        self.spent = sum(map(self._usd_of, self.sent)) + sum(entry["usd"] for entry in requests if entry["at"] not in answered)

    def _usd_of(self, entry: dict[str, Any]) -> float:
        """Return what an answered request cost, at the prices of its time."""
        usd = codec.number(entry.get("usd"), _MOST_USD)
        if usd is not None:
            return usd
        return self.usd_for(entry["prompt"], entry["read"], entry["created"], entry["output"])

    def usd_for(self, prompt: int, read: int, created: int, output: int) -> float:
        """Return what a request with such a usage costs, in dollars."""
        return self.prices.cost(used_by(prompt, read, created, output)) * (self.usd or 0.0)

    @property
    def used_at(self) -> float:
        """Return when the cache was last used, as far as is known (seconds)."""
        used = self.facts.get("used")
        sent_at = self.moment.sent_at if self.moment else 0.0
        return max(sent_at, self._asked_at, used if isinstance(used, (int, float)) else 0.0)

    @property
    def refused(self) -> str:
        """Return why nothing is ever sent in this session: the provider keeps its cache by itself, the cache lasts an hour, or the host
        allows no request over the cached prompt; "" where one may be sent."""
        if self.moment is not None and self.model.kept_s:
            return warming.KEPT
        if self.is_guest:
            return warming.HOST
        return warming.HOUR if self.moment is not None and warming.is_refused(self.prices) else ""

    def following(self, now: float, every_s: float = 0.0) -> warming.Next:
        """Return the next request, or why there is none; `every_s`: seconds between requests, if not by the cache's lifetime."""
        if not self.on:
            return warming.Next(None, 0, warming.OFF)
        if self.moment is None:
            return warming.Next(None, 0, warming.NO_REQUEST)
        if self.refused:
            return warming.Next(None, 0, self.refused)
        row = warming.Row(self.prompt, self.prices, self.usd, self.used_at, self.in_a_row, self.spent, self.open_at)
        due = warming.following(row, self.most_in_a_row, self.most_usd, now, every_s)
        ended = self.facts.get("ended")
        return warming.Next(None, due.most, ended) if isinstance(ended, str) and ended in warming.FOR_GOOD else due

    def past(self) -> warming.Past:
        """Return what it would have been worth in the user's own sessions, at today's prices and limits."""
        return warming.Past(
            self.learnt.breaks, lambda model, prompt: _priced(self.models, model, prompt), self.most_in_a_row, self.most_usd
        )


def locked(site: Site) -> files.Lock:
    """Return the lock under which one helper at a time decides for a session; files.LockTimeout where another holds it for too long."""
    folder = site.paths().folder
    files.make_private_folder(folder, may_be_link=False)
    return files.Lock(os.path.join(folder, "warming.lock"))


def note_request(site: Site, warmth: Warmth, now: float) -> None:
    """Journal that a request is sent now. OSError where that fails: then none may be sent."""
    usd = warming.price(warmth.prompt, warmth.prices) * (warmth.usd or 0.0)
    store.journal(site.paths(), journal.warming(warmth.row, usd, now))


def _priced(models: Models, model_id: str, prompt: int, ttl_s: float = 300) -> tuple[Prices, float | None]:
    """Return (the prices of a model, dollars a unit)."""
    model = models.model(model_id)
    dollars = model.usd(prompt)[0]
    return economics.prices_of(model, ttl_s), None if dollars is None else dollars / 1e6


def _is_asked(entry: Any) -> bool:
    if not (isinstance(entry, dict) and entry.get("event") == "warming" and isinstance(entry.get("row"), str)):
        return False
    return all(isinstance(entry.get(name), (int, float)) and entry[name] >= 0 for name in ("at", "usd"))


def _is_sent(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("event") != "warmed" or not isinstance(entry.get("at"), (int, float)):
        return False
    return all(type(entry.get(name)) is int for name in ("prompt", "read", "created", "output"))


# --- the breaks of past sessions ------------------------------------------------------------------------------------------------


BREAKS = "breaks.json"
# Earlier versions also learnt how likely results are needed again.
STORAGE = (Storage("what projects have taught", {"": r"(breaks|need-model)\.json", "projects": r"[^/]+/need-model\.json[^/]*"}),)
SCHEMA = 2
BREAKS_BYTES = 512 * 1024
# Bounds of one look: the newest transcripts, the bytes of one and of all, seconds.
TRANSCRIPTS, TRANSCRIPT_BYTES, ALL_BYTES, SECONDS = 100, 64 * 1024 * 1024, 256 * 1024 * 1024, 3.0
# A session with fewer requests says nothing about breaks.
LEAST_REQUESTS = 5
_DAY_S = 86_400
# Bounds of the file.
MOST_BREAKS, _MODEL_CHARS = 5_000, 60


class Breaks:
    """The breaks of each session whose cache lives for minutes; `sessions`: how many were read, `hour`: how many of them have a cache that
    lasts an hour; `at`: when they were read (seconds), 0 for never."""

    __slots__ = ("at", "breaks", "hour", "sessions")

    def __init__(self, breaks: list[list[Break]] | None = None, sessions: int = 0, hour: int = 0, at: float = 0.0) -> None:
        self.breaks = breaks or []
        self.sessions = sessions
        self.hour = hour
        self.at = at

    def is_old(self, now: float) -> bool:
        """Return whether it is time to read the transcripts again."""
        return abs(now - self.at) >= _DAY_S


def read_breaks(popkit_home: str) -> Breaks:
    """Return the breaks that `learn_breaks` kept; none where there are none yet."""
    try:
        return _known(files.read_text(os.path.join(popkit_home, BREAKS), BREAKS_BYTES + 1) or "")
    except (OSError, ValueError):
        return Breaks()


def _known(text: str) -> Breaks:
    value = codec.loads(text)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError("not a file of breaks")
    learnt, sessions = value.get("learnt"), value.get("breaks")
    if not (isinstance(learnt, dict) and isinstance(sessions, list) and all(isinstance(rows, list) for rows in sessions)):
        raise ValueError("not a file of breaks")
    counts = (_count(learnt.get(name)) for name in ("sessions", "hour", "at"))
    return Breaks([list(map(_break_of, rows)) for rows in sessions], *counts)


def _break_of(row: object) -> Break:
    if not (isinstance(row, list) and len(row) == 4 and isinstance(row[3], str)):
        raise ValueError("not a file of breaks")
    seconds = float("inf") if row[0] is None else float(_count(row[0]))
    return Break(seconds, _count(row[1]), _count(row[2]), row[3])


def _count(value: object) -> int:
    count = codec.whole(value, 10**10)
    if count is None:
        raise ValueError("not a file of breaks")
    return count


def learn_breaks(environ: Mapping[str, str], popkit_home: str, now: float) -> Breaks:
    """Read the newest transcripts, within the bounds above, and keep their breaks. OSError where they cannot be written."""
    paths = projects.newest_first(environ)[:TRANSCRIPTS]
    known, left, began = Breaks(at=now), ALL_BYTES, time.monotonic()
    rows = 0
    for path in paths:
        if time.monotonic() - began > SECONDS or rows > MOST_BREAKS:
            break
        moments, size = _read(path)
        left -= size
        if left < 0:
            break
        if len(moments) >= LEAST_REQUESTS:
            rows += _add(known, moments, now)
    _keep(popkit_home, known)
    return known


def _add(known: Breaks, moments: list[entries.Moment], now: float) -> int:
    """Add the requests of a session; return how many breaks they had."""
    known.sessions += 1
    if any(moment.usage is not None and moment.usage.cache_ttl_s >= HOUR_S for moment in moments):
        known.hour += 1
        return 0
    goes_on = now - moments[-1].answered_at < _DAY_S  # its last break has no length yet
    breaks = [one for one in warming.breaks_of(moments) if one.seconds < float("inf") or not goes_on]
    if breaks:
        known.breaks.append(breaks)
    return len(breaks)


def _read(path: str) -> tuple[list[entries.Moment], int]:
    """Return (the requests of a transcript, its bytes); no requests where it is too large or cannot be read."""
    try:
        size = os.stat(path).st_size
        return (entries.moments_in(path), size) if size <= TRANSCRIPT_BYTES else ([], 0)
    except (OSError, ValueError):
        return [], 0


def _keep(popkit_home: str, known: Breaks) -> None:
    learnt = {"sessions": known.sessions, "hour": known.hour, "at": round(known.at)}
    rows = [[_row_of(one) for one in breaks] for breaks in known.breaks]
    files.make_private_folder(popkit_home)
    files.replace_text(os.path.join(popkit_home, BREAKS), codec.dumps({"schema": SCHEMA, "learnt": learnt, "breaks": rows}))


def _row_of(one: Break) -> list[Any]:
    seconds = round(one.seconds) if one.seconds < float("inf") else None
    return [seconds, one.prompt, one.kept, one.model[:_MODEL_CHARS]]
