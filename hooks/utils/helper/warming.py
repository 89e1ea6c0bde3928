"""Keeping the prompt cache warm: tells the mod when to send what, and books what came of it. The mod sends it over the main thread's last
request; nothing else is ever sent.
"""

from __future__ import annotations

import threading

from ..edges import failures
from ..edges.system import now as time_of_day
from ..host.usage import prompt_tokens
from ..policy import warming
from ..state import breaks, journal, outbox, store
from ..state.warmth import Warmth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..state.site import Site

# All that a request says beyond what the session has sent anyway.
LINE = "Reply with ok at once, without thinking and without tools. This message only keeps the prompt cache warm."
# How often it is looked whether the transcript has the answer, and for how long after a turn.
_LAG_S, _WAITED_S = 2.0, 30.0
# A turn that ended with an answer.
_ANSWERED = "answer"
# A timer may come this much early.
_EARLY_S = 0.5


class Keeper:
    """Of one session. `site()`: where it is, as the configuration stands."""

    def __init__(self, environ: Mapping[str, str], site: Callable[[], Site], transcript_path: str) -> None:
        self.environ = environ
        self.site = site
        self.transcript_path = transcript_path
        self.every_s = _seconds(environ.get("POPKIT_WARM_S"))
        self.lock = threading.Lock()
        self.asked = ("", 0.0)  # the answer behind which the last one was handed out, and when
        self.turn = (0.0, 0.0)  # when the last turn began, and until when its answer is waited for
        self.learning: threading.Thread | None = None

    def when(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`reason`, `turn_ms`: why a turn ended that has just ended, and how long it took · `due`: whether the time has come that was told
        before · `model`, `limits` of the client. Answers {} for nothing, `in_ms` to ask again then, or `prompt`: what to send now."""
        if asked.get("reason", _ANSWERED) != _ANSWERED:
            return {}
        with self.lock:
            now = time_of_day(self.environ)
            turn_ms = asked.get("turn_ms")
            if isinstance(turn_ms, (int, float)):
                self.turn = (now - turn_ms / 1000 - _LAG_S, now + _WAITED_S)
            return self._when(self.site(), asked, now)

    def _when(self, site: Site, asked: dict[str, Any], now: float) -> dict[str, Any]:
        found = Warmth(site, self.transcript_path)
        if not found.on:
            if found.facts.get("next"):
                _note(site, found, ended=warming.OFF, about="", next=None)
            return {}
        if self._is_behind(found, now):
            return {"in_ms": round(_LAG_S * 1000)}
        self._learn(site, found, now)
        why, about = _against(found, asked)
        if why:
            _note(site, found, ended=why, about=about, next=None)
            return {}
        following = found.following(now, self.every_s)
        model = asked.get("model")
        row = found.moment.message_id if found.moment else ""
        about = found.facts.get("about", "") if following.why in warming.FOR_GOOD else ""
        facts = {"model": model if isinstance(model, str) else "", "next": following.at, "ended": following.why, "about": about}
        if following.at is None:
            _note(site, found, **facts)
            return {}
        if asked.get("due") is True and now >= following.at - _EARLY_S:
            _note(site, found, **facts)
            self.asked = (row, now)
            return {"prompt": LINE}
        _note(site, found, **facts)
        return {"in_ms": max(0, round((following.at - now) * 1000))}

    def warmed(self, asked: dict[str, Any]) -> dict[str, Any]:
        """`answered`, and if not the `reason` and the `error` · `usage` · `model`, `limits`. Answers as `when`."""
        with self.lock:
            site, now = self.site(), time_of_day(self.environ)
            found = Warmth(site, self.transcript_path)
            usage = asked.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            prompt = prompt_tokens(usage)
            read, created, output = (_count(usage.get(name)) for name in _COUNTED)
            row, at = self.asked
            if prompt:
                store.journal(site.paths(), journal.warmed(prompt, read, created, output, at or now))
                outbox.of(site).used(at or now, _word(asked.get("model")), prompt, read, created, output, found.prices.ttl_s)
                _note(site, found, used=at or now)
                found = Warmth(site, self.transcript_path)
            if found.moment is None or found.moment.message_id != row:
                return {}  # another turn has come between
            if asked.get("answered") is not True and asked.get("reason") != "empty-reply":
                _note(site, found, ended=warming.ERROR, about=_word(asked.get("error")) or _word(asked.get("reason")), next=None)
                return {}
            if warming.missed(read, found.prompt):
                _note(site, found, ended=warming.MISS, about="", next=None)
                return {}
            return self._when(site, asked, now)

    def _is_behind(self, found: Warmth, now: float) -> bool:
        """Whether the transcript does not have the answer yet that has ended the turn."""
        began, until = self.turn
        return now < until and (found.moment is None or found.moment.calls or found.moment.answered_at < began)

    def _learn(self, site: Site, found: Warmth, now: float) -> None:
        """Lets what is known of the user's breaks be learnt anew behind the answer, once a day."""
        if found.own.is_old(now) and (self.learning is None or not self.learning.is_alive()):
            self.learning = threading.Thread(target=self._learn_now, args=(site.home, now), daemon=True)
            self.learning.start()

    def _learn_now(self, popkit_home: str, now: float) -> None:
        try:
            breaks.learn(self.environ, popkit_home, now)
        except Exception as error:  # noqa: BLE001  fail open: what is known already holds
            failures.record(self.environ, "breaks", error)


_COUNTED = ("cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0


def _word(value: object) -> str:
    return value[:40] if isinstance(value, str) else ""


def _seconds(configured: str | None) -> float:
    """Seconds between requests for those who test: 0 for what the lifetime of the cache says."""
    try:
        return max(0.0, float(configured or 0))
    except ValueError:
        return 0.0


def _against(found: Warmth, asked: dict[str, Any]) -> tuple[str, str]:
    """(what in the client speaks against it, about what); ("", "") for nothing."""
    before, model, limits = found.facts.get("model"), asked.get("model"), asked.get("limits")
    if before and isinstance(model, str) and model != before:
        return warming.MODEL, ""
    for limit in limits if isinstance(limits, list) else ():
        used = limit.get("percentUsed") if isinstance(limit, dict) else None
        if isinstance(used, (int, float)) and used >= warming.MOST_PERCENT:
            return warming.RATE_LIMIT, _word(limit.get("kind"))
    return "", ""


def _note(site: Site, found: Warmth, **facts: Any) -> None:
    """Remembers what holds for the requests since the newest answer."""
    if found.moment is not None:
        site.remember(warming={**found.facts, "row": found.moment.message_id, **facts})
