"""How limits and usage stand, as data: what `popkit budget` shows."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .budget import remaining_of
from .database import budgets, usage
from .database.opening import configuration, login_name, open_database, words_of
from .pruning import get_pruning_strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection


def report(environ: Mapping[str, str], session: str = "", user: str = "", now: float | None = None) -> dict[str, Any]:
    """Limits and usage of a session ("": the user's newest) and a user ("": the configured one). DatabaseUnavailable; NoHome."""
    config = configuration(environ)
    now = time.time() if now is None else now
    user = user or config["user"] or login_name(environ)
    with open_database(environ) as database, database.reading() as connection:
        session = session or _newest_session(connection, user)
        limits = budgets.limits_of(config)
        standings = budgets.standings(connection, limits, session, user, now)
        used = budgets.used_percent(standings)
        return {
            "database": database.words,
            "user": user,
            "session": session,
            "month": budgets.month_of(now)[:7],
            "limits": [shown(standing) for standing in standings],
            **_percent(used),
            "usage": {
                "session": usage.of_session(connection, session)._asdict() if session else None,
                "month": usage.of_user(connection, user, budgets.month_of(now))._asdict(),
            },
        }


def look(environ: Mapping[str, str]) -> dict[str, Any]:
    """Whether the database can be used, without making or changing anything: what a person calls it. DatabaseUnavailable; NoHome."""
    with suppress(FileNotFoundError):  # nobody has written anything yet
        open_database(environ, create=False).close()
    return {"database": words_of(environ)}


def shown(standing: budgets.Standing) -> dict[str, Any]:
    """One limit, with what is used of it, what remains, and the strategy that it would have alone."""
    remaining = max(0, standing.limit - standing.used)
    return {**standing._asdict(), "remaining": remaining, **_percent(standing.used_percent)}


def _percent(used: float | None) -> dict[str, Any]:
    remaining = remaining_of(used)
    return {
        "used_percent": None if used is None else round(used, 2),
        "remaining_percent": round(remaining, 2),
        "range": get_pruning_strategy(remaining).budget_range,
    }


def _newest_session(connection: Connection, user: str) -> str:
    return next((found.session_id for found in usage.by_session(connection, user=user, most=1)), "")
