"""Memories of a project as a build asks for them, from its long-term memory, where the user has switched that on."""

from __future__ import annotations

import time
from contextlib import closing, suppress

from .sources import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from popkit_retention.memory import Memory

# So many at most: what enters has little room.
MOST = 50
REST_S = 300.0  # for so long a store that could not be used is left alone: a server that is away may take long to say so


class ProjectMemory:
    """The memory of the repository that a folder lies in, as a MemorySource: nothing where it is off, where there is none yet, and where
    its store cannot be used. Threads may share it.

    The store is opened when it is asked, and closed again: most builds ask nothing, and threads do not share a connection. What is asked
    here does not count as a use of an item: every request asks.
    """

    def __init__(self, environ: Mapping[str, str], folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._environ = environ
        self._folder = folder
        self._clock = clock
        self._rests_until = float("-inf")

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        """The best for a request: what an item is worth counts in full where it answers best, and half where it does not. What an agent has
        added and nobody has accepted is not among them."""
        from hooks.utils.edges import home
        from hooks.utils.state.memory import project_of
        from popkit_retention.memory import Memory, StoreUnavailable

        if self._clock() < self._rests_until:
            return []
        with suppress(OSError, home.NoHome):
            try:
                if project_of(home.popkit_home(self._environ), self._folder).is_on():
                    with closing(Memory.of(self._environ, self._folder, create=False)) as memory:
                        return _best(memory, request)[: MOST if most is None else most]
            except StoreUnavailable:
                self._rests_until = self._clock() + REST_S
        return []


def _best(memory: Memory, request: str) -> list[Remembered]:
    from popkit_retention.memory.search import search

    found = search(memory.store, request, memory.project, MOST)
    best = max([relevance for _, relevance in found], default=0.0) or 1.0
    answers = {item.id: relevance / best for item, relevance in found}
    items = {item.id: item for item in [*(item for item, _ in found), *memory.list(most=MOST)]}
    worth = [
        Remembered(item.id, item.text, item.score * (1 + answers.get(item.id, 0.0)) / 2)
        for item in items.values()
        if item.text.strip() and not item.waits
    ]
    return sorted(worth, key=lambda each: (-each.score, each.id))
