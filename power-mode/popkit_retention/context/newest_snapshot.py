"""The newest snapshot of an assembled context, as a ContextStatus."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping

from popkit_retention.core.errors import PopkitError

from ..usage.configured_database import open_store
from ..usage.records import Snapshot
from ..usage.usage_store import UsageStore
from .build_types import ContextStatus


class NoSnapshot(PopkitError, LookupError):
    """No context of that session was assembled, or its snapshots were deleted; the message names the session."""


def get_context_status(session_id: str, environ: Mapping[str, str] | None = None) -> ContextStatus:
    """Return the newest snapshot of a session's context. NoSnapshot; DatabaseUnavailable; ValueError without a session."""
    environ = os.environ if environ is None else environ
    if not session_id:
        raise ValueError("name a session")
    try:
        with open_store(environ, create=False) as store:
            return status_of(store, session_id)
    except FileNotFoundError:
        raise _none(session_id) from None


def status_of(store: UsageStore, session_id: str) -> ContextStatus:
    """Return the newest snapshot of a session's context from an open store. NoSnapshot."""
    snapshot = next(iter(store.snapshots(session_id, 1)), None)
    if snapshot is None:
        raise _none(session_id)
    return ContextStatus.model_validate(
        {
            "sessionId": snapshot.session_id,
            "currentContext": context_of(snapshot),
            "tierBreakdown": snapshot.tier_breakdown,
            "budgetPercent": snapshot.budget_percent,
            "budgetRemainingPercent": snapshot.budget_remaining_percent,
            "lastUpdated": stamp_of(snapshot.created_at),
        }
    )


def context_of(snapshot: Snapshot) -> dict[str, object]:
    """Return a snapshot's context in the specification's terms, without its contents, which are not stored."""
    return {
        "totalTokens": snapshot.total_tokens,
        "fullTokens": snapshot.full_tokens,
        "tierBreakdown": snapshot.tier_breakdown,
        "pruningStrategy": snapshot.pruning_strategy,
        "budgetPercent": snapshot.budget_percent,
        "budgetRemainingPercent": snapshot.budget_remaining_percent,
        "counted": snapshot.counted,
        "agent": snapshot.agent,
        "model": snapshot.model,
        "project": snapshot.project,
    }


def stamp_of(at: float) -> str:
    """Return a time (seconds) as ISO 8601, UTC."""
    return dt.datetime.fromtimestamp(at, dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _none(session_id: str) -> NoSnapshot:
    return NoSnapshot(f"no context of session {session_id!r:.100} was assembled here, or its snapshots were deleted")
