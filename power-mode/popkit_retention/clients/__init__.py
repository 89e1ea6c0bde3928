"""Clients of the providers, wrapped so that they send a built context. Neither package is imported."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..context.configured_service import default_service
from ..context.service import ContextService
from ..context.tokens import load_ahead
from .answers import watch, watch_async
from .call import UNREAD, Call, Setting
from .coverage import UNCOVERED, UncoveredCalls, say_uncovered
from .failures import may_pass_elsewhere
from .known_callers import KnownCallers
from .retrieval import Retrieval

__all__ = ["UncoveredCalls", "uncovered", "with_context"]


Client = TypeVar("Client")

_NEWEST = "gpt-5"  # its vocabulary is that of all newer models
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
    packages = _packages_of(client)
    setting = Setting(user_id or "", session_id or "", project or "", agent or "", fallback_model or "", max_context_tokens).checked()
    if "openai" in packages:
        load_ahead(_NEWEST)  # of no other provider is the vocabulary public
    for package in packages:
        say_uncovered(package)
    return _wrapped(vars(client).get(_ORIGINAL, client), setting, service or default_service(), KnownCallers())


def uncovered(client: Any) -> UncoveredCalls:
    """Return the calls of a client of the two packages that cost and are not covered: those whose limits are not checked, and those whose
    usage is not recorded. TypeError for anything else."""
    return UNCOVERED[_packages_of(client).pop()]


def _packages_of(client: Any) -> set[str]:
    packages = {base.__module__.partition(".")[0] for base in type(client).__mro__} & _PACKAGES
    if not packages or not hasattr(client, "post"):
        raise TypeError(f"with_context takes a client of the packages anthropic or openai, not {type(client).__qualname__}")
    return packages


def _wrapped(client: Any, setting: Setting, service: ContextService, callers: KnownCallers) -> Any:
    wrapped = copy.copy(client)
    own = vars(wrapped)
    for name in [name for name in own if isinstance(getattr(type(client), name, None), functools.cached_property)]:
        del own[name]  # a resource that sends through the original
    is_async = inspect.iscoroutinefunction(type(client).post)
    sends, retrieves = (_async_post, _async_get) if is_async else (_post, _get)
    own["post"], own["get"] = sends(wrapped.post, setting, service, callers), retrieves(wrapped.get, setting, service, callers)
    own["copy"] = own["with_options"] = _copies(wrapped.copy, setting, service, callers)
    own[_ORIGINAL] = client
    return wrapped


def _copies(method: Callable[..., Any], setting: Setting, service: ContextService, callers: KnownCallers) -> Callable[..., Any]:
    @functools.wraps(method)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return _wrapped(method(*args, **kwargs), setting, service, callers)

    return copied


def _post(post: Callable[..., Any], setting: Setting, service: ContextService, callers: KnownCallers) -> Callable[..., Any]:
    @functools.wraps(post)
    def posted(path: str, **arguments: Any) -> Any:
        call = Call.of(path, arguments, setting, service, callers)
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
                watch(answer, call, again)
        return answer

    return posted


def _async_post(
    post: Callable[..., Awaitable[Any]], setting: Setting, service: ContextService, callers: KnownCallers
) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(post)
    async def posted(path: str, **arguments: Any) -> Any:
        from anyio import to_thread  # both packages use it, so it serves whichever loop they run in

        call = Call.of(path, arguments, setting, service, callers)
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
                await watch_async(answer, call, again)
        return answer

    return posted


def _get(get: Callable[..., Any], setting: Setting, service: ContextService, callers: KnownCallers) -> Callable[..., Any]:
    @functools.wraps(get)
    def got(path: str, **arguments: Any) -> Any:
        retrieval = Retrieval.of(path, arguments, setting, service, callers)
        if not isinstance(retrieval, Retrieval):
            return get(path, **retrieval)
        answer = get(path, **retrieval.arguments)
        if retrieval.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                watch(answer, retrieval, None)
        return answer

    return got


def _async_get(
    get: Callable[..., Awaitable[Any]], setting: Setting, service: ContextService, callers: KnownCallers
) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(get)
    async def got(path: str, **arguments: Any) -> Any:
        retrieval = Retrieval.of(path, arguments, setting, service, callers)
        if not isinstance(retrieval, Retrieval):
            return await get(path, **retrieval)
        answer = await get(path, **retrieval.arguments)
        if retrieval.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                await watch_async(answer, retrieval, None)
        return answer

    return got
