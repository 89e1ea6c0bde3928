"""What a session taught becomes items, and strengthens those that are there.

A session may be taught twice: before a compaction, and at its end. Beside the items stands what each session gave, so that it is counted
once, however often it is taught; both are written as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import erasure, following, holds, transitions, valuation
from .items import ACCEPTED, BY_JOB, BY_POLICY, CODE, KINDS, NOTE, PROSE, SESSION, USER, Item, id_of
from .stores import Batch, Change, DuplicateId, audited

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .items import Lesson, Observed
    from .stores import Store

# What the assistant alone has written of it is believed so far.
CONFIDENCE = {SESSION: 0.8, USER: 1.0}
# In an item's details: a session found that it is no more.
GONE = "gone"


@dataclass(frozen=True)
class Learnt:
    """What came of a lesson: how many items are new, how many earlier ones the session used again, how many of these it can only have known
    from memory; and the number of the session."""

    added: int
    strengthened: int
    used: int
    number: int


def learn(store: Store, lesson: Lesson, now: float, tries: int = 4) -> Learnt:
    """Merge a lesson into a store, without what the user has forgotten. Try again where another machine has just added an item of the
    lesson."""
    try:
        return _learn(store, lesson, now)
    except DuplicateId:
        if tries == 1:
            raise
        return learn(store, lesson, now, tries - 1)


def _learn(store: Store, lesson: Lesson, now: float) -> Learnt:
    key = _key(lesson)
    before = _mapping(store.value(key))
    numbers = _mapping(store.value("sessions:" + lesson.project))
    number = _whole(before.get("number")) or _whole(numbers.get("count")) + 1
    counted = {id: _whole(writes) for id, writes in _mapping(before.get("writes")).items()}
    unwanted = erasure.forgotten_ids(store, lesson.project)
    seen = {id: one for id, one in ((id_of(lesson.project, one.kind, one.text), one) for one in lesson.observed) if id not in unwanted}
    written = {id_of(lesson.project, kind, text) for kind, text in lesson.written} - {*seen, *unwanted}
    gone = {id_of(lesson.project, kind, text) for kind, text in lesson.gone} - {*seen}
    known = {item.id: item for item in store.get(sorted({*seen, *counted, *written, *gone}))}

    new = [_new(id, one, lesson, number) for id, one in seen.items() if id not in known]
    again = [id for id in seen if id in known and id not in counted]
    at = min(lesson.ended, now)
    opened = following.opened_in(store, lesson.project, lesson.session)
    reinforced = {*opened, *_listed(before.get("followed"))}
    followed = _followed(store, lesson, {*seen, *counted, *reinforced}, at)
    changes = [_seen_again(known[id], one, counted.get(id), number, at, id in reinforced) for id, one in seen.items() if id in known]
    changes += followed
    changes += [Change(id, by={"writes": -counted[id], "sessions": -1}) for id in counted if id not in seen and id in known]
    changes += [Change(id, to={"details": {**known[id].details, GONE: True}}) for id in sorted(gone) if id in known and id not in counted]
    unaided = {id_of(lesson.project, kind, text) for text in lesson.unaided for kind in KINDS}
    used = [id for id in (*seen, *sorted(written)) if id in known and id in unaided]
    again += [id for id in sorted(written) if id in known and id not in _listed(before.get("written"))]
    value = {
        "number": number, "began": lesson.began, "ended": lesson.ended, "writes": {id: one.writes for id, one in seen.items()},
        "used": used, "written": sorted(id for id in written if id in known), "lookups": lesson.lookups,
        "lookup_tokens": lesson.lookup_tokens, "followed": sorted({*reinforced, *(change.id for change in followed)}),
        **({"root": lesson.root} if lesson.root else {}),
    }  # fmt: skip
    batch = Batch(
        add=_placed(new, store, now),
        change=changes,
        access=[(asked, at, number)] if (asked := [*again, *(change.id for change in followed)]) else [],
        values={
            key: value,
            "sessions:" + lesson.project: {"count": max(number, _whole(numbers.get("count")))},
            **({following.key_of(lesson.project, lesson.session): None} if opened else {}),
        },
        log=[audited(now, "learnt", lesson.project, session=lesson.session, added=len(new), again=len(again))],
    )
    holds.touch_marks(batch)
    store.write(batch)
    return Learnt(len(new), len(again), len(used), number)


def session_number(store: Store, project: str) -> int:
    """Return how many sessions of a project have taught something."""
    return _whole(_mapping(store.value("sessions:" + project)).get("count"))


def taught(store: Store, project: str) -> dict[str, Mapping[str, object]]:
    """Return what each session gave, by its id: `number`, `began`, `ended`, `writes` (id -> times), `followed` and `used` (ids), `lookups`,
    `lookup_tokens`."""
    prefix = f"lesson:{project}:"
    return {key[len(prefix) :]: _mapping(value) for key, value in store.values(prefix).items()}


def taught_in(store: Store, item: Item) -> list[str]:
    """Return the checkouts whose sessions have taught an item, as far as that is known."""
    lessons = taught(store, item.project).values()
    return sorted({str(lesson["root"]) for lesson in lessons if lesson.get("root") and item.id in _mapping(lesson.get("writes"))})


def _key(lesson: Lesson) -> str:
    return f"lesson:{lesson.project}:{lesson.session}"


def _new(id: str, one: Observed, lesson: Lesson, number: int) -> Item:
    notes = one.kind == NOTE  # the user's own words; all else the assistant has written
    source = USER if notes else SESSION
    at = min(one.at or lesson.ended, lesson.ended)
    return Item(
        id, one.text, lesson.project, one.kind, PROSE if notes else CODE, source, CONFIDENCE[source], episode=lesson.session, created_at=at,
        last_accessed=at, writes=one.writes, session=number, details=dict(one.details),
    )  # fmt: skip


def _placed(new: list[Item], store: Store, now: float) -> list[Item]:
    """Return new items in the tiers where they begin; the newest of a lesson are among the newest of the project."""
    newest = {item.id for item in sorted(new, key=lambda item: (-item.created_at, item.id))[: transitions.NEWEST]}
    for item in new:
        item.score = item.tier_score = valuation.score(item, now)
        item.tier, item.tier_since = transitions.entry(item.score, item.id in newest).tier, item.created_at
    return new


def _followed(store: Store, lesson: Lesson, counted: set[str], at: float) -> list[Change]:
    """Return the changes of items that a session followed, besides those that are counted already and those that it has made."""
    if not lesson.shown:
        return []
    items = {item.id: item for item in store.scan(lesson.project, marked=False, bare=True) if item.id not in counted}
    ids = following.followed(lesson.shown, (item for item in items.values() if item.episode != lesson.session))
    return [following.reinforcement(items[id], at) for id in ids]


def _seen_again(item: Item, one: Observed, counted: int | None, number: int, at: float, reinforced: bool) -> Change:
    """Return the change of an item that a session has written. `counted`: how often it wrote it by what it taught before, None where it
    has taught nothing of it; `reinforced`: whether this session has reinforced it already."""
    change = Change(item.id) if reinforced or counted is not None else following.reinforcement(item, at)
    change.by["writes"] = one.writes - (counted or 0)
    if counted is None:
        change.by["sessions"] = 1
        change.to["session"] = max(number, item.session)
    details = {name: value for name, value in {**item.details, **one.details}.items() if name != GONE}
    if details != item.details:
        change.to["details"] = details
    if item.waits:  # the user has now said the same, or a session has shown it
        change.to["source"] = ACCEPTED if one.kind == NOTE else SESSION
    if item.marked_by in (BY_JOB, BY_POLICY):  # it is of use after all
        change.to.update(marked_at=None, marked_by="")
    return change


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
