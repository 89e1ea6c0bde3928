"""Snapshots: how a context was assembled, without any of its contents. Written in batches, and removed once they are old."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, literal, select

from hooks.utils.policy.masking import mask

from .tables import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Insert, Table
    from sqlalchemy.engine import Connection

    from ..models import ContextResult

MOST_OF_A_SESSION = 500  # snapshots of one session that are kept, the newest
DAY_S = 86_400.0
_LONGEST = 400  # characters of a name from outside
_LARGEST = 2**31 - 1  # that a column of whole numbers holds


class Snapshot(NamedTuple):
    """How one context was assembled. `tier_breakdown`, `pruning_strategy`: as JSON, in the specification's words; `created_at`: seconds
    since 1970; `counted`: whether its tokens are exact or an estimate."""

    id: str
    session_id: str
    user_id: str
    tier_breakdown: dict[str, Any]
    total_tokens: int
    budget_percent: float  # used: what people see
    pruning_strategy: dict[str, Any]
    created_at: float
    budget_remaining_percent: float
    full_tokens: int
    model: str = ""
    project: str = ""
    agent: str = ""
    counted: str = "estimate"


def snapshot_of(result: ContextResult, session: str, user: str, at: float, model: str, project: str, agent: str) -> Snapshot:
    """What is kept of a build. `user`: who it is booked to; `at`: when it was (seconds)."""
    return Snapshot(
        str(uuid.uuid4()),
        name_of(session),
        name_of(user),
        result.tier_breakdown.model_dump(by_alias=True),
        min(result.total_tokens, _LARGEST),
        result.budget_used_percent,
        result.pruning_strategy.model_dump(by_alias=True),
        at,
        result.budget_remaining_percent,
        min(result.full_tokens, _LARGEST),
        name_of(model),
        name_of(project),
        name_of(agent),
        result.counted,
    )


def name_of(name: str) -> str:
    """A name from outside as it is stored: one that a database can hold, secrets masked, not too long."""
    return mask(name[:_LONGEST].encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd"))


def put(connection: Connection, found: Sequence[Snapshot]) -> None:
    """Writes snapshots; one that is written already stays as it is, for the answer to a COMMIT may have been lost."""
    if found:
        new = insert_into(snapshots, connection).on_conflict_do_nothing(index_elements=["id"])
        connection.execute(in_batches(new, connection), [snapshot._asdict() for snapshot in found])


def insert_into(table: Table, connection: Connection) -> Any:
    """An INSERT in the connection's dialect, which can say what happens to a row that is there already."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql as dialect
    else:
        from sqlalchemy.dialects import sqlite as dialect  # type: ignore[no-redef]
    return dialect.insert(table)


def in_batches(statement: Insert, connection: Connection) -> Insert:
    """The statement so that many rows go to a server in few messages, which SQLAlchemy does where something is to come back."""
    return statement.returning(literal(1)) if connection.dialect.name == "postgresql" else statement


def newest(connection: Connection, session_id: str) -> Snapshot | None:
    """The newest snapshot of a session; None for none."""
    return next(iter(of_session(connection, session_id, 1)), None)


def of_session(connection: Connection, session_id: str, most: int) -> list[Snapshot]:
    """The newest snapshots of a session, newest first, at most so many."""
    columns = [snapshots.c[name] for name in Snapshot._fields]
    asked = select(*columns).where(snapshots.c.session_id == name_of(session_id)).order_by(snapshots.c.created_at.desc()).limit(most)
    return [Snapshot(*row) for row in connection.execute(asked)]


def sweep(connection: Connection, now: float, days: int, sessions: Iterable[str], most: int) -> int:
    """Removes snapshots that are older than so many days, and of these sessions what is beyond MOST_OF_A_SESSION, at most so many of each;
    how many. `now`: seconds."""
    old = select(snapshots.c.id).where(snapshots.c.created_at < now - days * DAY_S).order_by(snapshots.c.created_at).limit(most)
    gone = connection.execute(delete(snapshots).where(snapshots.c.id.in_(old))).rowcount
    for session in sessions:
        of_it = snapshots.c.session_id == session
        if (connection.execute(select(func.count()).where(of_it)).scalar() or 0) <= MOST_OF_A_SESSION:
            continue
        beyond = select(snapshots.c.id).where(of_it).order_by(snapshots.c.created_at.desc()).offset(MOST_OF_A_SESSION).limit(most)
        gone += connection.execute(delete(snapshots).where(snapshots.c.id.in_(beyond))).rowcount
    return gone
