"""Snapshots of assembled contexts, and usage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

_DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
_MOMENT = sa.DateTime(timezone=True)


def _needed(name: str, kind: sa.types.TypeEngine) -> sa.Column:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    """Makes both tables."""
    own = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "context_snapshots",
        sa.Column("id", sa.Uuid(), primary_key=True, server_default=sa.text("gen_random_uuid()") if own else None),
        _needed("session_id", sa.Text()),
        _needed("user_id", sa.Text()),
        _needed("tier_breakdown", _DOCUMENT),
        _needed("total_tokens", sa.Integer()),
        _needed("budget_percent", sa.Numeric()),
        _needed("pruning_strategy", _DOCUMENT),
        sa.Column("created_at", _MOMENT, nullable=False, server_default=sa.func.now()),
        _needed("budget_remaining_percent", sa.Numeric()),
        _needed("full_tokens", sa.Integer()),
        *[_needed(name, sa.Text()) for name in ("model", "project", "agent", "counted")],
    )
    op.create_index("idx_context_snapshots_session", "context_snapshots", ["session_id"])
    op.create_index("idx_context_snapshots_user", "context_snapshots", ["user_id"])
    op.create_index("idx_context_snapshots_created", "context_snapshots", [sa.text("created_at DESC")])
    op.create_index("idx_context_snapshots_newest", "context_snapshots", ["session_id", sa.text("created_at DESC")])
    tokens = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens")
    op.create_table(
        "context_usage",
        *[sa.Column(name, sa.Text(), primary_key=True) for name in ("source", "request_id")],
        *[_needed(name, sa.Text()) for name in ("session_id", "user_id", "project", "model")],
        _needed("at", _MOMENT),
        _needed("day", sa.Text()),
        *[_needed(name, sa.BigInteger()) for name in tokens],
        sa.Column("usd", sa.Numeric()),
    )
    op.create_index("idx_context_usage_session", "context_usage", ["session_id"])
    op.create_index("idx_context_usage_user", "context_usage", ["user_id", "day"])
    op.create_index("idx_context_usage_day", "context_usage", ["day"])
