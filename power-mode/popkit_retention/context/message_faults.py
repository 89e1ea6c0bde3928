"""The faults of messages to which providers answer with status 400: unknown roles, a conversation that does not begin with the user, calls
without results and results without calls, messages without contents. Their words hold nothing of the contents. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .content_blocks import blocks_of, kind_of, plain, role_of, text_of, tool_calls_of
from .provider_forms import Provider
from .responses_form import REFERENCE, call_id, part_of, result_id

_ROLES = {
    Provider.ANTHROPIC: frozenset({"user", "assistant", "system"}),
    Provider.OPENAI: frozenset({"user", "assistant", "system", "developer", "tool", "function"}),
}
_ASIDE = frozenset({"system", "developer"})
MOST_FAULTS = 20


def faults_of(messages: Sequence[Any], provider: Provider) -> list[str]:
    """Return the faults in a list of messages, each with the number of its message (from 0), at most MOST_FAULTS."""
    try:
        faults = _faults_of_items(messages) if provider is Provider.RESPONSES else _faults(messages, provider)
        return [fault for _, fault in zip(range(MOST_FAULTS), faults)]
    except (TypeError, ValueError, RecursionError, AttributeError):
        return ["the messages cannot be read"]


def _faults(messages: Sequence[Any], provider: Provider) -> Iterator[str]:
    if not messages:
        yield "there are no messages"
    pending: list[str] = []  # ids of the calls in the previous answer
    answered_at, begun = 0, False
    for number, message in enumerate(map(plain, messages)):
        role = role_of(message)
        if role not in _ROLES[provider]:
            yield f"message {number}: no role that the provider knows"
            continue
        if role in _ASIDE:
            continue
        if not begun and role != "user":
            yield f"message {number}: the conversation does not begin with a message of the user's"
        begun = True
        results, calls = _results_in(message), _calls_in(message)
        yield from (f"message {number}: a result without the call before it" for id in results if id not in pending)
        pending = [id for id in pending if id not in results]
        if pending and not results:  # several messages of results count as one
            yield f"message {answered_at}: {_unanswered(pending)}"
            pending = []
        if calls and role != "assistant":
            yield f"message {number}: a call that is not the assistant's"
        elif calls:
            pending, answered_at = calls, number
            if len(set(calls)) < len(calls):
                yield f"message {number}: two calls with the same id"
        if _is_empty(message) and not (role == "assistant" and number == len(messages) - 1):
            yield f"message {number}: no content"
    if pending:
        yield f"message {answered_at}: {_unanswered(pending)}"


def _faults_of_items(items: Sequence[Any]) -> Iterator[str]:
    """Yield the faults of a list for OpenAI's Responses. Where items are only referred to, calls may be among them."""
    known = [plain(item) for item in items]
    if not known:
        yield "there are no messages"
    calls: dict[str, int] = {}
    answered = set(filter(None, (result_id(item) for item in known if isinstance(item, dict))))
    is_whole = not any(kind_of(item) == REFERENCE for item in known)
    for number, item in enumerate(known):
        if not part_of(item):
            yield f"item {number}: no item that the provider knows"
            continue
        if is_whole and result_id(item) and result_id(item) not in calls:
            yield f"item {number}: a result without the call before it"
        if call_id(item):
            calls[call_id(item)] = number
            if is_whole and call_id(item) not in answered:
                yield f"item {number}: a call without its result"


def _unanswered(pending: Sequence[str]) -> str:
    return "a call without its result" if len(pending) == 1 else f"{len(pending)} calls without their results"


def _calls_in(message: dict[str, object]) -> list[str]:
    blocks = [block for block in blocks_of(message.get("content")) if kind_of(block) == "tool_use"]
    return [str(call.get("id")) for call in [*tool_calls_of(message), *blocks]]


def _results_in(message: dict[str, object]) -> list[str]:
    if message.get("role") == "tool":
        return [str(message.get("tool_call_id"))]
    blocks = [block for block in blocks_of(message.get("content")) if kind_of(block) == "tool_result"]
    return [str(block.get("tool_use_id")) for block in blocks]


def _is_empty(message: dict[str, object]) -> bool:
    """Return whether a message has nothing, or nothing but blank texts."""
    if message.get("role") == "tool":
        return False
    beside = any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
    texts = [text_of(block) if kind_of(block) == "text" else "x" for block in blocks_of(message.get("content"))]
    return not beside and not any(text and text.strip() for text in texts)
