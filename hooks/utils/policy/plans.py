"""The records of a plan: its request, its decisions about results, their sum."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .context import Result
    from .economics import Prices, Sum
    from .shapes import WeighedResult

CLEAR, HOLD, KEEP = "clear", "hold", "keep"


class Selection:
    """The request of a clear: a tier, ids, or a path pattern ("" and () for none); `now` includes results that wait."""

    __slots__ = ("ids", "now", "pattern", "tier")

    def __init__(self, tier: str = "", ids: tuple[str, ...] = (), pattern: str = "", now: bool = False) -> None:
        self.tier = tier
        self.ids = ids
        self.pattern = pattern
        self.now = now

    @property
    def forces(self) -> bool:
        return bool(self.tier or self.ids)


class Decision:
    """The decision about one result of the context.

    `action`: clear (goes now), hold (is to go, but not now), keep · `reason`: why, one of REASONS · `tokens`, and those of the
    `placeholder` that would stay · `need`: how likely it is needed again; None where that was not asked ·
    `value`: what its going is worth, in units, the rewrite behind it apart; None where it was not valued.
    """

    __slots__ = ("action", "need", "placeholder", "reason", "result", "tokens", "value")

    def __init__(self, result: Result, action: str, reason: str, tokens: int, placeholder: int) -> None:
        self.result = result
        self.action = action
        self.reason = reason
        self.tokens = tokens
        self.placeholder = placeholder
        self.need: float | None = None
        self.value: float | None = None

    @property
    def gain(self) -> int:
        """Tokens that leave with it, its placeholder subtracted."""
        return self.tokens - self.placeholder

    def to_json(self) -> WeighedResult:
        return {
            "action": self.action, "reason": self.reason, "gain": self.gain,
            "need": None if self.need is None else round(self.need, 4), "value": None if self.value is None else round(self.value, 1),
        }  # fmt: skip


# Why a result has its action: `worth` (gone it is worth more than kept), `expired` (past its grace), `asked` (the user forces it),
# `with_others` (expired, it leaves with what leaves a cold cache);
# `waits` (worth it once the cache is cold), `grace` (expired, but used lately); `leaned_on` (a result that stays refers to it);
# `pinned`, `small` (hardly larger than its placeholder), `unseen` (the model has not had it yet),
# `last_word` (the newest run of something, and no line says how it went), `preserved`, `in_use`, `likely` (likelier needed again than not),
# `worth_keeping`, `thinking` (worth less than the thinking that would leave with it), `live`;
# `not_text` (it shows a picture or a document, and leaves with whatever leaves in place).
REASONS = (
    "worth", "expired", "asked", "with_others", "waits", "grace", "leaned_on",
    "pinned", "small", "unseen", "last_word", "preserved", "in_use", "likely", "worth_keeping",
    "thinking", "live", "not_text",
)  # fmt: skip


class Plan:
    """`decisions`: one for each result of the context, in the order of completion · `sum`: of all that would go, clears and,
    where there are none or the user said now, what waits for the cache · `pays`: whether the clear is worth doing now ·
    `likely_requests`: over how many requests that is reckoned · `selection`, `prices` · `further`: tokens of what is needed least that
    go, too, until only this `share` of the conversation stays (1 where none go, None where nothing may go on) · `least`: tokens that have
    to leave for that to pay, of the conversation's `tokens` · `needs`: how many of its results are needed again, as expected · `usd`:
    dollars that it saves, None where nobody has said"""

    __slots__ = (
        "decisions", "further", "least", "likely_requests", "needs", "pays", "prices", "selection", "share", "sum", "tokens", "usd",
    )  # fmt: skip

    def __init__(self, selection: Selection, prices: Prices, decisions: list[Decision]) -> None:
        self.selection = selection
        self.prices = prices
        self.decisions = decisions
        self.sum: Sum  # these three once all is decided
        self.pays: bool
        self.likely_requests: int
        self.further = self.least = self.tokens = 0
        self.needs = 0.0
        self.share: float | None = None
        self.usd: float | None = None

    def having(self, *actions: str) -> list[Decision]:
        """Return the Decisions with these actions."""
        return [decision for decision in self.decisions if decision.action in actions]

    @property
    def going(self) -> list[Result]:
        """Return the results that a clear takes; where it does not pay, those that it would take."""
        chosen = self.having(CLEAR) or [decision for decision in self.decisions if decision.reason in ("waits", "not_text")]
        return [decision.result for decision in chosen]

    @property
    def is_empty(self) -> bool:
        return not self.further and not self.going

    def may_pay(self, stays: float) -> bool:
        """Return whether enough can leave for it to pay where at least this share of the conversation stays: what is cleared leaves in any
        case."""
        cleared = sum([decision.gain for decision in self.having(CLEAR)])
        return self.least <= max((1 - max(stays, self.share or 0.0)) * self.tokens, cleared)

    @property
    def ids(self) -> list[str]:
        """Return the ids of the results that leave, each as soon as nothing that stays refers to it."""
        leaned_on = self.having(KEEP, HOLD) if self.further else []
        return [result.id for result in self.going] + [one.result.id for one in leaned_on if one.reason == "leaned_on"]
