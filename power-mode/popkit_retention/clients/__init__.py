"""Clients of the providers whose requests go with a built context: wraps a provider's client. Neither package is imported."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from ..context.configured_service import default_service
from ..context.service import ContextService
from .call import UNREAD, Call, Setting

__all__ = ["with_context"]


Client = TypeVar("Client")
Again = Callable[[Exception], Any]  # the answer of the fallback model, for a failure

_PACKAGES = frozenset({"anthropic", "openai"})
_ORIGINAL = "_without_context"


def with_context(
    client: Client,
    *,
    user_id: str,
    session_id: str | None = None,
    project: str | None = None,
    agent: str = "",
    fallback_model: str | None = None,
    max_context_tokens: int | None = None,
    service: ContextService | None = None,
) -> Client:
    """Return a client that behaves as this one, and sends its messages as a built context.

    `user_id`: "" leaves requests as they are. `session_id`: None takes each conversation for a session. `project`: the folder whose memory
    and files may enter. `fallback_model`: asked once where a model fails. `max_context_tokens`: what a request may have at most. `service`:
    another than the user's own. A call overrides these by `extra_body={"popkit": {"session_id": …}}`, which is not sent.

    TypeError for anything but a client of the two packages, and for a value of another type; ValueError for a `max_context_tokens` not
    above 0. Where a limit is used up, or a provider would refuse the messages, an answer says so in its field `popkit`; a limit that
    refuses (`context.on_exceeded`) raises BudgetExceeded instead, and nothing is sent.
    """
    if not {base.__module__.partition(".")[0] for base in type(client).__mro__} & _PACKAGES or not hasattr(client, "post"):
        raise TypeError(f"with_context takes a client of the packages anthropic or openai, not {type(client).__qualname__}")
    setting = Setting(user_id or "", session_id or "", project or "", agent or "", fallback_model or "", max_context_tokens).checked()
    return _wrapped(vars(client).get(_ORIGINAL, client), setting, service or default_service())


def _wrapped(client: Any, setting: Setting, service: ContextService) -> Any:
    wrapped = copy.copy(client)
    own = vars(wrapped)
    for name in [name for name in own if isinstance(getattr(type(client), name, None), functools.cached_property)]:
        del own[name]  # a resource that sends through the original
    sends = _async_post if inspect.iscoroutinefunction(type(client).post) else _post
    own["post"] = sends(wrapped.post, setting, service)
    own["copy"] = own["with_options"] = _copies(wrapped.copy, setting, service)
    own[_ORIGINAL] = client
    return wrapped


def _copies(method: Callable[..., Any], setting: Setting, service: ContextService) -> Callable[..., Any]:
    @functools.wraps(method)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return _wrapped(method(*args, **kwargs), setting, service)

    return copied


def _post(post: Callable[..., Any], setting: Setting, service: ContextService) -> Callable[..., Any]:
    @functools.wraps(post)
    def posted(path: str, **arguments: Any) -> Any:
        call = Call.of(path, arguments, setting, service)
        if not isinstance(call, Call):
            return post(path, **call)
        call.build()

        def from_fallback(error: Exception) -> Any:
            return post(path, **call.to_fallback(error))

        again = from_fallback if call.has_fallback else None
        try:
            answer = post(path, **call.arguments)
        except Exception as error:
            if again is None or not may_pass_elsewhere(error):
                call.mark(error)
                raise
            answer, again = again(error), None
        if call.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                _watch(answer, call, again)
        return answer

    return posted


def _async_post(post: Callable[..., Awaitable[Any]], setting: Setting, service: ContextService) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(post)
    async def posted(path: str, **arguments: Any) -> Any:
        from anyio import to_thread  # both packages use it, so it serves whichever loop they run in

        call = Call.of(path, arguments, setting, service)
        if not isinstance(call, Call):
            return await post(path, **call)
        await to_thread.run_sync(call.build)

        async def from_fallback(error: Exception) -> Any:
            return await post(path, **call.to_fallback(error))

        again = from_fallback if call.has_fallback else None
        try:
            answer = await post(path, **call.arguments)
        except Exception as error:
            if again is None or not may_pass_elsewhere(error):
                call.mark(error)
                raise
            answer, again = await again(error), None
        if call.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                await _watch_async(answer, call, again)
        return answer

    return posted


# --- answers ---

# The attribute of both packages' streams that their own `__next__` and `__iter__` read.
_EVENTS = "_iterator"


def _watch(answer: Any, call: Call, again: Again | None) -> None:
    """Report the usage of an answer to the call: at once, or at the end of a stream. `again`: for a failure before the first event; None
    where there is no fallback model."""
    parsed = call.mark(_parsed(answer, call))
    if hasattr(parsed, _EVENTS):
        # By a weak reference: a stream that the caller drops is closed at once, which a cycle would leave to the garbage collector.
        setattr(parsed, _EVENTS, _events(getattr(parsed, _EVENTS), weakref.ref(parsed), call, again))
    else:
        call.answered(call.read(parsed, None))


async def _watch_async(answer: Any, call: Call, again: Again | None) -> None:
    parsed = call.mark(await _awaited(_parsed(answer, call)))
    if hasattr(parsed, _EVENTS):
        setattr(parsed, _EVENTS, _async_events(getattr(parsed, _EVENTS), weakref.ref(parsed), call, again))
    else:
        call.answered(call.read(parsed, None))


def _parsed(answer: Any, call: Call) -> Any:
    """Return the answer in a raw response: the package parses it once, and gives the caller the same object."""
    return answer.parse() if call.raw else answer


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _events(events: Iterator[Any], stream: weakref.ref[Any], call: Call, again: Again | None) -> Iterator[Any]:
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


async def _async_events(events: AsyncIterator[Any], stream: weakref.ref[Any], call: Call, again: Again | None) -> AsyncIterator[Any]:
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


# --- failures ---

# Both packages give their errors the same names. Statuses that the packages retry: too slow, a conflict, too many requests; from 500 on
# the provider failed.
_STATUSES = frozenset({408, 409, 429})
_FIRST_OF_THE_PROVIDERS_OWN = 500
_UNREACHABLE = frozenset({"APIConnectionError", "TransportError"})
# The names of failures in an event of a stream, after the status 200.
_TYPES = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error", "server_error", "rate_limit_exceeded"})


def may_pass_elsewhere(error: BaseException) -> bool:
    """Return whether the model or the connection to it failed, so that another may answer: not where the caller's request is refused (400,
    401, 403, 404, 413, 422), the answer cannot be parsed, or the caller cancelled."""
    if any(cls.__name__ in _UNREACHABLE for cls in type(error).__mro__):
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return status in _STATUSES or status >= _FIRST_OF_THE_PROVIDERS_OWN
    body = getattr(error, "body", None)
    outer = body if isinstance(body, dict) else {}
    inner = outer.get("error")
    names = [holder.get(name) for holder in (outer, inner if isinstance(inner, dict) else {}) for name in ("type", "code")]
    return any(name in _TYPES for name in names if isinstance(name, str))
