"""`AsyncMemory`: the words of `Memory`, awaited."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import Any

from ..awaiting import awaited
from .items import NOTE
from .memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .items import Item
    from .stores.protocol import Store


class AsyncMemory:
    """A `Memory` for asyncio: every method waits in a thread, so that the event loop goes on. Tasks may share it. `memory`: the
    `Memory`; `options`: as it takes them."""

    def __init__(self, store: Store, project: str = "", **options: Any) -> None:
        self.memory = Memory(store, project, **options)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return method(self.memory, *args, **kwargs)

    list = awaited(Memory.list)
    search = awaited(Memory.search)
    show = awaited(Memory.show)
    find = awaited(Memory.find)
    why = awaited(Memory.why)
    status = awaited(Memory.status)
    document = awaited(Memory.document)
    audited_document = awaited(Memory.audited_document)
    loss = awaited(Memory.loss)
    reinforce = awaited(Memory.reinforce)
    history = awaited(Memory.history)
    pin = awaited(Memory.pin)
    unpin = awaited(Memory.unpin)
    promote = awaited(Memory.promote)
    demote = awaited(Memory.demote)
    mark_key = awaited(Memory.mark_key)
    waiting = awaited(Memory.waiting)
    accept = awaited(Memory.accept)
    restore = awaited(Memory.restore)
    forget = awaited(Memory.forget)
    undo = awaited(Memory.undo)
    learn = awaited(Memory.learn)
    run = awaited(Memory.run)
    import_lines = awaited(Memory.import_lines)
    close = awaited(Memory.close)

    async def add(self, text: str, kind: str = NOTE, **fields: object) -> Item:
        """Add a new item and return it: see `Memory.add`."""
        return await asyncio.to_thread(self.memory.add, text, kind, **fields)

    async def update(self, id: str, text: str | None = None, **fields: object) -> Item:
        """Change an item and return it: see `Memory.update`."""
        return await asyncio.to_thread(self.memory.update, id, text, **fields)

    async def upsert(self, id: str, text: str, **fields: object) -> Item:
        """Add an item, or update the one that there is: see `Memory.upsert`."""
        return await asyncio.to_thread(self.memory.upsert, id, text, **fields)

    def scoped(self, user_id: str = "", agent_id: str = "", session_id: str = "") -> AsyncMemory:
        """Return this memory for one user, agent or session: see `Memory.scoped`."""
        narrow = copy(self)
        narrow.memory = self.memory.scoped(user_id, agent_id, session_id)
        return narrow

    async def export(self, everything: bool = False) -> tuple[str, ...]:
        """Return JSON lines of the project's items, or of those of all projects."""
        return await asyncio.to_thread(lambda: tuple(self.memory.export(everything)))
