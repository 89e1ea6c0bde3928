"""The result of a trial: the fate of its sessions, and how both arms compare once each has its number. Pure. Sessions count in the order in
which they were drawn and with the arm that the coin gave them, whatever happened in them. One is left out only if no prompt of the user was
answered, or if its bill is not known, which the result says. While a trial runs, this module only gives the number of sessions that are
over.

Costs of sessions are skewed and differ by factors, so their logarithms are compared: the difference of the means is the logarithm of the
ratio of two geometric means. The arms need not vary alike (B. L. Welch, 1947; degrees of freedom by F. E. Satterthwaite, 1946).
"""

from __future__ import annotations

import math

from hooks.utils.policy.trials import ARMS, PER_ARM, QUIET_S

from .sums import usd_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from hooks.utils.policy.economics import Models
    from hooks.utils.state.trials import Row, Run

    from .digests import Digest

    class Total(TypedDict):
        """A session with its subagents: answered `prompts` of the user, `requests`, `tokens`, dollars (`usd`; None where a price is not
        known), requests that are `unmeasured`, and when the `last` one was (seconds)."""

        prompts: int
        requests: int
        tokens: int
        usd: float | None
        unmeasured: int
        last: float

    Totals = Mapping[str, Total]

OUTCOMES = REQUESTS, TOKENS, USD = ("requests", "tokens", "usd")
WITH, WITHOUT = "with", "without"
# The fate of a session: it counts, it is not over, it has no answered prompt, it has no transcript, its usage is not known.
COUNTED, OPEN, NO_PROMPT, MISSING, PARTIAL = "sessions", "open", "no_prompt", "missing", "partial"
CHANGE = 0.1  # the size of change for which the needed number of sessions is given
LEVEL = 0.95
LEAST = 2  # values of a group: fewer have no variance
_POWER_Z = 1.959964 + 0.841621  # for a claim at 5 % that is made 8 times out of 10
_SMALLEST, _CLOSE, _MOST_STEPS = 1e-300, 1e-12, 1_000
_LARGEST = 700.0  # that has an exponential


def totals(digests: Iterable[Digest], models: Models, there: Iterable[str] = ()) -> dict[str, Total]:
    """Return id of a session -> the usage of it and its subagents. `there`: ids of sessions that have a transcript, even an empty one."""
    by_session = {session: _nothing() for session in there}
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        total = by_session.setdefault(session, _nothing())
        total["prompts"] += 0 if agent else digest["prompts"]
        total["unmeasured"] += digest["unmeasured"]
        total["last"] = max(total["last"], digest["ended"])
        for used in digest["used"]:
            paid = usd_of(used, models)
            total["requests"] += used["requests"]
            total["tokens"] += used["plain"] + used["read"] + used["write_5m"] + used["write_1h"] + used["output"]
            total["usd"] = None if paid is None or total["usd"] is None else total["usd"] + sum(paid.values())
    return by_session


def _nothing() -> Total:
    return {"prompts": 0, "requests": 0, "tokens": 0, "usd": 0.0, "unmeasured": 0, "last": 0.0}


def fate(row: Row, total: Total | None, now: float) -> str:
    """Return the fate of a session of a trial at a time."""
    last = max(row.began, total["last"] if total else 0.0)
    if row.ended is None and now - last < QUIET_S:
        return OPEN
    if total is None:
        return MISSING if row.spoke or row.ended is None else NO_PROMPT
    if total["unmeasured"]:
        return PARTIAL
    return COUNTED if total["prompts"] else NO_PROMPT


class Standing:
    """The progress of a trial: `arms`: WITH or WITHOUT -> the fates of its sessions (name -> rows), up to the one that completed its
    number; `waits`: the number of running sessions that were drawn before the last one that counts."""

    __slots__ = ("arms", "waits")

    def __init__(self, run: Run, totals: Totals, now: float) -> None:
        self.arms: dict[str, dict[str, list[Row]]] = {arm: {} for arm in (WITH, WITHOUT)}
        for row in run.rows:
            fates = self.arms[WITH if row.treated else WITHOUT]
            if len(fates.get(COUNTED, ())) < PER_ARM:
                fates.setdefault(fate(row, totals.get(row.session), now), []).append(row)
        self.waits = sum(len(fates.get(OPEN, ())) for fates in self.arms.values())

    @property
    def is_complete(self) -> bool:
        """Return whether each arm has its number, and no earlier session is still running."""
        return not self.waits and all(len(fates.get(COUNTED, ())) == PER_ARM for fates in self.arms.values())

    def counts(self, name: str) -> dict[str, Any]:
        """Return for each arm its `setting`, and how many `sessions` are over."""
        values = dict(zip((WITH, WITHOUT), ARMS[name]))
        return {arm: {"setting": values[arm], COUNTED: len(fates.get(COUNTED, ()))} for arm, fates in self.arms.items()}


