"""The long-term memory of a project as a source of builds, where the user has switched that on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress

from popkit_retention.core.io import home

from .sources import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.memory import Memory


MOST_MEMORIES = 50  # items that are asked for: few of them fit
REST_S = 300.0  # before an unavailable store is asked again: a server that is down may take long to fail


class ProjectMemory:
    """The memory of the repository that a folder is in, as a MemorySource that threads may share: empty where it is off, does not exist
    yet, or its store is unavailable.

    The store is opened for each query, and closed again: most builds make none, and threads do not share a connection. A query does not
    count as a use of an item, since every request makes one.
    """

    def __init__(self, environ: Mapping[str, str], folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._environ = environ
        self._folder = folder
        self._clock = clock
        self._rests_until = float("-inf")

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        """Return the best memories for a request: an item's score counts in full where it matches best, and half where it does not match.
        Items that an agent has added and no user has accepted are left out."""
        from popkit_retention.core.state.memory import project_of
        from popkit_retention.memory import Memory, StoreUnavailable

        if self._clock() < self._rests_until:
            return []
        with suppress(OSError, home.NoHome):
            try:
                if project_of(home.popkit_home(self._environ), self._folder).is_on():
                    with closing(Memory.of(self._environ, self._folder, create=False)) as memory:
                        return _best(memory, request)[: MOST_MEMORIES if most is None else most]
            except StoreUnavailable:
                self._rests_until = self._clock() + REST_S
        return []


def _best(memory: Memory, request: str) -> list[Remembered]:
    from popkit_retention.memory.search import search

    matches = search(memory.store, request, memory.project, MOST_MEMORIES)
    best = max([relevance for _, relevance in matches], default=0.0) or 1.0
    relevances = {item.id: relevance / best for item, relevance in matches}
    items = {item.id: item for item in [*(item for item, _ in matches), *memory.list(most=MOST_MEMORIES)]}
    memories = [
        Remembered(item.id, item.text, item.score * (1 + relevances.get(item.id, 0.0)) / 2)
        for item in items.values()
        if item.text.strip() and not item.waits
    ]
    return sorted(memories, key=lambda memory: (-memory.score, memory.id))
