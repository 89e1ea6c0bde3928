"""The callback that sends built contexts for all users of a team's LiteLLM proxy. In its config.yaml:

    litellm_settings:
      callbacks: popkit_retention.clients.litellm.popkit_context

The user of a request is that of its key, else the one that it names (`user`, or `metadata.user_id`); without any the request is sent
unchanged. Only `messages` (`input`) changes. With `metadata.popkit.force_include_tiers` layers enter as with the fullest budget. No request
names a folder: callers do not decide what of the proxy's machine may be read.

An answer's header HEADER says, as JSON, that a limit is used up or that the provider would refuse the messages. Where the limit refuses,
the answer is 429 and nothing is sent.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import anyio.to_thread
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from popkit_retention.core.io.codec import as_object

from ..context.build_types import ContextTier
from ..context.configured_service import default_service
from ..context.provider_forms import Provider
from ..context.requests import AnswerUsage, Caller, Notice, Request, tiers_of
from ..context.service import ContextService
from ..usage.budgets import BudgetExceeded
from .call import FIELD, held_by, unbuilt
from .session_user import made_plain, person_of


class _Form(NamedTuple):
    """A request that carries a conversation: the form of it, and the fields with the messages and the system prompt."""

    provider: Provider
    messages: str = "messages"
    system: str = "system"


_CHAT, _RESPONSES = _Form(Provider.OPENAI), _Form(Provider.RESPONSES, "input", "instructions")
# LiteLLM's names for requests that carry a conversation, and for others that cost: their limits are checked.
_FORMS = {
    "completion": _CHAT, "acompletion": _CHAT, "anthropic_messages": _Form(Provider.ANTHROPIC),
    "responses": _RESPONSES, "aresponses": _RESPONSES,
}  # fmt: skip
_COST = frozenset(
    "text_completion atext_completion embedding embeddings aembedding image_generation aimage_generation image_edit aimage_edit "
    "transcription atranscription audio_transcription speech aspeech rerank arerank create_batch acreate_batch acreate_fine_tuning_job "
    "arun_thread acreate_video avideo_generation avideo_remix avideo_edit avideo_extension generate_content agenerate_content "
    "generate_content_stream agenerate_content_stream acreate_interaction aocr acompact_responses _aresponses_websocket _arealtime "
    "arealtime_calls acreate_realtime_client_secret acreate_realtime_transcription_session pass_through_endpoint "
    "allm_passthrough_route".split()
)
# The field of a request's metadata for us, and the entry in it.
_FORCED = "force_include_tiers"
# The user of the proxy's own master key.
_EVERYBODY = "default_user_id"
_SESSION_HEADERS = ("x-litellm-session-id", "x-claude-code-session-id", "x-session-id")
_MOST_CALLS = 10_000
HEADER = "x-popkit"


class PopkitContext(CustomLogger):
    """The callbacks of a proxy: before each request, and when it has been answered."""

    def __init__(self, service: ContextService) -> None:
        super().__init__()
        self._service = service
        self._callers: OrderedDict[str, Caller] = OrderedDict()  # by the id of the call, until it is answered
        self._notices: OrderedDict[str, Notice] = OrderedDict()  # by the same, until the answer has its headers
        self._lock = threading.Lock()

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict[str, object], call_type: str) -> dict[str, object]:
        form = _FORMS.get(call_type)
        user = user_of(user_api_key_dict, data)
        try:
            forced = _forced_in(data)
        except (TypeError, ValueError) as error:
            raise HTTPException(400, {"error": str(error), "type": "invalid_request_error"}) from None
        if user and (form is not None or call_type in _COST):
            try:
                with self._service.careful("a request could not be read, so it was sent as it is", except_for=BudgetExceeded):
                    await anyio.to_thread.run_sync(self._prepare, user, form, data, forced)
            except BudgetExceeded as error:
                # As LiteLLM reports its own budgets: its endpoints turn this into a body in the form of each provider.
                raise HTTPException(429, {"error": str(error), "type": "budget_exceeded", "limit": error.standing._asdict()}) from None
        return data

    async def async_post_call_response_headers_hook(
        self, data: dict[str, object], user_api_key_dict: Any, response: Any, request_headers: dict[str, str] | None = None, **_: Any
    ) -> dict[str, str] | None:
        with self._lock:
            notice = self._notices.pop(str(data.get("litellm_call_id")), None)
        return {HEADER: json.dumps(notice.as_fields())} if notice else None

    async def async_log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        with self._lock:
            caller = self._callers.pop(str(kwargs.get("litellm_call_id")), None)
        if caller is not None:
            logged = kwargs.get("standard_logging_object") or {}
            # "anthropic/claude-…": the table of prices has the name of the model alone.
            self._service.answered(caller, str(logged.get("model") or "").rpartition("/")[2], used_of(logged))

    def _prepare(self, user: str, form: _Form | None, data: dict[str, object], forced: Sequence[ContextTier]) -> None:
        """Check the limits of a request, and replace its messages by built ones where it has any. BudgetExceeded."""
        caller = Caller(user, session_of(data))
        held, id = held_by(data) if form is _RESPONSES else ("", "")
        given = made_plain(data.get(form.messages)) if form is not None and not held else None
        messages = [{"role": "user", "content": given}] if isinstance(given, str) and given else given
        if form is None or not isinstance(messages, list) or not messages:
            caller = caller.within([{"role": "user", "content": id or str(data.get("input") or data.get("prompt") or "")}])
            notice = self._service.checked(caller)._replace(unbuilt=unbuilt(held) if held else "")
        else:
            caller = caller.within(messages)
            system, tools = made_plain(data.get(form.system)), made_plain(data.get("tools"))
            request = Request(form.provider, str(data.get("model") or ""), messages, system, tools, forced=forced)
            built, notice = self._service.prepare(caller, request)
            if built is not None and (messages is given or built != messages):
                data[form.messages] = built
        with self._lock:
            _keep(self._callers, data, caller)
            if notice:
                _keep(self._notices, data, notice)


def _forced_in(data: Mapping[str, Any]) -> tuple[ContextTier, ...]:
    """Take the layers that a request forces out of its metadata, which may go on to the provider. TypeError, ValueError."""
    for holder in (data.get("metadata"), data.get("litellm_metadata")):
        ours = holder.get(FIELD) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(ours, dict) and _FORCED in ours:
            holder.pop(FIELD)
            return tiers_of(ours[_FORCED])
    return ()


def _keep(held: OrderedDict[str, Any], data: Mapping[str, Any], value: object) -> None:
    """Keep a value under the id of a call, of the newest calls alone."""
    held[str(data.get("litellm_call_id"))] = value
    if len(held) > _MOST_CALLS:
        held.popitem(last=False)


def user_of(key: Any, data: Mapping[str, Any]) -> str:
    """Return the user of a request: that of its key, else the one that it names, the same in every session; "" for none."""
    in_metadata = as_object(data.get("metadata")).get("user_id")
    named = (getattr(key, "user_id", None), getattr(key, "end_user_id", None), data.get("user"), in_metadata)
    return next((person_of(user) for user in named if isinstance(user, str) and user not in ("", _EVERYBODY)), "")


def session_of(data: Mapping[str, Any]) -> str:
    """Return the session that a request names, in LiteLLM's own field, its metadata or a header; "" for none."""
    holders = [data.get(name) for name in ("metadata", "litellm_metadata")]
    named = [data.get("litellm_session_id"), *(holder.get("session_id") for holder in holders if isinstance(holder, dict))]
    headers = (data.get("proxy_server_request") or {}).get("headers") or {}
    lowered = {str(name).lower(): value for name, value in headers.items()}
    named += [lowered.get(name) for name in _SESSION_HEADERS]
    return next((session for session in named if isinstance(session, str) and session), "")


def used_of(logged: Mapping[str, Any]) -> AnswerUsage | None:
    """Return the tokens that a call used by LiteLLM's log; None where it reports none. Its prompt includes the tokens read from the cache
    and written to it."""
    usage = (logged.get("metadata") or {}).get("usage_object") or {}
    prompt, output = ("input_tokens", "output_tokens") if "input_tokens" in usage else ("prompt_tokens", "completion_tokens")
    details = usage.get(prompt + "_details") or {}
    read, written = _count(details, "cached_tokens"), _count(details, "cache_creation_tokens")
    for_an_hour = _count(details.get("cache_creation_token_details") or {}, "ephemeral_1h_input_tokens")
    used = AnswerUsage(
        input=max(_count(usage, prompt) - read - written, 0),
        cache_read=read,
        cache_write=written,
        cache_write_1h=for_an_hour,
        output=_count(usage, output),
    )
    return used._replace(id=str(logged.get("id") or "")) if any(used) else None


def _count(holder: Mapping[str, Any], name: str) -> int:
    value = holder.get(name)
    return value if isinstance(value, int) and value > 0 else 0


popkit_context = PopkitContext(default_service())