def read(run: Run, standing: Standing, totals: Totals, now: float, dated: str) -> dict[str, Any]:
    """Return the result of a trial; ValueError before it is complete. `outcomes`: name of OUTCOMES -> {ratio, low, high, claimed} per
    answered prompt, of sessions with it to sessions without, and for how many of each it is known; None where these are too few ·
    `decides`: the outcome that advice goes by, money unless a price is missing · `needed`: sessions of each arm that would detect a change
    of CHANGE."""
    if not standing.is_complete:
        raise ValueError("a trial has no result before its number is reached")
    rows = {arm: fates[COUNTED] for arm, fates in standing.arms.items()}
    values = {name: {arm: _values(rows[arm], totals, name) for arm in rows} for name in OUTCOMES}
    decides = USD if all(len(values[USD][arm]) == PER_ARM for arm in rows) else TOKENS
    comparisons = {name: compare(values[name][WITH], values[name][WITHOUT]) for name in OUTCOMES}
    outcomes = {
        name: one and {
            "ratio": one.ratio, "low": one.low, "high": one.high, "claimed": one.is_claimed,
            **{arm: len(values[name][arm]) for arm in rows},
        }
        for name, one in comparisons.items()
    }  # fmt: skip
    counts, deciding = standing.counts(run.name), comparisons[decides]
    for arm, fates in standing.arms.items():
        counts[arm].update((why, len(fates.get(why, ()))) for why in (NO_PROMPT, MISSING, PARTIAL))
    sessions = [{"session": row.session, "arm": arm, **totals[row.session]} for arm in rows for row in rows[arm]]
    return {
        "at": now, "arms": counts, "outcomes": outcomes, "decides": decides, "prices_of": dated,
        "needed": {"change": CHANGE, "sessions": deciding.needed(CHANGE) if deciding else None}, "sessions": sessions,
    }  # fmt: skip


def _values(rows: Iterable[Row], totals: Totals, name: str) -> list[float]:
    """Return an outcome per prompt of the sessions for which it is known."""
    known = ((totals[row.session][name], totals[row.session]["prompts"]) for row in rows)  # type: ignore[literal-required]
    return [amount / prompts for amount, prompts in known if amount]


# --- the ratio of two groups with its interval: Welch's t on logarithms ----------------------------------------------------------------


class Comparison:
    """The first group compared with the second: the `ratio`, and `low` and `high`, the ends of its interval. `spread`: the variance of
    both groups' logarithms together."""

    __slots__ = ("high", "low", "ratio", "spread")

    def __init__(self, ratio: float, low: float, high: float, spread: float) -> None:
        self.ratio = ratio
        self.low = low
        self.high = high
        self.spread = spread

    @property
    def is_claimed(self) -> bool:
        """Return whether the interval excludes a ratio of 1, which is no change."""
        return self.low > 1 or self.high < 1

    def needed(self, change: float) -> int:
        """Return how many values of each group it would take to claim a change (0.1: by a tenth) 8 times out of 10, at this spread."""
        return max(LEAST, math.ceil(_POWER_Z**2 * self.spread / math.log(1 - change) ** 2))


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison | None:
    """Return the comparison of two groups of positive values; None where either has fewer than LEAST."""
    if min(len(first), len(second)) < LEAST:
        return None
    (mean, variance), (other, other_variance) = (_moments([math.log(value) for value in group]) for group in (first, second))
    share, other_share = variance / len(first), other_variance / len(second)
    error2 = share + other_share
    margin = 0.0
    if error2:
        freedom = error2**2 / (share**2 / (len(first) - 1) + other_share**2 / (len(second) - 1))
        margin = quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(error2)
    difference = mean - other
    ratio, low, high = (math.exp(min(_LARGEST, max(-_LARGEST, difference + side * margin))) for side in (0, -1, 1))
    return Comparison(ratio, low, high, variance + other_variance)


def _moments(values: list[float]) -> tuple[float, float]:
    """Return (mean, variance of the sample)."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


# --- Student's t -----------------------------------------------------------------------------------------------------------------------


def quantile(share: float, freedom: float) -> float:
    """Return the value that Student's t with so many degrees of freedom stays below in this share of cases, at least 0.5. By Newton's
    method, which approaches it from below with every step: above 0, the distribution function is concave."""
    value = 0.0
    for _ in range(_MOST_STEPS):
        step = (share - below(value, freedom)) / _density(value, freedom)
        value += step
        if step <= _CLOSE * value:
            break
    return value


def below(value: float, freedom: float) -> float:
    """Return the share of cases in which Student's t stays below a value that is not negative."""
    # By the part that is small near 0: taken from 1, it would lose its digits.
    return (1 + _beta_share(value * value / (freedom + value * value), 0.5, freedom / 2)) / 2


def _density(value: float, freedom: float) -> float:
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - (freedom + 1) / 2 * math.log1p(value * value / freedom)
    return math.exp(log) / math.sqrt(freedom * math.pi)


def _beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) (NIST's Digital Library of Mathematical Functions, 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the value of its continued fraction, by Lentz's method."""
    value = upper = 1.0
    lower = 0.0
    for step in range(1, _MOST_STEPS):
        half, scale = step // 2, (a + step - 1) * (a + step)
        part = -(a + half) * (a + b + half) * x / scale if step % 2 else half * (b - half) * x / scale
        lower = 1 / _not_zero(1 + part * lower)
        upper = _not_zero(1 + part / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < _CLOSE:
            break
    return 1 / value


def _not_zero(value: float) -> float:
    """Return a value, or a tiny one in place of 0, to divide by."""
    return value if abs(value) > _SMALLEST else _SMALLEST
