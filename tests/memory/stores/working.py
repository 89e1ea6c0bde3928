"""What a process does in a store that others use too."""

from __future__ import annotations

import os

from popkit_retention.conformance.checking import example
from popkit_retention.memory.stores.protocol import Change
from popkit_retention.memory.stores.servers.neo4j import Neo4jStore
from popkit_retention.memory.stores.sqlite import SqliteStore


def work(path: str, worker: int, count: int) -> None:
    """Read, change, add and log so often; a number is printed once each round is done."""
    store = SqliteStore(path, busy_s=600)
    for number in range(count):
        store.access(["m00001", "m00002"], 1e9 + number, number)
        store.change([Change("m00003", by={"writes": 1})])
        store.add([example(100_000 * worker + 1000 + number)])
        store.log([{"action": "work", "id": str(worker)}])
        print(number, flush=True)
    store.close()


def access(url: str) -> None:
    """Read two items of a server again and again, in either order."""
    store = Neo4jStore(url, os.environ, try_s=600)
    for number in range(25):
        store.access(["m00001", "m00002"][:: 1 if number % 2 else -1], 1.79e9 + number)
    store.close()
