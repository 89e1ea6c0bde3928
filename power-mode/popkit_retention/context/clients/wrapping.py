"""A provider's client whose requests go with a built context. Neither package is imported.

What `with_context` gives is a copy of the client, of the same class, with the same connections. Only its `post`, through which all methods
of all resources send, is another one: so `create`, `stream`, `parse`, raw responses and helpers that call them are built alike, and a
caller's check of its type holds.
"""

from __future__ import annotations

import copy
import functools
import inspect

from ..configured import default_service
from .call import UNREAD, Call, Setting
from .failing import may_pass_elsewhere
from .watching import watch, watch_async

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeVar

    from ..service import ContextService

    Client = TypeVar("Client")

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
    """A client that behaves as this one, and whose messages go as a built context.

    `user_id`: "" leaves requests as they are. `session_id`: None takes each conversation for a session. `project`: the folder whose memory
    and files may enter. `fallback_model`: asked once where a model fails. `max_context_tokens`: what a request may have at most. `service`:
    another than the user's own. A call says otherwise by `extra_body={"popkit": {"session_id": …}}`, which is not sent.

    TypeError for what is no client of the two packages, and for a value of another type; ValueError for a `max_context_tokens` not above 0.
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


def _copies(made: Callable[..., Any], setting: Setting, service: ContextService) -> Callable[..., Any]:
    @functools.wraps(made)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return _wrapped(made(*args, **kwargs), setting, service)

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
                raise
            answer, again = again(error), None
        if call.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                watch(answer, call, again)
        return answer

    return posted


def _async_post(post: Callable[..., Awaitable[Any]], setting: Setting, service: ContextService) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(post)
    async def posted(path: str, **arguments: Any) -> Any:
        from anyio import to_thread  # both packages stand on it, and so it serves whichever loop they run in

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
                raise
            answer, again = await again(error), None
        if call.raw != UNREAD:
            with service.careful("what a call used could not be read"):
                await watch_async(answer, call, again)
        return answer

    return posted
