"""What an answer tells of usage is read on its way to the caller, and before the first event of a stream another model may take over.

A stream stays the object that the package made: only the iterator in it is another one.
"""

from __future__ import annotations

import inspect
import weakref

from .failing import may_pass_elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from typing import Any

    from .call import Call

    Again = Callable[[Exception], Any]
    AsyncAgain = Callable[[Exception], Awaitable[Any]]

# The attribute of both packages' streams that their own `__next__` and `__iter__` read.
_EVENTS = "_iterator"


def watch(answer: Any, call: Call, again: Again | None) -> None:
    """Tells the call what its answer used: at once, or at the end of a stream. `again`: the answer of the fallback model, for a failure
    before the first event; None where there is none."""
    told = _parsed(answer, call)
    if hasattr(told, _EVENTS):
        # By a weak reference: a stream that the caller drops is closed at once, which a cycle would leave to the garbage collector.
        setattr(told, _EVENTS, _events(getattr(told, _EVENTS), weakref.ref(told), call, again))
    else:
        call.answered(call.read(told, None))


async def watch_async(answer: Any, call: Call, again: AsyncAgain | None) -> None:
    """As `watch`, for an asynchronous client."""
    told = await _awaited(_parsed(answer, call))
    if hasattr(told, _EVENTS):
        setattr(told, _EVENTS, _async_events(getattr(told, _EVENTS), weakref.ref(told), call, again))
    else:
        call.answered(call.read(told, None))


def _parsed(answer: Any, call: Call) -> Any:
    """The answer in a raw response: the package makes it once, and gives the caller the same."""
    return answer.parse() if call.raw else answer


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _events(events: Iterator[Any], stream: weakref.ref[Any], call: Call, again: Again | None) -> Iterator[Any]:
    used, begun = None, False
    try:
        try:
            for event in events:
                begun, used = True, call.read(event, used)
                yield event
        except Exception as error:
            if begun or again is None or not may_pass_elsewhere(error):
                raise
            for event in _taken_over(stream(), _parsed(again(error), call)):
                used = call.read(event, used)
                yield event
    finally:
        call.answered(used)


async def _async_events(events: AsyncIterator[Any], stream: weakref.ref[Any], call: Call, again: AsyncAgain | None) -> AsyncIterator[Any]:
    used, begun = None, False
    try:
        try:
            async for event in events:
                begun, used = True, call.read(event, used)
                yield event
        except Exception as error:
            if begun or again is None or not may_pass_elsewhere(error):
                raise
            async for event in _taken_over(stream(), await _awaited(_parsed(await again(error), call))):
                used = call.read(event, used)
                yield event
    finally:
        call.answered(used)


def _taken_over(stream: Any, second: Any) -> Any:
    """The events of a second stream, whose connection is now the one that closing the first closes."""
    if stream is not None:
        stream.response = second.response
    return getattr(second, _EVENTS)
