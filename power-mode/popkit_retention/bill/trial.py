"""What a trial has shown: what became of its sessions, and how both arms compare once each has its number. Pure.

Sessions count in the order in which they were drawn and with the arm that the coin gave them, whatever they made of it. One is left out
only where no prompt of the user was answered, or where its bill is not known, which is said. While a trial runs, nothing leaves this module
but how many sessions are over.
"""

from __future__ import annotations

from hooks.utils.policy.trials import ARMS, PER_ARM, QUIET_S

from .comparison import compare
from .costs import usd_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from hooks.utils.policy.models import Models
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
# What becomes of a session: it counts, it is not over, it has no answered prompt, it has no transcript, usage in it is not known.
COUNTED, OPEN, NO_PROMPT, MISSING, PARTIAL = "sessions", "open", "no_prompt", "missing", "partial"
CHANGE = 0.1  # how many sessions would tell a change of this size is said


def totals(digests: Iterable[Digest], models: Models, there: Iterable[str] = ()) -> dict[str, Total]:
    """Return id of a session -> what it and its subagents used. `there`: ids of sessions that have a transcript, if only an empty one."""
    found = {session: _nothing() for session in there}
    for digest in digests:
        session, agent, _ = digest["session"].partition("/")
        total = found.setdefault(session, _nothing())
        total["prompts"] += 0 if agent else digest["prompts"]
        total["unmeasured"] += digest["unmeasured"]
        total["last"] = max(total["last"], digest["ended"])
        for used in digest["used"]:
            paid = usd_of(used, models)
            total["requests"] += used["requests"]
            total["tokens"] += used["plain"] + used["read"] + used["write_5m"] + used["write_1h"] + used["output"]
            total["usd"] = None if paid is None or total["usd"] is None else total["usd"] + sum(paid.values())
    return found


def _nothing() -> Total:
    return {"prompts": 0, "requests": 0, "tokens": 0, "usd": 0.0, "unmeasured": 0, "last": 0.0}


def fate(row: Row, total: Total | None, now: float) -> str:
    """Return what becomes of a session of a trial at a time."""
    last = max(row.began, total["last"] if total else 0.0)
    if row.ended is None and now - last < QUIET_S:
        return OPEN
    if total is None:
        return MISSING if row.spoke or row.ended is None else NO_PROMPT
    if total["unmeasured"]:
        return PARTIAL
    return COUNTED if total["prompts"] else NO_PROMPT


class Standing:
    """How far a trial is: `arms`: WITH or WITHOUT -> what became of its sessions (name -> rows), up to the one that made its number full;
    `waits`: for sessions that go on, and were drawn before the last one that counts."""

    __slots__ = ("arms", "waits")

    def __init__(self, run: Run, found: Totals, now: float) -> None:
        self.arms: dict[str, dict[str, list[Row]]] = {arm: {} for arm in (WITH, WITHOUT)}
        for row in run.rows:
            fates = self.arms[WITH if row.treated else WITHOUT]
            if len(fates.get(COUNTED, ())) < PER_ARM:
                fates.setdefault(fate(row, found.get(row.session), now), []).append(row)
        self.waits = sum(len(fates.get(OPEN, ())) for fates in self.arms.values())

    @property
    def is_complete(self) -> bool:
        """Whether each arm has its number, and no session that was drawn before goes on."""
        return not self.waits and all(len(fates.get(COUNTED, ())) == PER_ARM for fates in self.arms.values())

    def counts(self, name: str) -> dict[str, Any]:
        """Return for each arm its `setting`, and how many `sessions` are over."""
        values = dict(zip((WITH, WITHOUT), ARMS[name]))
        return {arm: {"setting": values[arm], COUNTED: len(fates.get(COUNTED, ()))} for arm, fates in self.arms.items()}


def read(run: Run, standing: Standing, found: Totals, now: float, dated: str) -> dict[str, Any]:
    """Return what a trial has shown; ValueError before it is complete. `outcomes`: name of OUTCOMES -> {ratio, low, high, claimed} per
    answered prompt, of sessions with it to sessions without, and of how many of each it is known; None where these are too few ·
    `decides`: the outcome that advice goes by, money unless a price is missing · `needed`: sessions of each arm that would tell a change of
    CHANGE."""
    if not standing.is_complete:
        raise ValueError("a trial is not read before its number is reached")
    rows = {arm: fates[COUNTED] for arm, fates in standing.arms.items()}
    values = {name: {arm: _values(rows[arm], found, name) for arm in rows} for name in OUTCOMES}
    decides = USD if all(len(values[USD][arm]) == PER_ARM for arm in rows) else TOKENS
    told = {name: compare(values[name][WITH], values[name][WITHOUT]) for name in OUTCOMES}
    outcomes = {
        name: one and {
            "ratio": one.ratio, "low": one.low, "high": one.high, "claimed": one.is_claimed,
            **{arm: len(values[name][arm]) for arm in rows},
        }
        for name, one in told.items()
    }  # fmt: skip
    counts, deciding = standing.counts(run.name), told[decides]
    for arm, fates in standing.arms.items():
        counts[arm].update((why, len(fates.get(why, ()))) for why in (NO_PROMPT, MISSING, PARTIAL))
    sessions = [{"session": row.session, "arm": arm, **found[row.session]} for arm in rows for row in rows[arm]]
    return {
        "at": now, "arms": counts, "outcomes": outcomes, "decides": decides, "prices_of": dated,
        "needed": {"change": CHANGE, "sessions": deciding.needed(CHANGE) if deciding else None}, "sessions": sessions,
    }  # fmt: skip


def _values(rows: Iterable[Row], found: Totals, name: str) -> list[float]:
    """Return an outcome per prompt of those sessions of which it is known."""
    known = ((found[row.session][name], found[row.session]["prompts"]) for row in rows)  # type: ignore[literal-required]
    return [amount / prompts for amount, prompts in known if amount]
