"""Snapshots and usage to write, and the short ways of writing them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from popkit_retention.usage.records import CLIENT, RequestUsage, Snapshot, Sum, Tokens
from popkit_retention.usage.usage_store import UsageStore

NOW = 1_795_400_000.0
BREAKDOWN = {name: {"tokens": 10, "items": 1} for name in ("tier1", "tier2", "tier3", "tier4")}
TOKENS = Tokens(1, 2, 3, 4, 5)
STRATEGY = {"budgetRange": "60-80%", "tier1Messages": 1, "tier2Items": "all", "tier3Mode": "summary", "tier4Messages": 10}


def snapshot(session: str = "s", at: float = NOW, user: str = "alice", tokens: int = 40, used: float = 25.0) -> Snapshot:
    breakdown = {**BREAKDOWN, "total": tokens}
    return Snapshot(
        str(uuid.uuid4()), session, user, breakdown, tokens, used, STRATEGY, at, 100 - used, 2 * tokens, "claude-opus-5", "/shop", "main"
    )


def used(
    id: str,
    session: str = "s",
    at: float = NOW,
    source: str = CLIENT,
    user: str = "alice",
    tokens: Tokens = TOKENS,
    usd: float | None = 0.25,
) -> RequestUsage:
    return RequestUsage(source, id, session, user, "claude-opus-5", at, tokens, usd, "/shop")


def put(store: UsageStore, *snapshots: Snapshot) -> None:
    store.write(snapshots=snapshots)


def book(store: UsageStore, *usage: RequestUsage) -> None:
    store.write(usage)


def total(store: UsageStore, session: str = "s") -> Sum:
    return store.of_session(session)


def rows(store: UsageStore) -> list[int]:
    """How many snapshots and requests a store holds."""
    with store.reading() as db:
        return [db.ask(f"SELECT count(*) FROM {table}")[0][0] for table in ("context_snapshots", "context_usage")]  # noqa: S608  our names


def cut_off(test: Callable[..., None]) -> Callable[..., None]:
    """A test of connections that a server cuts: the driver leaves their sockets to Python's collector, which warns of them."""
    ignoring = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
    return pytest.mark.usefixtures("collected")(ignoring(test))
