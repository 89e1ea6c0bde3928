"""The tables as they are now, for SQLite and PostgreSQL alike; migrations/ leads from any earlier version to them.

Times are seconds since 1970 for whoever asks, TIMESTAMPTZ in PostgreSQL, UTC as text in SQLite.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Column, DateTime, Index, Integer, MetaData, Numeric, Table, Text, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

Document = JSON().with_variant(JSONB(), "postgresql")
Amount = Numeric(asdecimal=False)


class Moment(TypeDecorator[float]):
    """A time in seconds since 1970."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: float | None, _dialect: Dialect) -> dt.datetime | None:
        return None if value is None else dt.datetime.fromtimestamp(value, dt.timezone.utc)

    def process_result_value(self, value: Any, _dialect: Dialect) -> float | None:
        if value is None:
            return None
        return (value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)).timestamp()


metadata = MetaData()

snapshots = Table(
    "context_snapshots",
    metadata,
    # The specification's columns.
    Column("id", Uuid(as_uuid=False), primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("tier_breakdown", Document, nullable=False),
    Column("total_tokens", Integer, nullable=False),
    Column("budget_percent", Amount, nullable=False),
    Column("pruning_strategy", Document, nullable=False),
    Column("created_at", Moment, nullable=False, server_default=func.now()),
    # Ours.
    Column("budget_remaining_percent", Amount, nullable=False),
    Column("full_tokens", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("counted", Text, nullable=False),
)
Index("idx_context_snapshots_session", snapshots.c.session_id)
Index("idx_context_snapshots_user", snapshots.c.user_id)
Index("idx_context_snapshots_created", snapshots.c.created_at.desc())
Index("idx_context_snapshots_newest", snapshots.c.session_id, snapshots.c.created_at.desc())

usage = Table(
    "context_usage",
    metadata,
    Column("source", Text, primary_key=True),
    Column("request_id", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("day", Text, nullable=False),  # local to who has booked it
    Column("input_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_5m_tokens", BigInteger, nullable=False),
    Column("cache_write_1h_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("usd", Amount),
)
Index("idx_context_usage_session", usage.c.session_id)
Index("idx_context_usage_user", usage.c.user_id, usage.c.day)
Index("idx_context_usage_day", usage.c.day)
