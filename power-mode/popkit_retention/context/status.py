"""How a session's context stands: its newest snapshot."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any

from ..usage.opening import open_store
from .models import ContextStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..usage.records import Snapshot
    from ..usage.store import UsageStore


class NoSnapshot(LookupError):
    """No context of that session was assembled, or its snapshots have gone; the message says which session."""


def get_context_status(session_id: str, environ: Mapping[str, str] = os.environ) -> ContextStatus:
    """How the context of a session stood when it was last assembled. NoSnapshot; DatabaseUnavailable; ValueError without a session."""
    if not session_id:
        raise ValueError("name a session")
    try:
        with open_store(environ, create=False) as store:
            return status_of(store, session_id)
    except FileNotFoundError:
        raise _none(session_id) from None


def status_of(store: UsageStore, session_id: str) -> ContextStatus:
    """The same in a store that is open."""
    found = next(iter(store.snapshots(session_id, 1)), None)
    if found is None:
        raise _none(session_id)
    return ContextStatus.model_validate(
        {
            "sessionId": found.session_id,
            "currentContext": context_of(found),
            "tierBreakdown": found.tier_breakdown,
            "budgetPercent": found.budget_percent,
            "budgetRemainingPercent": found.budget_remaining_percent,
            "lastUpdated": stamp_of(found.created_at),
        }
    )


def context_of(found: Snapshot) -> dict[str, Any]:
    """What a snapshot tells of a context, in the specification's words: all but its contents, which nobody keeps."""
    return {
        "totalTokens": found.total_tokens,
        "fullTokens": found.full_tokens,
        "tierBreakdown": found.tier_breakdown,
        "pruningStrategy": found.pruning_strategy,
        "budgetPercent": found.budget_percent,
        "budgetRemainingPercent": found.budget_remaining_percent,
        "counted": found.counted,
        "agent": found.agent,
        "model": found.model,
        "project": found.project,
    }


def stamp_of(at: float) -> str:
    """A time (seconds) as ISO 8601, UTC."""
    return dt.datetime.fromtimestamp(at, dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _none(session_id: str) -> NoSnapshot:
    return NoSnapshot(f"no context of session {session_id!r:.100} was assembled here, or its snapshots have gone")
