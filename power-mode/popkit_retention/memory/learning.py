"""Merge the lesson of a session into the store: new items are added, known ones strengthened.

A session may teach twice: before a compaction, and at its end. The store keeps each session's contribution beside the items, so that it
counts once, however often it is learnt; both are written together.

An item that was of use is reinforced: where somebody opened or restored it (reinforcement.py), and where a session followed it
(following.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from . import erasure, holds, transitions, valuation
from .following import followed_ids
from .items import (
    ACCEPTED,
    BY_JOB,
    BY_POLICY,
    CODE,
    KINDS,
    NOTE,
    PROSE,
    SESSION,
    TIMES,
    USER,
    Item,
    id_of,
    times_of,
)
from .reinforcement import key_of, opened_in, reinforcement
from .stored_lessons import lesson_key, read_lesson, read_lessons, session_number
from .stores.protocol import Batch, Change, DuplicateId, audited
from .tier_policies import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lessons import Lesson, Observation
    from .stores.protocol import Store
    from .tier_policies import TierPolicies

# The confidence in an item that only the assistant has written.
CONFIDENCE = {SESSION: 0.8, USER: 1.0}
# In an item's details: a session found that it no longer exists.
GONE = "gone"


@dataclass(frozen=True)
class LearningResult:
    """The result of learning a lesson: how many items are new, how many earlier ones the session used again, how many of these it can only
    have known from memory; and the number of the session."""

    added: int
    strengthened: int
    used: int
    number: int


def learn(store: Store, lesson: Lesson, now: float, policies: TierPolicies = DEFAULT, tries: int = 4) -> LearningResult:
    """Merge a lesson into a store, without what the user has forgotten. Try again where another machine has just added an item of the
    lesson."""
    try:
        return _learn(store, lesson, now, policies)
    except DuplicateId:
        if tries == 1:
            raise
        return learn(store, lesson, now, policies, tries - 1)


def _learn(store: Store, lesson: Lesson, now: float, policies: TierPolicies) -> LearningResult:
    key = lesson_key(lesson.project, lesson.session)
    before = read_lesson(store, lesson.project, lesson.session)
    sessions = session_number(store, lesson.project)
    number = before.number or sessions + 1
    counted = before.writes
    unwanted = erasure.forgotten_ids(store, lesson.project)
    observed = {id_of(lesson.project, observation.kind, observation.text): observation for observation in lesson.observed}
    seen = {id: observation for id, observation in observed.items() if id not in unwanted}
    written = {id_of(lesson.project, kind, text) for kind, text in lesson.written} - {*seen, *unwanted}
    missing = {id_of(lesson.project, kind, text) for kind, text in lesson.missing} - {*seen}
    known = {item.id: item for item in store.get(sorted({*seen, *counted, *written, *missing}))}

    new = [_new(id, observation, lesson, number) for id, observation in seen.items() if id not in known]
    again = [id for id in seen if id in known and id not in counted]
    at = min(lesson.ended, now)
    opened = opened_in(store, lesson.project, lesson.session)
    reinforced = {*opened, *before.followed}
    followed = _followed(store, lesson, {*seen, *counted, *reinforced}, at)
    changes = [
        _seen_again(known[id], observation, counted.get(id), number, at, id in reinforced)
        for id, observation in seen.items()
        if id in known
    ]
    changes += followed
    changes += [Change(id, by={"writes": -counted[id], "sessions": -1}) for id in counted if id not in seen and id in known]
    changes += [
        Change(id, to={"details": {**known[id].details, GONE: True}}) for id in sorted(missing) if id in known and id not in counted
    ]
    unaided = {id_of(lesson.project, kind, text) for text in lesson.unaided for kind in KINDS}
    used = [id for id in (*seen, *sorted(written)) if id in known and id in unaided]
    again += [id for id in sorted(written) if id in known and id not in before.written]
    value = {
        "number": number, "began": lesson.began, "ended": lesson.ended,
        "writes": {id: observation.writes for id, observation in seen.items()},
        "used": used, "written": sorted(id for id in written if id in known), "lookups": lesson.lookups,
        "lookup_tokens": lesson.lookup_tokens, "followed": sorted({*reinforced, *(change.id for change in followed)}),
        **({"root": lesson.root} if lesson.root else {}),
    }  # fmt: skip
    batch = Batch(
        add=_placed(new, now, policies),
        change=changes,
        access=[(accessed, at, number)] if (accessed := [*again, *(change.id for change in followed)]) else [],
        values={
            key: value,
            "sessions:" + lesson.project: {"count": max(number, sessions)},
            **({key_of(lesson.project, lesson.session): None} if opened else {}),
        },
        log=[audited(now, "learnt", lesson.project, session=lesson.session, added=len(new), again=len(again))],
    )
    holds.touch_marks(batch)
    store.write(batch)
    return LearningResult(len(new), len(again), len(used), number)


class Teaching(NamedTuple):
    """The origin of an item: the `sessions` that taught it, oldest first, and the `checkouts` that these worked in, by name.

    An item belongs to all sessions that taught it, so its `session_id`, a scope beyond which nobody sees it, stays empty: a user's sessions
    are told apart by this, and by `episode`, the first of them, which filters can name."""

    sessions: list[str]
    checkouts: list[str]


def teaching_of(store: Store, item: Item) -> Teaching:
    """Return where an item was learnt, as far as that is known."""
    lessons = read_lessons(store, item.project)
    taught = sorted((lesson.number, session) for session, lesson in lessons.items() if item.id in lesson.writes)
    return Teaching([session for _, session in taught], sorted({lessons[session].root for _, session in taught} - {""}))


class Origins:
    """The sessions that items come from, read once for each project."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._projects: dict[str, dict[str, tuple[list[str], float]]] = {}

    def of(self, item: Item) -> tuple[tuple[str, ...], float | None]:
        """Return the sessions that an item is from, and when (seconds) it was last written or asked for, None where that is unknown. A
        session that continues after it has taught records no access, so the end of the last one that wrote the item counts."""
        project = self._projects.get(item.project)
        if project is None:
            project = self._projects[item.project] = self._read(item.project)
        sessions, ended = project.get(item.id, ((), 0.0))
        times = (item.created_at, item.last_accessed, ended)
        if not all(isinstance(at, (int, float)) and 0 <= at < math.inf for at in times):
            return (item.episode, *sessions), None
        if not item.episode or item.episode in sessions:
            return tuple(sessions), max(times)
        return (item.episode, *sessions), max(times)

    def _read(self, project: str) -> dict[str, tuple[list[str], float]]:
        sessions_of: dict[str, tuple[list[str], float]] = {}
        for session, lesson in read_lessons(self._store, project).items():
            for id in lesson.writes:
                sessions, latest = sessions_of.get(id, ([], 0.0))
                sessions.append(session)
                sessions_of[id] = sessions, max(latest, lesson.ended)
        return sessions_of


