"""A team's LiteLLM proxy sends built contexts for everybody. In its config.yaml:

    litellm_settings:
      callbacks: popkit_retention.context.clients.litellm.popkit_context

A request comes from the user of its key, else from the one that it names (`user`, or `metadata.user_id`); without any it goes as it came.
Nothing changes but `messages`. No request names a folder: what of the proxy's machine may be read is not for callers to say.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from litellm.integrations.custom_logger import CustomLogger

from ..configured import default_service
from ..models import Provider
from ..service import Caller, Request, Used
from .claude_code import person_of
from .plain import made_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..service import ContextService

# What LiteLLM calls the requests that carry messages, and whose form these have.
_PROVIDERS = {"completion": Provider.OPENAI, "acompletion": Provider.OPENAI, "anthropic_messages": Provider.ANTHROPIC}
# The user of the proxy's own master key, whoever has it.
_EVERYBODY = "default_user_id"
_SESSION_HEADERS = ("x-litellm-session-id", "x-claude-code-session-id", "x-session-id")
_MOST_CALLS = 10_000


class PopkitContext(CustomLogger):
    """What a proxy calls before each request, and when it has been answered."""

    def __init__(self, service: ContextService) -> None:
        super().__init__()
        self._service = service
        self._callers: OrderedDict[str, Caller] = OrderedDict()  # of the calls that are not answered yet
        self._lock = threading.Lock()

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str) -> dict[str, Any]:
        provider = _PROVIDERS.get(call_type)
        user = user_of(user_api_key_dict, data)
        if provider is not None and user and isinstance(data.get("messages"), list):
            with self._service.careful("a request could not be read, so it was sent as it is"):
                data["messages"] = await anyio.to_thread.run_sync(self._built, user, provider, data) or data["messages"]
        return data

    async def async_log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        with self._lock:
            caller = self._callers.pop(str(kwargs.get("litellm_call_id")), None)
        if caller is not None:
            logged = kwargs.get("standard_logging_object") or {}
            # "anthropic/claude-…": prices stand by the name of the model alone.
            self._service.answered(caller, str(logged.get("model") or "").rpartition("/")[2], used_of(logged))

    def _built(self, user: str, provider: Provider, data: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        messages, system, tools = [made_plain(data.get(name)) for name in ("messages", "system", "tools")]
        caller = Caller(user, session_of(data)).within(messages)
        with self._lock:
            self._callers[str(data.get("litellm_call_id"))] = caller
            if len(self._callers) > _MOST_CALLS:
                self._callers.popitem(last=False)
        return self._service.build(caller, Request(provider, str(data.get("model") or ""), messages, system, tools))


def user_of(key: Any, data: Mapping[str, Any]) -> str:
    """Who calls: the key's user, else the one that the request names, in every session the same; "" for nobody."""
    metadata = data.get("metadata")
    in_metadata = metadata.get("user_id") if isinstance(metadata, dict) else None
    named = (getattr(key, "user_id", None), getattr(key, "end_user_id", None), data.get("user"), in_metadata)
    return next((person_of(user) for user in named if isinstance(user, str) and user not in ("", _EVERYBODY)), "")


def session_of(data: Mapping[str, Any]) -> str:
    """The session that a request names: in LiteLLM's own field, its metadata or a header; "" for none."""
    holders = [data.get(name) for name in ("metadata", "litellm_metadata")]
    named = [data.get("litellm_session_id"), *(holder.get("session_id") for holder in holders if isinstance(holder, dict))]
    headers = (data.get("proxy_server_request") or {}).get("headers") or {}
    lowered = {str(name).lower(): value for name, value in headers.items()}
    named += [lowered.get(name) for name in _SESSION_HEADERS]
    return next((session for session in named if isinstance(session, str) and session), "")


def used_of(logged: Mapping[str, Any]) -> Used | None:
    """What LiteLLM says that a call used; None where it says nothing. Its prompt holds what was read from the cache and written to it."""
    usage = (logged.get("metadata") or {}).get("usage_object") or {}
    details = usage.get("prompt_tokens_details") or {}
    read, written = _count(details, "cached_tokens"), _count(details, "cache_creation_tokens")
    for_an_hour = _count(details.get("cache_creation_token_details") or {}, "ephemeral_1h_input_tokens")
    used = Used(
        input=max(_count(usage, "prompt_tokens") - read - written, 0),
        cache_read=read,
        cache_write=written,
        cache_write_1h=for_an_hour,
        output=_count(usage, "completion_tokens"),
    )
    return used._replace(id=str(logged.get("id") or "")) if any(used) else None


def _count(holder: Mapping[str, Any], name: str) -> int:
    value = holder.get(name)
    return value if isinstance(value, int) and value > 0 else 0


popkit_context = PopkitContext(default_service())
