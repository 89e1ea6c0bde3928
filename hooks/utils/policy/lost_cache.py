"""Explain which requests rewrote part of the prompt cache that the previous request had left. Pure.

A request is expected to read what the one before has read and written. Where it reads less, the reason is the first that the events between
the two show, in the order of CAUSES: what certainly changed the prompt comes before what may have. What happened once the cache had run out
has lost nothing: then the pause before it is the reason. Where it is known which parts of a request are others than before (from the
provider's answer, or from what the client notes of its requests), an event that changes no such part is not the reason. Where nothing is
shown it is UNKNOWN; nothing is guessed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .composition import Shares
    from .models import Models
    from .usage import Usage

COMPACTION, REWIND, CLEARED, MODEL, EFFORT, PAUSE, TOOLS, DATE, SYSTEM, ERROR, THINKING, COMMAND, INTERRUPTION, MESSAGES, LOOK_BACK = (
    "compaction", "rewind", "cleared", "model", "effort", "pause", "tools", "date", "system", "error", "thinking", "command",
    "interruption", "messages", "look-back",
)  # fmt: skip
EARLY, UNKNOWN = "early", "unknown"
CAUSES = (
    COMPACTION, REWIND, CLEARED, MODEL, EFFORT, PAUSE, TOOLS, DATE, SYSTEM, ERROR, THINKING, COMMAND, INTERRUPTION, MESSAGES, LOOK_BACK,
    EARLY, UNKNOWN,
)  # fmt: skip
# The parts of a request that the one before had otherwise; OTHER: what is neither of these (what is thought, features of the API).
IN_MODEL, IN_TOOLS, IN_SYSTEM, IN_MESSAGES, IN_OTHER = PARTS = ("model", "tools", "system", "messages", "other")
# Less than this is no loss: the end of a prompt is cut into blocks, and a breakpoint moves.
LEAST_TOKENS, LEAST_SHARE = 1_000, 0.02
# The provider looks so many positions back from a breakpoint for what an earlier request ended with.
LOOK_BACK_POSITIONS = 20
# A pause this long, within the life of a cache that lasts an hour, is named as the cause where nothing else is known. Where all parts of
# a request are known to be the same, its cache was gone early after any pause.
LONG_PAUSE_S = 300
# What is done by a command, and when is known from it.
_TOLD_BY = {MODEL: COMMAND, EFFORT: COMMAND}
# A prompt that is so much smaller than the one before lacks something that was in it.
_SHRUNK = 0.9
_LONGEST_DETAIL = 200
# Models that leave the thinking of earlier turns out of the prompt once the user speaks, by how their ids begin (provider's documentation
# of extended thinking: Opus 4.5 and later models keep it).
_DROP_THINKING = (
    "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2", "claude-sonnet-4-0", "claude-sonnet-4-2", "claude-sonnet-4-5",
    "claude-haiku-4-5",
)  # fmt: skip


class Interval:
    """The events between two requests: a `compaction`, a `rewind`, an `error` of the API, an `interruption`, whether the user `spoke`;
    the slash `command`, the names of `tools` or servers that came or went, the section of the `system` text that changed, from where on
    the `messages` are others, the change of `effort`, "" for none; `positions` that the conversation grew by; `keeps_thinking`: whether the
    provider was asked to keep it. `since`: when the first compaction, rewind or command was (seconds), by its cause. PARTS are known to be
    others, or the same; the rest is unknown."""

    __slots__ = (
        "_others", "_same", "command", "compaction", "effort", "error", "interruption", "keeps_thinking", "messages", "positions", "rewind",
        "since", "spoke", "system", "tools",
    )  # fmt: skip

    def __init__(self) -> None:
        self.compaction = self.rewind = self.error = self.interruption = self.spoke = self.keeps_thinking = False
        self.command = self.tools = self.system = self.messages = self.effort = ""
        self.positions = 0
        self.since: dict[str, float] = {}
        self._others: set[str] = set()
        self._same: set[str] = set()

    def note(self, others: set[str], same: set[str]) -> None:
        """Take in which PARTS of the request are known to be others than before, and which the same."""
        self._others |= others
        self._same = (self._same | same) - self._others

    def is_other(self, part: str) -> bool:
        """Return whether one of PARTS is known to be another."""
        return part in self._others

    def may_be_other(self, *parts: str) -> bool:
        """Return whether one of some PARTS is another, for all that is known."""
        return not self._same.issuperset(parts)


class SentRequest:
    """A request: its `usage`, `output` tokens, whether the assistant `thought` in the turn before the user spoke, and what was `between`
    the request before and this one. `id`: of the message that answered it, "" where that is not known. `key`: what a copy of the
    answer in another file has, too, where it does not keep id and time. `shares`: what its conversation is made of, None where that was not
    asked for."""

    __slots__ = ("between", "id", "key", "output", "shares", "thought", "usage")

    def __init__(
        self, usage: Usage, output: int = 0, between: Interval | None = None, thought: bool = False, id: str = "", key: str = ""
    ) -> None:  # fmt: skip
        self.usage = usage
        self.id = id
        self.key = key
        self.output = output
        self.between = between or Interval()
        self.thought = thought
        self.shares: Shares | None = None


class Loss:
    """Tokens that a request sent again although the one before had left them in the cache: `cause` of CAUSES, `detail` in the client's
    words (a command, names of servers, models), `pause_s` between the requests, the Usage of the request, whether the user `spoke` before
    it; `later`: of a pause, the cause that it would have had in a cache that lasts longer, "" where that would have kept it."""

    __slots__ = ("cause", "detail", "later", "pause_s", "spoke", "tokens", "usage")

    def __init__(
        self, cause: str, tokens: int, usage: Usage, pause_s: float, detail: str, spoke: bool, later: str
    ) -> None:  # fmt: skip
        self.cause = cause
        self.later = later
        self.tokens = tokens
        self.usage = usage
        self.pause_s = pause_s
        self.detail = detail
        self.spoke = spoke

    @property
    def written(self) -> int:
        """Return how many of the tokens were written to the cache; the others, sent as plain input, come behind them."""
        return min(self.tokens, self.usage.created)


class Losses:
    """The losses of one conversation, request by request. `day_of`: the user's calendar day at a time in seconds; `models`: how long the
    providers of some keep a cache by themselves."""

    __slots__ = ("_before", "_day_of", "_lifetime_s", "_models")

    def __init__(self, day_of: Callable[[float], object], models: Models) -> None:
        self._day_of = day_of
        self._models = models
        self._before: SentRequest | None = None
        self._lifetime_s = 300  # of what was written last: a request that only reads does not say

    def of(self, sent: SentRequest) -> Loss | None:
        """Return the loss of the next request; None where it found its cache."""
        before, self._before = self._before, sent
        lifetime = max(self._lifetime_s, self._models.model(before.usage.model).kept_s if before else 0)
        if sent.usage.created:
            self._lifetime_s = sent.usage.cache_ttl_s
        if before is None or not (tokens := lost_tokens(before.usage, sent.usage)):
            return None
        cause, detail, later = cause_of(before, sent, lifetime, self._day_of)
        return Loss(cause, tokens, sent.usage, sent.usage.at - before.usage.at, detail, sent.between.spoke, later)


def drops_thinking(sent: SentRequest) -> bool:
    """Return whether a request leaves out the thinking of the turn before: the user spoke, to such a model."""
    between = sent.between
    return between.spoke and sent.thought and not between.keeps_thinking and sent.usage.model.startswith(_DROP_THINKING)


def losses(requests: Iterable[SentRequest], day_of: Callable[[float], object], models: Models) -> list[Loss]:
    """Return the losses of one conversation, in order."""
    tracker = Losses(day_of, models)
    return [loss for loss in map(tracker.of, requests) if loss is not None]


def usd(models: Models, model: str, prompt: int, tokens: int, written: int, ttl_s: float) -> float | None:
    """Return the dollars that a loss cost beyond a read, in a request with a `prompt` of so many tokens; None where the price of the model
    is not known."""
    known = models.model(model)
    price, _ = known.usd(prompt)
    return None if price is None else (written * known.write_price(ttl_s) + tokens - written - tokens * known.read) * price / 1e6


def lost_tokens(before: Usage, after: Usage) -> int:
    """Return how many tokens a request wrote that it would have read, had it found the cache of the one before; 0 for no loss."""
    left = before.read + before.created
    lost = min(left - after.read, after.tokens - after.read)
    return lost if lost > max(LEAST_TOKENS, LEAST_SHARE * left) else 0


def cause_of(before: SentRequest, after: SentRequest, lifetime_s: float, day_of: Callable[[float], object]) -> tuple[str, str, str]:
    """Return (cause, detail, what came `later`) of a loss."""
    between, old, new = after.between, before.usage, after.usage
    pause = new.at - old.at
    is_new_day = bool(old.at and new.at) and day_of(old.at) != day_of(new.at)
    shown = {
        COMPACTION: between.compaction and between.may_be_other(IN_MESSAGES),
        REWIND: between.rewind and between.may_be_other(IN_MESSAGES),
        CLEARED: new.left_out > old.left_out or new.tokens < _SHRUNK * old.tokens,
        MODEL: bool(old.model and new.model and old.model != new.model),
        EFFORT: bool(between.effort) or between.command == "/effort",
        PAUSE: pause > lifetime_s,
        TOOLS: between.is_other(IN_TOOLS) or (bool(between.tools) and between.may_be_other(IN_TOOLS)),
        DATE: is_new_day and between.may_be_other(IN_SYSTEM, IN_MESSAGES),
        SYSTEM: between.is_other(IN_SYSTEM),
        ERROR: between.error,
        THINKING: drops_thinking(after),
        COMMAND: bool(between.command) and between.may_be_other(*PARTS),
        INTERRUPTION: between.interruption and between.may_be_other(*PARTS),
        MESSAGES: between.is_other(IN_MESSAGES),
        LOOK_BACK: between.positions > LOOK_BACK_POSITIONS,
        EARLY: pause > LONG_PAUSE_S or not between.may_be_other(*PARTS),
        UNKNOWN: True,
    }
    cause = next(filter(shown.get, shown))
    if pause > lifetime_s and between.since.get(_TOLD_BY.get(cause, cause), new.at) - old.at > lifetime_s:
        return PAUSE, "", cause if cause != PAUSE else ""
    details = {
        MODEL: f"{old.model} to {new.model}",
        EFFORT: between.effort,
        TOOLS: between.tools,
        SYSTEM: between.system or (between.tools and f"while {between.tools} came or went"),
        COMMAND: between.command,
        MESSAGES: between.messages,
    }
    return cause, details.get(cause, "")[:_LONGEST_DETAIL], ""
