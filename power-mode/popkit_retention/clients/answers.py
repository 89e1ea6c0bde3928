"""The usage of an answer, reported to its call once the answer, or its stream, is complete."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol

from ..context.requests import AnswerUsage
from .failures import may_pass_elsewhere


class WatchedCall(Protocol):
    """A call whose answer is watched: `raw`, `mark`, `read` and `answered` as those of Call."""

    raw: str

    def mark(self, answer: Any) -> Any: ...

    def read(self, item: Any, before: AnswerUsage | None) -> AnswerUsage | None: ...

    def answered(self, used: AnswerUsage | None) -> None: ...


Again = Callable[[Exception], Any]  # the answer of the fallback model, for a failure

# The attribute of both packages' streams that their own `__next__` and `__iter__` read.
_EVENTS = "_iterator"


def watch(answer: Any, call: WatchedCall, again: Again | None) -> None:
    """Report the usage of an answer to the call: at once, or at the end of a stream. `again`: for a failure before the first event; None
    where there is no fallback model."""
    parsed = call.mark(_parsed(answer, call))
    if hasattr(parsed, _EVENTS):
        # By a weak reference: a stream that the caller drops is closed at once, which a cycle would leave to the garbage collector.
        setattr(parsed, _EVENTS, _events(getattr(parsed, _EVENTS), weakref.ref(parsed), call, again))
    else:
        call.answered(call.read(parsed, None))


async def watch_async(answer: Any, call: WatchedCall, again: Again | None) -> None:
    parsed = call.mark(await _awaited(_parsed(answer, call)))
    if hasattr(parsed, _EVENTS):
        setattr(parsed, _EVENTS, _async_events(getattr(parsed, _EVENTS), weakref.ref(parsed), call, again))
    else:
        call.answered(call.read(parsed, None))


def _parsed(answer: Any, call: WatchedCall) -> Any:
    """Return the answer in a raw response: the package parses it once, and gives the caller the same object."""
    return answer.parse() if call.raw else answer


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _events(events: Iterator[Any], stream: weakref.ref[Any], call: WatchedCall, again: Again | None) -> Iterator[Any]:
    used, begun = None, False
    try:
        try:
            for event in events:
                event = event if begun else call.mark(event)
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


async def _async_events(events: AsyncIterator[Any], stream: weakref.ref[Any], call: WatchedCall, again: Again | None) -> AsyncIterator[Any]:
    used, begun = None, False
    try:
        try:
            async for event in events:
                event = event if begun else call.mark(event)
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
    """Return the events of a second stream, and let closing the first close the connection of the second."""
    if stream is not None:
        stream.response = second.response
    return getattr(second, _EVENTS)
