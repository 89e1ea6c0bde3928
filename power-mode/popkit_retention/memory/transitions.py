"""Decides the transitions of items from tier to tier. A rule decides, or the user's command. The first rule that applies decides, and
gives the reason. Pure: the time is a parameter (seconds).

The specification's part 5, by the bounds of its policies (`tier_policies`), corrected where it contradicts itself: its code never reaches
ARCHIVE from WARM, deletes items that are remembered well, and lets an item move between HOT and WARM for ever. These laws hold instead:
every tier can be reached; an item never returns to a tier it has left without a new access or a higher score; a higher score and more
accesses never lead lower; an item that every session uses never falls from HOT; an item that nobody uses is COLD within a month, unless it
is among the newest.

There are two clocks. The wall clock says how long ago something was; the session clock how many sessions of its project have begun since.
The lesser decides: a project that rests for a month has forgotten nothing when its user comes back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from popkit_retention.core import units

from . import valuation
from .items import ACCEPTED, ARCHIVE, COLD, HOT, WARM, BadItem
from .tier_policies import DEFAULT, TierPolicies
from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .items import Item

    Fields = dict[str, object]

HOUR_S = 3600.0


@dataclass(frozen=True)
class Moment:
    """The moment of a decision: the time (seconds), the number of the project's newest session (0: sessions are not counted), whether the
    item is among the newest of its project, and the policies in force."""

    now: float
    session: int = 0
    newest: bool = False
    policies: TierPolicies = DEFAULT


@dataclass(frozen=True)
class Standing:
    """Everything that a decision is based on.

    `age_hours`: since it was made or came to HOT, whichever is later, by the wall clock. `age_days`, `idle_days`: since it was made, since
    it was last asked for, by the lesser clock; `in_sessions`: where that counted sessions. `lately`: accesses within the active hours.
    `used_days`: since it was last of use (a reinforcement), by the lesser clock; infinite where it never was. `accessed_here`, `used_here`:
    asked for, and of use, since it came to its tier. `fell_lately`: came from HOT a short while ago. `risen`: never fell from HOT, or was
    asked for since, or has a higher score than then. `moved_hours`: since the user moved it to its tier; infinite where nobody did.
    `waits`: an agent has added it, and the user has not accepted it: nothing keeps it for good."""

    tier: str
    score: float
    retention: float
    age_hours: float
    age_days: float
    idle_days: float
    newest: bool = False
    lately: int = 0
    accesses: int = 0
    reinforcements: int = 0
    in_sessions: bool = False
    used_days: float = math.inf
    accessed_here: bool = False
    used_here: bool = False
    fell_lately: bool = False
    risen: bool = True
    key: bool = False
    held: bool = False
    waits: bool = False
    moved_hours: float = math.inf
    policies: TierPolicies = DEFAULT


@dataclass(frozen=True)
class Decision:
    """The tier that an item gets, or keeps; whether it is marked for deletion; the `action` in the specification's words, and why."""

    tier: str
    action: str
    reasons: tuple[str, ...]
    marks: bool = False


def entry(score: float, newest: bool, policies: TierPolicies = DEFAULT) -> Decision:
    """Return the tier of a new item."""
    if score >= policies.hot_entry:
        return Decision(HOT, "enter", (f"worth {_rounded(score)}, at least {policies.hot_entry}",))
    if newest:
        return Decision(HOT, "enter", (f"among the {policies.hot_newest} newest",))
    return Decision(WARM, "enter", (f"worth {_rounded(score)}, less than {policies.hot_entry}",))


def days_idle(item: Item, since: float, moment: Moment) -> float:
    """Return the days since a time by the lesser of the two clocks; by the wall clock alone where sessions are not counted. Never
    negative."""
    days = max(0.0, moment.now - since) / DAY_S
    if not moment.session or not item.session:
        return days
    return min(days, float(max(0, moment.session - item.session)))


