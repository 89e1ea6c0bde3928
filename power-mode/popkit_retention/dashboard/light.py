"""The record of what a row of the list shows of a session that was not read."""

from __future__ import annotations

from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.usage import Usage


class Light(NamedTuple):
    """The facts of a context that are cheap to read: the stamp of its session, its newest request, what its session shares, what was stored
    of it."""

    stamp: str
    newest: Usage | None
    facts: dict[str, Any]
    stored: dict[str, Any]
