"""The lessons of sessions as the store has them: each session's contribution, checked when it is read.

A damaged value is read as if it had taught nothing: what is not an object has no entries, what is not a number counts 0.
"""

from __future__ import annotations

from typing import NamedTuple

from .stores.protocol import listed, mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .stores.protocol import Store


class StoredLesson(NamedTuple):
    """The contribution of a session. `number`: of the session in its project, from 1 (0: unknown) · `ended`: seconds · `writes`: item id ->
    how often the session wrote it · `followed`: ids of items that it reinforced · `written`: ids of earlier items that it wrote ·
    `has_used`: it used something from memory · `root`: the checkout that it worked in, "" where that is not known."""

    number: int
    ended: float
    writes: Mapping[str, int]
    followed: list[str]
    written: list[str]
    has_used: bool
    root: str

    @classmethod
    def of(cls, value: object) -> StoredLesson:
        """Return the lesson of a stored value."""
        fields = mapping(value)
        return cls(
            whole(fields.get("number")),
            _seconds(fields.get("ended")),
            {id: whole(writes) for id, writes in mapping(fields.get("writes")).items()},
            listed(fields.get("followed")),
            listed(fields.get("written")),
            bool(fields.get("used")),
            str(fields.get("root") or ""),
        )


def lesson_key(project: str, session: str) -> str:
    """Return the key of a session's lesson in the store."""
    return f"lesson:{project}:{session}"


def read_lesson(store: Store, project: str, session: str) -> StoredLesson:
    """Return what a session has contributed; an empty lesson if it has taught nothing."""
    return StoredLesson.of(store.value(lesson_key(project, session)))


def read_lessons(store: Store, project: str) -> dict[str, StoredLesson]:
    """Return each session's contribution to a project, by the session's id."""
    prefix = lesson_key(project, "")
    return {key[len(prefix) :]: StoredLesson.of(value) for key, value in store.values(prefix).items()}


def session_number(store: Store, project: str) -> int:
    """Return how many sessions of a project have taught something."""
    return whole(mapping(store.value("sessions:" + project)).get("count"))


def whole(value: object) -> int:
    """Return a stored value if it is a whole number; 0 for any other."""
    return value if isinstance(value, int) else 0


def _seconds(value: object) -> float:
    try:
        return float(value) if isinstance(value, (int, float)) else 0.0
    except OverflowError:
        return 0.0
