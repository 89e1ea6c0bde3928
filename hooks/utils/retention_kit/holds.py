"""Decide which items a hold keeps at a given time. Pure."""

from __future__ import annotations

from ..rows import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

ITEM, SESSION, PROJECT = SCOPES = ("item", "session", "project")
FIELDS = ("id", "scope", "target", "who", "why", "created_at", "until", "released_at")


class Hold(Row):
    """Keeps what `target` names, by `scope`, also what comes to a held session or project later: from `created_at` until `until` (seconds;
    None: until it is released). `who` wanted it, and `why`."""

    __slots__ = FIELDS

    def __init__(self, id: str, scope: str, target: str, who: str, why: str, created_at: float, until: float | None = None,
                 released_at: float | None = None):  # fmt: skip
        self.id = id
        self.scope = scope
        self.target = target
        self.who = who
        self.why = why
        self.created_at = created_at
        self.until = until
        self.released_at = released_at

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Hold:
        """Return the hold of a JSON object, as `to_json` made it; what it lacks is None."""
        values: list[Any] = [value.get(name) for name in FIELDS]
        return cls(*values)

    def in_force(self, now: float) -> bool:
        """Return whether it holds at a time (seconds). One whose end cannot be read does."""
        return self.released_at is None and not (isinstance(self.until, (int, float)) and now >= self.until)

    def released(self, at: float) -> Hold:
        """Return the same hold, ended at a time (seconds)."""
        return Hold(**{**self.to_json(), "released_at": at})

    def names_something(self) -> bool:
        """Return whether it has a known scope and a target."""
        return self.scope in SCOPES and bool(self.target)

    def names(self, id: str, sessions: Collection[str] = (), project: str | None = None) -> bool:
        """Return whether it is about a thing of this id, these sessions and this project. One of an unknown scope is about an id."""
        if self.scope == SESSION:
            return self.target in sessions
        return self.target == (project if self.scope == PROJECT else id)

    def problem(self) -> str:
        """Return what is wrong with it, in a sentence; "" where nothing is."""
        if not self.names_something():
            return f"hold {self.id} names nothing: {self.scope!r} {self.target!r}"
        if not all(isinstance(at, (int, float)) for at in (self.created_at, self.until or 0.0, self.released_at or 0.0)):
            return f"hold {self.id} has an invalid time"
        if self.until is not None and self.until <= self.created_at:
            return f"hold {self.id} ends before it begins"
        return ""


class ActiveHolds:
    """The holds that are in force at a time (seconds): the target of each -> the hold, by scope."""

    __slots__ = ("items", "projects", "sessions")

    def __init__(self, holds: Iterable[Hold], now: float):
        self.items: dict[str, Hold] = {}
        self.sessions: dict[str, Hold] = {}
        self.projects: dict[str, Hold] = {}
        by_scope = {SESSION: self.sessions, PROJECT: self.projects}
        for hold in holds:
            if hold.in_force(now):
                by_scope.get(hold.scope, self.items)[str(hold.target)] = hold

    def __bool__(self) -> bool:
        return bool(self.items or self.sessions or self.projects)

    def keeping(self, id: str, sessions: Iterable[str] = (), project: str | None = None) -> Hold | None:
        """Return a hold that keeps a thing of this id, these sessions and this project; None where none does."""
        by_whole = self.items.get(id) or (None if project is None else self.projects.get(project))
        return by_whole or next((self.sessions[session] for session in sessions if session in self.sessions), None)


def find_in_force(holds: Iterable[Hold], id: str, now: float) -> Hold | None:
    """Return the hold of this id that is in force at a time (seconds); None where there is none."""
    return next((hold for hold in holds if hold.id == id and hold.in_force(now)), None)
