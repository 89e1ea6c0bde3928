"""The prompt cache of a session: keep it warm, and find what it loses while the session runs.

To keep it warm, tell the mod when to send which request, and book the result. The mod sends it over the main thread's last request; nothing
else is ever sent. Losses are read from the ends of its transcripts, and reported once.
"""

from __future__ import annotations

import threading
import time

from ..hosts.claude_code import projects
from ..hosts.claude_code.sent import Following
from ..hosts.claude_code.usage import prompt_tokens
from ..io import files
from ..io.system import elapsed
from ..io.system import now as time_of_day
from ..policy import lost_cache, warming
from ..state import journal, shipped, store
from ..state.warmth import Warmth, locked, note_request
from ..views.cache import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..policy.economics import Models
    from ..policy.lost_cache import Loss
    from ..state.live import Site

# All that a request says beyond what the session has sent anyway.
LINE = "Reply with ok at once, without thinking and without tools. This message only keeps the prompt cache warm."
# How often to check whether the transcript has the answer, and for how long after a turn.
_LAG_S, _WAITED_S = 2.0, 30.0
# A turn that ended with an answer.
_ANSWERED = "answer"
# A timer may come this much early.
_EARLY_S = 0.5
# The time of day may differ from elapsed time by this much: less than a request is sent before the cache expires.
_SET_S = 10.0


