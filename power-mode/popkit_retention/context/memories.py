"""Memories of a project as a build asks for them, from its long-term memory, where the user has switched that on."""

from __future__ import annotations

from contextlib import contextmanager

from .sources import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from popkit_retention.memory import Memory

# So many at most: what enters has little room.
MOST = 50


class ProjectMemory:
    """The memory of one project, as a MemorySource. What is asked here does not count as a use of an item: every request asks."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        """The best for a request: what an item is worth counts in full where it answers best, and half where it does not."""
        from popkit_retention.memory import StoreUnavailable
        from popkit_retention.memory.search import search

        try:
            found = search(self._memory.store, request, self._memory.project, MOST)
            others = self._memory.list(most=MOST)
        except StoreUnavailable:
            return []
        best = max([relevance for _, relevance in found], default=0.0) or 1.0
        answers = {item.id: relevance / best for item, relevance in found}
        items = {item.id: item for item in [*(item for item, _ in found), *others]}
        worth = [
            Remembered(item.id, item.text, item.score * (1 + answers.get(item.id, 0.0)) / 2) for item in items.values() if item.text.strip()
        ]
        return sorted(worth, key=lambda each: (-each.score, each.id))[: MOST if most is None else most]


@contextmanager
def memory_of(environ: Mapping[str, str], folder: str) -> Iterator[ProjectMemory | None]:
    """The memory of the repository that a folder lies in; None where it is off, where there is none yet, and where its store cannot be
    used. It is opened for one build: threads do not share a connection."""
    from hooks.utils.edges import home
    from hooks.utils.state.memory import project_of
    from popkit_retention.memory import Memory, StoreUnavailable

    try:
        on = project_of(home.popkit_home(environ), folder).is_on()
        memory = Memory.of(environ, folder, create=False) if on else None
    except (OSError, StoreUnavailable, home.NoHome):
        memory = None
    try:
        yield ProjectMemory(memory) if memory is not None else None
    finally:
        if memory is not None:
            memory.close()
