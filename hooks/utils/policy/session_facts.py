"""The facts that all contexts of a session share. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SessionFacts:
    """The facts, None where not known; times in seconds. A type's first word is what a stored fact must be."""

    advised: float | None = None
    compacted: bool | None = None
    compacted_tokens: int | None = None
    compaction: dict[str, Any] | None = None
    compacts_at: dict[str, Any] | None = None
    echo_tokens: int | None = None
    hinted: float | None = None
    in_place: float | None = None
    index: str | None = None
    kept_out_told: float | None = None
    largest_tokens: int | None = None
    memory: float | None = None
    model: str | None = None
    planned: dict[str, Any] | None = None
    profile: str | None = None
    project: str | None = None
    stands: dict[str, Any] | None = None
    told: str | None = None
    transcript: str | None = None
    window_tokens: int | None = None

    def __init__(self, **facts: object) -> None:
        vars(self).update({name: fact for name, fact in facts.items() if fact is not None})

    def but(self, **facts: object) -> SessionFacts:
        """Return the facts with some changed; None removes one."""
        return SessionFacts(**{**vars(self), **facts})


def is_fact(name: str, value: object) -> bool:
    """Return whether a fact has this name, and may have this value."""
    said = SessionFacts.__annotations__.get(name)
    return said is not None and (value is None or type(value).__name__ == said.partition(" ")[0].partition("[")[0])
