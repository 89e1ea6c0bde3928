"""The vocabulary of contracts of stores: example items, assertions about answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from popkit_retention.core.errors import PopkitError

from ..memory.items import DIMENSIONS, Item
from ..memory.stores.protocol import DuplicateId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..memory.stores.protocol import Store
    from ..memory.vectors.protocol import VectorStore

    # A fresh store, and a function that returns one more over the same contents.
    Contract = Callable[[Store, Callable[[], Store]], None]
    VectorContract = Callable[[VectorStore, Callable[[], VectorStore]], None]

NOW = 1_790_000_000.123456


class NotConforming(PopkitError, AssertionError):
    """A store breaks a contract; the message says which, and how."""


def example(number: int, **fields: object) -> Item:
    """Return an item that differs from all others."""
    values: dict = {"id": f"m{number:05d}", "text": f"item{number} zebra", "created_at": NOW, "last_accessed": NOW, "tier_since": NOW}
    return Item(**{**values, **fields})


def full(id: str = "full") -> Item:
    """Return an item none of whose fields has its default."""
    return Item(
        id=id,
        text="Run `make check` before pushing\nto origin/main",
        project="github.com/a/b",
        kind="command",
        profile="code",
        source="agent",
        confidence=0.123456789,
        episode="session-1",
        place=7,
        speaker="Ana",
        created_at=NOW - 9.5,
        writes=3,
        sessions=2,
        access_count=40,
        last_accessed=NOW - 0.25,
        accesses=[NOW - 3.75, NOW - 0.25],
        reinforcements=4,
        reinforced=[NOW - 2.5, NOW - 0.5],
        session=11,
        tier="COLD",
        previous_tier="HOT",
        tier_since=NOW - 1.125,
        tier_score=0.375,
        level="summary",
        uniqueness=0.25,
        score=1 / 3,
        retention=0.7,
        held=True,
        was_held=True,
        key=True,
        marked_at=NOW,
        marked_by="user",
        embedding=[1 / (3 + n) for n in range(DIMENSIONS)],
        details={"fix": ["é", None, {"a": 1.5}]},
        user_id="ana@example.org",
        agent_id="support",
        session_id="2026-11-28/1",
        metadata={"lang": "en", "tags": ["é", None], "deep": {"a": [1.5]}},
        expires_at=NOW + 86_400.25,
        by_hand=True,
    )


def expect(actual: object, expected: object, what: str) -> None:
    """Raise NotConforming where a value is not as expected."""
    if actual != expected:
        raise NotConforming(f"{what}: {actual!r:.300} is not {expected!r:.300}")


def refused(error: type[Exception] | tuple[type[Exception], ...], act: Callable[[], object], what: str) -> None:
    """Raise NotConforming where an act does not raise this error."""
    try:
        act()
    except error:
        return
    raise NotConforming(f"{what} is not refused")


def ids(items: list[Item] | Iterator[Item]) -> list[str]:
    """Return the ids of items."""
    return [item.id for item in items]


def only(store: Store, id: str) -> Item:
    """Return the item of this id. Raise NotConforming where there is none."""
    items = store.get([id])
    expect(ids(items), [id], "get")
    return items[0]


def at_once(store: Store, again: Callable[[], Store], act: Callable[[Store, int], object], workers: int = 4) -> list[object]:
    """Return the results of several threads that do something at the same time, each with a connection of its own."""

    def work(number: int) -> object:
        mine = again()
        try:
            return act(mine, number)
        except DuplicateId:
            return DuplicateId
        finally:
            if mine is not store:
                mine.close()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(workers)))
