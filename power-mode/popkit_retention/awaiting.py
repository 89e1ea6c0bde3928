"""Methods of a library as asyncio awaits them: each call works in a thread of the event loop's pool."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Protocol, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Concatenate, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")
    R = TypeVar("R")


class AsyncCaller(Protocol):
    """A class that has awaited methods."""

    def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a method of the library, in the thread that waits for it."""


def awaited(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return a method with the words of the library's own, to be awaited. Its class calls the library's (`AsyncCaller`)."""

    @functools.wraps(method)
    async def call(self: AsyncCaller, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self._call, method, *args, **kwargs)

    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]", call)
