"""`AsyncArchive`: the words of `Archive`, awaited."""

from __future__ import annotations

import asyncio
from typing import Any

from ..awaiting import awaited
from .archive import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable


class AsyncArchive:
    """An `Archive` for asyncio: every method waits in a thread, so that the event loop goes on, and tasks may share it. It takes what
    `Archive` takes, and opens the file where it is made: errors are raised there."""

    def __init__(self, path: str | os.PathLike[str] | None = None, create: bool = True) -> None:
        self.archive = Archive(path, create)

    async def __aenter__(self) -> AsyncArchive:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return method(self.archive, *args, **kwargs)

    add = awaited(Archive.add)
    list = awaited(Archive.list)
    search = awaited(Archive.search)
    find = awaited(Archive.find)
    read = awaited(Archive.read)
    blocks = awaited(Archive.blocks)
    stats = awaited(Archive.stats)
    verify = awaited(Archive.verify)
    hold = awaited(Archive.hold)
    release = awaited(Archive.release)
    holds = awaited(Archive.holds)
    close = awaited(Archive.close)

    async def export(self, *, session_id: str | None = None, project: str | None = None) -> AsyncIterator[str]:
        """Yield each record as a line of JSON: see `Archive.export`."""
        lines = self.archive.export(session_id=session_id, project=project)
        while (line := await asyncio.to_thread(next, lines, None)) is not None:
            yield line