def retention_of(item: Item, moment: Moment) -> float:
    """Return the chance that an item is still remembered, 0 to 1."""
    return valuation.retention(days_idle(item, item.last_accessed, moment), valuation.memory_strength(item.reinforcements))


def standing_of(item: Item, moment: Moment, score: float) -> Standing:
    """Return the standing of an item with this score at a moment."""
    policies = moment.policies
    from_hot = item.tier == WARM and item.previous_tier == HOT
    arrived = item.tier_since if item.tier == HOT else 0.0
    used = max(item.reinforced, default=-math.inf)
    return Standing(
        tier=item.tier,
        score=score,
        retention=retention_of(item, moment),
        age_hours=max(0.0, moment.now - max(item.created_at, arrived)) / HOUR_S,
        age_days=days_idle(item, item.created_at, moment),
        idle_days=days_idle(item, item.last_accessed, moment),
        newest=moment.newest,
        lately=sum(0 <= moment.now - at <= policies.active_hours * HOUR_S for at in item.accesses),
        accesses=item.access_count,
        reinforcements=item.reinforcements,
        in_sessions=days_idle(item, item.last_accessed, moment) < max(0.0, moment.now - item.last_accessed) / DAY_S,
        used_days=days_idle(item, used, moment) if item.reinforced else math.inf,
        accessed_here=item.accessed_since(item.tier_since),
        used_here=used > item.tier_since,
        fell_lately=from_hot and moment.now - item.tier_since < policies.hot_hours * HOUR_S,
        risen=not from_hot or item.accessed_since(item.tier_since) or score > item.tier_score,
        key=item.for_good,
        waits=item.waits,
        held=item.held,
        moved_hours=max(0.0, moment.now - item.tier_since) / HOUR_S if item.by_hand else math.inf,
        policies=policies,
    )


def decide(standing: Standing) -> Decision:
    """Return the decision for an item of this standing."""
    policies = standing.policies
    if standing.held:
        return Decision(standing.tier, "retain", ("you pinned it",))
    # A user's own move stands as long as a new item may stay in HOT; the rules alone would undo it in the next run, seconds later.
    if standing.moved_hours < policies.hot_hours and not (standing.waits and standing.tier == ARCHIVE):
        return Decision(standing.tier, "retain", (f"you moved it {_span_of_hours(standing.moved_hours)} ago",))
    if standing.waits:
        back = Decision(WARM, "demote_not_accepted", ("an agent added it, and it waits for your approval",))
        return back if standing.tier == ARCHIVE else _RULES[standing.tier](standing)
    if standing.tier != ARCHIVE and standing.key:
        return Decision(ARCHIVE, "promote_key_decision", ("it is a key decision",))
    if standing.tier != ARCHIVE and standing.score >= policies.key_score and standing.accesses >= policies.key_accesses:
        return Decision(
            ARCHIVE, "promote_key_decision", (_worth(standing, policies.key_score), "asked for " + units.counted(standing.accesses, "time"))
        )
    if (
        standing.tier in (WARM, COLD)
        and standing.reinforcements >= policies.hot_uses
        and standing.used_here
        and standing.used_days <= policies.used_days
    ):
        return Decision(HOT, "promote_high_activity", ("used again " + units.counted(standing.reinforcements, "time"),))
    return _RULES[standing.tier](standing)


def _from_hot(at: Standing) -> Decision:
    policies = at.policies
    young = at.age_hours < policies.hot_hours
    if (young or at.newest) and at.score >= policies.hot_stays:
        why = f"younger than {policies.hot_hours:.0f} h" if young else f"among the {policies.hot_newest} newest"
        return Decision(HOT, "retain", (why, _worth(at, policies.hot_stays)))
    if at.used_days <= policies.used_days:
        return Decision(HOT, "retain", (f"used {_span(at, at.used_days)} ago",))
    aged = () if young or at.newest else (f"older than {policies.hot_hours:.0f} h",)
    if at.score >= policies.warm_entry:
        return Decision(
            WARM, "promote_age", (*aged, _worth(at, policies.warm_entry) + ("" if aged else f", less than {policies.hot_stays}"))
        )
    if at.retention >= policies.warm_retention:
        return Decision(WARM, "promote_age", (*(aged or (_worth(at, policies.hot_stays),)), _remembered(at)))
    return Decision(COLD, "demote_low_value", (*aged, _worth(at, policies.warm_entry), _remembered(at, "only ")))


