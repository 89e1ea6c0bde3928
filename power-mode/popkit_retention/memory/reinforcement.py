"""Reinforce items that were of use, at most once in a session."""

from __future__ import annotations

from .items import ACCESSES_KEPT
from .stored_lessons import read_lesson
from .stores.protocol import Batch, Change, listed
from .transitions import HOUR_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .items import Item
    from .stores.protocol import Store

APART_S = 4 * HOUR_S  # where no session is named, uses this close together count as one session


def reinforcement(item: Item, at: float) -> Change:
    """Return the change of an item that was of use at a time (seconds)."""
    return Change(item.id, {"reinforced": sorted([*item.reinforced, at])[-ACCESSES_KEPT:]}, {"reinforcements": 1})


def reinforce(store: Store, items: Sequence[Item], session: str, at: float) -> None:
    """Reinforce items that were of use in a session ("": in no known one), except those that it has made or reinforced already."""
    for item in items:
        known = opened_in(store, item.project, session) if session else set()
        lesson = read_lesson(store, item.project, session) if session else None
        counted = {item.episode, *known, *(lesson.writes if lesson else ()), *(lesson.followed if lesson else ())}
        if session in counted or item.id in counted if session else at - max(item.reinforced, default=-APART_S) < APART_S:
            continue
        values: dict[str, object] = {key_of(item.project, session): sorted({*known, item.id})} if session else {}
        store.write(Batch(change=[reinforcement(item, at)], values=values))


def opened_in(store: Store, project: str, session: str) -> set[str]:
    """Return the ids of the items that were reinforced during a session, before it was learnt."""
    return set(listed(store.value(key_of(project, session))))


def key_of(project: str, session: str) -> str:
    """Return the key of the items that were reinforced during a session that is not learnt yet."""
    return f"opened:{project}:{session}"