class Keeper:
    """Keeps the cache of one session warm, in one window. `site()`: its site, with the configuration of now."""

    def __init__(self, environ: Mapping[str, str], site: Callable[[], Site], transcript_path: str) -> None:
        self.environ = environ
        self.site = site
        self.transcript_path = transcript_path
        self.every_s = seconds(environ.get("POPKIT_WARM_S"))
        self.lock = threading.Lock()
        self.handed_out = ("", 0.0)  # the answer behind which the last one was handed out, and when
        self.turn = (0.0, 0.0)  # when the last turn began, and until when its answer is waited for
        self.row = ""  # the answer of this window's last turn, "" where that is not known
        self.clocks = (0.0, 0.0)  # what both showed when this row was last looked at

    def when(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return {} for nothing, `in_ms` to ask again then, or `prompt`: what to send now. `request`: `reason`, `turn_ms`: why a turn has
        just ended, and how long it took · `due`: whether the time that was answered before has come · `model`, `limits` of the client."""
        with self.lock:
            now, turn_ms = time_of_day(self.environ), request.get("turn_ms")
            if isinstance(turn_ms, (int, float)):
                self.turn = (now - turn_ms / 1000 - _LAG_S, now + _WAITED_S)
                self.row, self.clocks = "", (0.0, 0.0)
            if request.get("reason", _ANSWERED) != _ANSWERED:
                return {}
            return self._decided(request, now)

    def warmed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Book a request that was sent, and return as `when` does. `request`: `answered`, and if not the `reason` and the `error` ·
        `usage` · `model`, `limits`."""
        with self.lock:
            site, now = self.site(), time_of_day(self.environ)
            warmth = Warmth(site, self.transcript_path)
            usage = request.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            prompt = prompt_tokens(usage)
            read, created, output = (_count(usage.get(name)) for name in _COUNTED)
            row, at = self.handed_out
            if not at and warmth.open_at is not None:
                row, at = warmth.row, warmth.open_at  # asked by a helper before this one
            if prompt:
                usd = warmth.usd_for(prompt, read, created, output) if warmth.usd is not None else None
                store.journal(site.paths(), journal.warmed(prompt, read, created, output, at or now, usd))
                _note(site, warmth, used=at or now)
            if not row or warmth.row != row:
                return {}  # another turn has come between
            if request.get("answered") is not True and request.get("reason") != "empty-reply":
                return _ends(site, warmth, warming.ERROR, _word(request.get("error")) or _word(request.get("reason")))
            if warming.is_miss(read, warmth.prompt):
                return _ends(site, warmth, warming.MISS)
            return self._decided(request, now)

    def _decided(self, request: dict[str, Any], now: float) -> dict[str, Any]:
        """Return as `when` does. A request is written down before it is handed out, by one helper at a time."""
        site = self.site()
        try:
            with locked(site):
                return self._when(site, request, now)
        except files.LockTimeout:
            return {"in_ms": round(_LAG_S * 1000)}

    def _when(self, site: Site, request: dict[str, Any], now: float) -> dict[str, Any]:
        warmth = Warmth(site, self.transcript_path)
        if not warmth.on:
            return _ends(site, warmth, warming.OFF) if warmth.facts.get("next") else {}
        if self._is_behind(warmth, now):
            return {"in_ms": round(_LAG_S * 1000)}
        self.row = self.row or warmth.row
        if self.row != warmth.row:
            return {}  # the session goes on in another window, whose prompt this one does not have
        why, about = self._against(warmth, request, now)
        if why:
            return _ends(site, warmth, why, about)
        following = warmth.following(now, self.every_s)
        model, is_over = request.get("model"), following.why in warming.FOR_GOOD
        about = warmth.facts.get("about", "") if is_over else ""
        facts = {"model": model if isinstance(model, str) else "", "next": following.at, "ended": following.why, "about": about}
        _note(site, warmth, **facts)
        if following.at is None:
            return {}
        if warmth.open_at is None and request.get("due") is True and now >= following.at - _EARLY_S:
            note_request(site, warmth, now)
            self.handed_out = (warmth.row, now)
            return {"prompt": LINE}
        return {"in_ms": max(0, round((following.at - now) * 1000))}

    def _is_behind(self, warmth: Warmth, now: float) -> bool:
        """Return whether the transcript does not have the answer yet that has ended the turn."""
        began, until = self.turn
        return now < until and (warmth.moment is None or warmth.moment.calls or warmth.moment.answered_at < began)

    def _against(self, warmth: Warmth, request: dict[str, Any], now: float) -> tuple[str, str]:
        """Return (the reason against it, what that is about); ("", "") for none."""
        before, since = self.clocks, elapsed()
        self.clocks = (now, since)
        if before[0] and abs((now - before[0]) - (since - before[1])) > _SET_S:
            return warming.CLOCK, ""
        model_before, model, limits = warmth.facts.get("model"), request.get("model"), request.get("limits")
        if model_before and isinstance(model, str) and model != model_before:
            return warming.MODEL, ""
        for limit in limits if isinstance(limits, list) else ():
            used = limit.get("percentUsed") if isinstance(limit, dict) else None
            if isinstance(used, (int, float)) and used >= warming.MOST_PERCENT:
                return warming.RATE_LIMIT, _word(limit.get("kind"))
        return "", ""


_COUNTED = ("cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0


def _word(value: object) -> str:
    return value[:40] if isinstance(value, str) else ""


def seconds(configured: str | None) -> float:
    """Return the seconds between what is done again and again, for those who test; 0 where none are given."""
    try:
        return max(0.0, float(configured or 0))
    except ValueError:
        return 0.0


def _note(site: Site, warmth: Warmth, **facts: Any) -> None:
    """Remember what holds for the requests since the newest answer."""
    if warmth.moment is not None:
        site.remember(warming={**warmth.facts, "row": warmth.row, **facts})


def _ends(site: Site, warmth: Warmth, why: str, about: str = "") -> dict[str, Any]:
    """Remember why nothing more is sent, and return that answer."""
    _note(site, warmth, ended=why, about=about, next=None)
    return {}


WORTH_TELLING_USD = 0.10
MOST_AGENTS = 24  # of which what was read is held, to read on


class Misses:
    """The losses of a session: of its main thread and of its subagents. `since`: seconds; earlier losses are not reported."""

    def __init__(self, transcript_path: str, since: float) -> None:
        self._path = transcript_path
        self._since = since
        self._models = shipped.models()
        self._threads = {transcript_path: _Thread(transcript_path, since, self._models)}
        self._silent: dict[str, tuple[float, float]] = {}  # those let go: when last written, and their newest request
        self._lock = threading.Lock()

    def notice(self, models: Models) -> str:
        """Return one line about the losses since the last time that cost more than WORTH_TELLING_USD each; "" for none."""
        with self._lock:
            self._look()
            return notice(
                [
                    (loss, usd, thread.path != self._path)
                    for thread in self._threads.values()
                    for loss in thread.new_losses()
                    for usd in [_usd(models, loss)]
                    if usd is not None and usd > WORTH_TELLING_USD
                ]
            )

    def look(self) -> None:
        """Read what has been sent since the last look; the first time that is the whole transcript."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        for path in projects.transcripts_of_agents(self._path):
            # One that ended before this session was taken up has nothing to say, and a session may have hundreds.
            written, newest = self._silent.get(path, (self._since, self._since))
            if path not in self._threads and projects.changed(path) > written:
                self._silent.pop(path, None)
                self._threads[path] = _Thread(path, newest, self._models)
        for thread in self._threads.values():
            thread.look()
        self._let_go()

    def _let_go(self) -> None:
        """Hold no more subagents than MOST_AGENTS: no event says when one is done. What was silent the longest is read from its beginning
        if it goes on, and repeats nothing."""
        agents = [path for path, thread in self._threads.items() if path != self._path and not thread.has_losses]
        written = {path: projects.changed(path) for path in agents}
        for path in sorted(agents, key=written.__getitem__)[: max(0, len(self._threads) - 1 - MOST_AGENTS)]:
            self._silent[path] = (written[path], self._threads.pop(path).since)

    @property
    def held(self) -> int:
        """Return how much is held of what was read of all threads."""
        return sum(thread.held for thread in self._threads.values())


class _Thread:
    """The losses of one transcript that were not reported yet."""

    def __init__(self, path: str, since: float, models: Models) -> None:
        self.path = path
        self._models = models
        self.since = since
        self._following = Following(path)
        self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost: list[Loss] = []

    def look(self) -> None:
        try:
            requests, is_other = self._following.new()
        except OSError:
            return
        if is_other:
            self._losses = lost_cache.Losses(_day_of, self._models)
        self._lost += [loss for loss in map(self._losses.of, requests) if loss is not None and loss.usage.at > self.since]
        self.since = max([self.since, *(sent.usage.at for sent in requests)])

    @property
    def has_losses(self) -> bool:
        return bool(self._lost)

    @property
    def held(self) -> int:
        return self._following.held

    def new_losses(self) -> list[Loss]:
        lost, self._lost = self._lost, []
        return lost


def _usd(models: Models, loss: Loss) -> float | None:
    return lost_cache.usd(models, loss.usage.model, loss.usage.tokens, loss.tokens, loss.usage.cache_ttl_s)


def _day_of(at: float) -> object:
    return time.localtime(at)[:3]