def _from_warm(at: Standing) -> Decision:
    policies = at.policies
    if at.lately >= policies.active_accesses and at.risen:
        return Decision(HOT, "promote_high_activity", (f"asked for {units.counted(at.lately, 'time')} in {policies.active_hours:.0f} h",))
    if at.score >= policies.hot_back and at.risen and not at.fell_lately:
        return Decision(HOT, "promote_high_activity", (_worth(at, policies.hot_back),))
    lately = f"{'last asked for' if at.accesses else 'learnt'} {_span(at, at.idle_days)} ago"
    long = at.idle_days > warm_days(at.reinforcements, policies)
    if at.used_days <= policies.used_days:
        return Decision(WARM, "retain", (f"used {_span(at, at.used_days)} ago",))
    if not long and at.score >= policies.warm_stays:
        return Decision(WARM, "retain", (lately, _worth(at, policies.warm_stays)))
    return Decision(COLD, "demote_age_or_value", (lately if long else _worth(at, policies.warm_stays),))


def warm_days(reinforcements: int, policies: TierPolicies = DEFAULT) -> float:
    """Return for how many days WARM keeps an item that nobody asks for: as many as its memory is strong, at most the days of COLD."""
    return min(policies.warm_days * valuation.memory_strength(reinforcements) / valuation.memory_strength(0), policies.cold_days)


def _from_cold(at: Standing) -> Decision:
    policies = at.policies
    if at.accessed_here and policies.reactivates:
        return Decision(WARM, "promote_reactivation", ("asked for since it went cold",))
    old = at.age_days >= policies.gone_days
    worthless = at.score < policies.gone_score and at.accesses <= policies.gone_accesses and at.retention < policies.gone_retention
    if old and worthless and policies.deletes:
        why = (
            f"{_span(at, at.age_days)} old",
            _worth(at, policies.gone_score),
            "never asked for",
            _remembered(at, "only "),
        )
        return Decision(COLD, "delete_expired", why, marks=True)
    reasons = (
        [] if old else [f"{_span(at, at.age_days)} old, less than {policies.gone_days:.0f} {'sessions' if at.in_sessions else 'days'}"]
    )
    reasons += [_worth(at, policies.gone_score)] if at.score >= policies.gone_score else []
    reasons += ["asked for before"] if at.accesses > policies.gone_accesses else []
    reasons += [_remembered(at)] if at.retention >= policies.gone_retention else []
    return Decision(COLD, "retain", tuple(reasons))


def _from_archive(at: Standing) -> Decision:
    return Decision(ARCHIVE, "retain_permanent", ("the archive keeps it until you move it",))


def _span(at: Standing, days: float) -> str:
    if at.in_sessions:
        return "1 session" if days == 1 else f"{days:.0f} sessions"
    return f"{days:.1f} days" if days >= 1 else _span_of_hours(days * 24)


def _span_of_hours(hours: float) -> str:
    return f"{hours:.0f} h" if hours >= 1 else "less than an hour"


def _worth(at: Standing, bound: float) -> str:
    return f"worth {_rounded(at.score)}, {'at least' if at.score >= bound else 'less than'} {bound}"


def _remembered(at: Standing, only: str = "") -> str:
    return f"a chance of {only}{units.percent(at.retention)} that it is still remembered"


def _rounded(score: float) -> str:
    """Round down, as 0.599 is less than 0.6."""
    near = round(score, 2)
    return f"{near if near <= score else near - 0.01:.2f}"


