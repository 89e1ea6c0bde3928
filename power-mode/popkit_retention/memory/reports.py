"""What is told of a memory: why an item is where it is, what there is of a project, what compression loses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils.policy.estimate import estimate_tokens

from . import compression, holds, job, learning, loss, marks, profiles, search, transitions
from .forgetting import DAY_S
from .items import FULL, KEYWORDS, TIERS, Item
from .stores.in_memory import InMemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .loss import Loss
    from .stores import Store, Total
    from .transitions import Decision, Moment

# The loss report asks every text for every other: more take minutes.
SAMPLES = 100


def why(store: Store, item: Item, moment: Moment) -> dict[str, object]:
    """What is thought of an item: `item`, `signals` (the specification's), `profile`, `strength`, `score`, `retention`, `decision`
    (what is due: tier, action, marks, reasons), `next` (the same with `at`, None where nothing comes), `hold` (who wants it kept, "" for
    nobody), `log`, and `taught_in`: the checkouts whose sessions taught it."""
    score = profiles.score(item, moment.now)
    decision = transitions.decide(transitions.standing_of(item, moment, score))
    following = transitions.foresee(item, moment, lambda at: profiles.score(item, at))
    signals = profiles.composite(item, moment.now)
    hold = holds.read(store, moment.now).on(item)
    return {
        "item": item.to_json(),
        "signals": {**vars(signals), "composite": signals.calculate_composite_score()},
        "profile": item.profile,
        "strength": round(profiles.strength(item), 4),
        "score": score,
        "retention": transitions.retention_of(item, moment),
        "decision": _decision(decision),
        "next": {**_decision(following.decision), "at": following.at} if following else None,
        "hold": holds.in_words(hold) if hold else "",
        "log": store.logged(item.id, 20),
        "taught_in": learning.taught_in(store, item),
    }


def status(store: Store, project: str, now: float) -> dict[str, object]:
    """`tiers` and `levels`: name -> items and tokens · `items`, `tokens`, `marked`, and what is `told` of that: see `marks.told` ·
    `waiting`: how many an agent has added that wait for a yes · `asked`: accesses of the last 7 days · `sessions`: how many have taught
    something, and in how many of them something was `used` from memory · `run`: the job's last, None before the first · `alerts`: those of
    this project."""
    totals = store.totals(project)
    marked = asked = waiting = 0
    week = now - 7 * DAY_S
    for item in store.scan(project):
        marked += item.marked_at is not None
        waiting += item.waits and item.marked_at is None
        asked += sum(at >= week for at in item.accesses)
    run = job.last_run(store)
    alerts = run.get("alerts") if run else None
    known = [alert for alert in alerts if isinstance(alert, dict)] if isinstance(alerts, list) else []
    taught = learning.taught(store, project).values()
    return {
        "project": project,
        "tiers": {tier: _sum(total for total in totals if total.tier == tier) for tier in TIERS},
        "levels": {level: _sum(total for total in totals if total.level == level) for level in sorted({total.level for total in totals})},
        **_sum(totals),
        "marked": marked,
        "waiting": waiting,
        "told": marks.told(store, project),
        "asked": asked,
        "sessions": len(taught),
        "used": sum(bool(lesson.get("used")) for lesson in taught),
        "run": run,
        "alerts": [alert for alert in known if alert.get("project") == project],
    }


def loss_of(
    store: Store,
    project: str,
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]],
    summarise: Callable[[str], str] | None = None,
    most: int = SAMPLES,
) -> list[Loss]:
    """What the levels lose, measured on the longer texts of a project, at most so many of them."""
    texts: dict[str, str] = {}
    for item in store.scan(project, marked=False):
        full = (store.original(item.id) or item.text) if item.original else item.text
        if estimate_tokens(full) > compression.TOKENS[KEYWORDS]:
            texts[item.id] = full
        if len(texts) == most:
            break
    return loss.report(texts, embed, _finder, summarise)


def _finder(texts: Mapping[str, str]) -> Callable[[str], list[str]]:
    """Searches such texts as a memory is searched."""
    store = InMemoryStore()
    store.add([Item(id, text or "-", level=FULL) for id, text in texts.items()])
    return lambda query: [item.id for item, _ in search.search(store, query, most=loss.RESULTS)]


def _decision(decision: Decision) -> dict[str, object]:
    return {"tier": decision.tier, "action": decision.action, "marks": decision.marks, "reasons": list(decision.reasons)}


def _sum(totals: Iterable[Total]) -> dict[str, int]:
    found = list(totals)
    return {"items": sum(total.items for total in found), "tokens": sum(total.tokens for total in found)}
