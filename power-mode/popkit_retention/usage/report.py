"""The report of limits and usage that `popkit budget` and the page show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooks.utils.io.system import now as time_of_day

from . import budgets
from .database import configuration, login_name, open_store
from .records import month_of, range_of, remaining_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def report(environ: Mapping[str, str], session: str = "", user: str = "", now: float | None = None) -> dict[str, Any]:
    """Return limits and usage of a session ("": the user's newest) and a user ("": the configured one); `now`: seconds since 1970.
    DatabaseUnavailable; NoHome."""
    config = configuration(environ)
    now = time_of_day(environ) if now is None else now
    user = user or config["user"] or login_name(environ)
    with open_store(environ) as store:
        session = session or next((each.session_id for each in store.by_session(user=user, most=1)), "")
        standings = budgets.standings(store, budgets.limits_of(config), session, user, now)
        return {
            "database": store.words,
            "user": user,
            "session": session,
            "month": month_of(now)[:7],
            "limits": [shown(standing) for standing in standings],
            "on_exceeded": config["on_exceeded"],
            **_percent(budgets.used_percent(standings)),
            "usage": {
                "session": store.of_session(session)._asdict() if session else None,
                "month": store.of_user(user, month_of(now))._asdict(),
            },
        }


def shown(standing: budgets.Standing) -> dict[str, Any]:
    """Return one limit with what is used, what remains, and the strategy that it alone would imply."""
    remaining = max(0, standing.limit - standing.used)
    return {**standing._asdict(), "remaining": remaining, **_percent(standing.used_percent)}


def _percent(used: float | None) -> dict[str, Any]:
    remaining = remaining_of(used)
    return {
        "used_percent": None if used is None else round(used, 2),
        "remaining_percent": round(remaining, 2),
        "range": range_of(remaining),
    }