_RULES: dict[str, Callable[[Standing], Decision]] = {HOT: _from_hot, WARM: _from_warm, COLD: _from_cold, ARCHIVE: _from_archive}


@dataclass(frozen=True)
class NextChange:
    """The next change if nobody asks for an item: the decision, and when it is due (seconds)."""

    decision: Decision
    at: float


def foresee(item: Item, moment: Moment, score_at: Callable[[float], float]) -> NextChange | None:
    """Return the next change of an item that nobody accesses, if a session of its project begins every day; None where nothing changes any
    more. `score_at(time)`: its score then."""
    policies = moment.policies
    times = [item.created_at, item.last_accessed, item.tier_since, *item.accesses, *item.reinforced[-1:]]
    days = (policies.used_days, warm_days(item.reinforcements, policies), policies.gone_days)
    spans = (policies.hot_hours * HOUR_S, policies.active_hours * HOUR_S, *(each * DAY_S for each in days))
    fading = [
        valuation.days_until(chance - _ROUNDED, item.reinforcements) * DAY_S
        for chance in (policies.warm_retention, policies.gone_retention)
    ]
    moments = {at + span for at in times for span in spans} | {item.last_accessed + span for span in fading}
    moments |= {moment.now + days * DAY_S for days in _LOOK_AHEAD_DAYS}
    for at in sorted(moments):
        if at <= moment.now:
            continue
        # A moment after the bound, and no longer among the newest: others will have come.
        later = after(moment, at + 1.0)
        decision = decide(standing_of(item, later, score_at(at + 1.0)))
        if decision.marks or decision.tier != item.tier:
            return NextChange(decision, at)
    return None


def after(moment: Moment, at: float) -> Moment:
    """Return a later moment, if a session begins every day."""
    begun = int((at - moment.now) / DAY_S)
    return replace(moment, now=at, session=moment.session + begun if moment.session else 0, newest=False)


_ROUNDED = 0.00005  # a chance is rounded to four decimals
_LOOK_AHEAD_DAYS = (*range(1, 31), 60, 90, 180, 365)  # for scores that fade by themselves


_ORDER = (COLD, WARM, HOT, ARCHIVE)  # as `promote` goes


def moved(item: Item, by: int, now: float) -> Fields:
    """Return the fields of an item one tier up or down. Raise BadItem where there is no such tier, and for an item that ARCHIVE would keep
    before the user has accepted it."""
    at = _ORDER.index(item.tier) + by
    if not 0 <= at < len(_ORDER):
        raise BadItem(f"{item.id} is already {item.tier}: there is no tier {'above' if by > 0 else 'below'} it")
    if item.waits and _ORDER[at] == ARCHIVE:
        raise BadItem(
            f"{item.id} was added by an agent, and ARCHIVE keeps things for good. Accept it first: popkit memory admin accept {item.id}"
        )
    return {**_placed(item, _ORDER[at], now), "by_hand": True, **({"key": False} if item.tier == ARCHIVE else {})}


def as_key(item: Item, now: float) -> Fields:
    """Return the fields of a key decision, which ARCHIVE keeps for good; an item that waits for the user goes there when it is accepted."""
    return {"key": True, **({} if item.waits else _placed(item, ARCHIVE, now))}


def accepted(item: Item, now: float) -> Fields:
    """Return the fields of an agent's item that the user accepts, even if it was about to be deleted. Raise BadItem for one that is not
    waiting."""
    if not item.waits:
        raise BadItem(f"{item.id} does not wait for your approval. popkit memory list --waiting shows the items that do")
    yes: Fields = {"source": ACCEPTED, "marked_at": None, "marked_by": ""}
    return {**yes, **(_placed(item, ARCHIVE, now) if item.key else {})}


def _placed(item: Item, tier: str, now: float) -> Fields:
    return {"tier": tier, "previous_tier": item.tier, "tier_since": now, "tier_score": item.score}