def _new(id: str, observation: Observation, lesson: Lesson, number: int) -> Item:
    notes = observation.kind == NOTE  # the user's own words; all else the assistant has written
    source = USER if notes else SESSION
    at = min(observation.at or lesson.ended, lesson.ended)
    return Item(
        id, observation.text, lesson.project, observation.kind, PROSE if notes else CODE, source, CONFIDENCE[source],
        episode=lesson.session, created_at=at, last_accessed=at,
        writes=observation.writes, session=number, details=dict(observation.details),
    )  # fmt: skip


def _placed(new: list[Item], now: float, policies: TierPolicies) -> list[Item]:
    """Return new items in the tiers where they begin; the newest of a lesson are among the newest of the project."""
    newest = {item.id for item in sorted(new, key=lambda item: (-item.created_at, item.id))[: policies.hot_newest]}
    for item in new:
        item.score = item.tier_score = valuation.score(item, now)
        item.tier, item.tier_since = transitions.entry(item.score, item.id in newest, policies).tier, item.created_at
    return new


def _followed(store: Store, lesson: Lesson, counted: set[str], at: float) -> list[Change]:
    """Return the changes of items that a session followed, except those that are counted already and those that it made itself."""
    if not lesson.shown:
        return []
    items = {item.id: item for item in store.scan(lesson.project, marked=False, bare=True) if item.id not in counted}
    ids = followed_ids(lesson.shown, (item for item in items.values() if item.episode != lesson.session))
    return [reinforcement(items[id], at) for id in ids]


def _seen_again(item: Item, observation: Observation, counted: int | None, number: int, at: float, reinforced: bool) -> Change:
    """Return the change of an item that a session has written. `counted`: how often it wrote it according to what it taught before, None
    where it taught nothing of it; `reinforced`: whether this session has reinforced it already."""
    change = Change(item.id) if reinforced or counted is not None else reinforcement(item, at)
    change.by["writes"] = observation.writes - (counted or 0)
    if counted is None:
        change.by["sessions"] = 1
        change.to["session"] = max(number, item.session)
    details = {name: value for name, value in {**item.details, **observation.details}.items() if name != GONE}
    if TIMES in details and item.details.get("fix") == details.get("fix"):
        details[TIMES] = times_of(item) + observation.writes - (counted or 0)
    if details != item.details:
        change.to["details"] = details
    if item.waits:  # the user has now said the same, or a session has shown it
        change.to["source"] = ACCEPTED if observation.kind == NOTE else SESSION
    if item.marked_by in (BY_JOB, BY_POLICY):  # it has proved useful after all
        change.to.update(marked_at=None, marked_by="")
    return change
