"""Reports on a memory: why an item is where it is, the status of a project."""

from __future__ import annotations

from popkit_retention.core.io.codec import as_objects

from . import holds, job, learning, published_marks, stored_lessons, transitions, valuation
from .items import TIERS, Item
from .valuation import DAY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .stores.protocol import Store, Total
    from .transitions import Decision, Moment


def why(store: Store, item: Item, moment: Moment) -> dict[str, object]:
    """Explain an item: `item`, `signals` (the specification's), `profile`, `strength`, `score`, `retention`, `decision` (the change that is
    due: tier, action, marks, reasons), `next` (the next one, with `at`; None where nothing comes), `hold` (who wants it kept, "" for
    nobody), `log`, and `sessions`: those that taught it, oldest first, and `taught_in`: the checkouts that they worked in."""
    taught = learning.teaching_of(store, item)
    score = valuation.score(item, moment.now)
    decision = transitions.decide(transitions.standing_of(item, moment, score))
    following = transitions.foresee(item, moment, lambda at: valuation.score(item, at))
    signals = valuation.composite(item, moment.now)
    hold = holds.read(store, moment.now).on(item)
    return {
        "item": item.to_json(),
        "signals": {**vars(signals), "composite": signals.calculate_composite_score()},
        "profile": item.profile,
        "strength": round(valuation.strength(item), 4),
        "score": score,
        "retention": transitions.retention_of(item, moment),
        "decision": _decision(decision),
        "next": {**_decision(following.decision), "at": following.at} if following else None,
        "hold": holds.in_words(hold) if hold else "",
        "log": store.logged(item.id, 20),
        "sessions": taught.sessions,
        "taught_in": taught.checkouts,
    }


def status(store: Store, project: str, now: float) -> dict[str, object]:
    """Return the status of a project. `tiers` and `levels`: name -> items and tokens · `items`, `tokens`, `marked`, and `told`, the marks
    that the user is notified of: see `published_marks.notices` · `waiting`: how many an agent has added that are not accepted
    yet · `asked`: accesses
    of the last 7 days · `sessions`: how many have taught something, and in how many of them something was `used` from memory · `run`: the
    job's last, None before the first · `alerts`: those of this project."""
    totals = store.totals(project)
    marked = accesses = waiting = 0
    week = now - 7 * DAY_S
    for item in store.scan(project):
        marked += item.marked_at is not None
        waiting += item.waits and item.marked_at is None
        accesses += sum(at >= week for at in item.accesses)
    run = job.last_run(store)
    alerts = run.get("alerts") if run else None
    known = as_objects(alerts)
    taught = stored_lessons.read_lessons(store, project).values()
    return {
        "project": project,
        "tiers": {tier: _sum(total for total in totals if total.tier == tier) for tier in TIERS},
        "levels": {level: _sum(total for total in totals if total.level == level) for level in sorted({total.level for total in totals})},
        **_sum(totals),
        "marked": marked,
        "waiting": waiting,
        "told": published_marks.notices(store, project),
        "asked": accesses,
        "sessions": len(taught),
        "used": sum(lesson.has_used for lesson in taught),
        "run": run,
        "alerts": [alert for alert in known if alert.get("project") == project],
    }


def _decision(decision: Decision) -> dict[str, object]:
    return {"tier": decision.tier, "action": decision.action, "marks": decision.marks, "reasons": list(decision.reasons)}


def _sum(totals: Iterable[Total]) -> dict[str, int]:
    counted = list(totals)
    return {"items": sum(total.items for total in counted), "tokens": sum(total.tokens for total in counted)}


MOST_DEMOTION, MOST_ARCHIVE = 10, 5  # candidates, as the specification has it
