"""PopKit for agents of Pydantic AI: a processor of their history, with a toolset for memory.

    agent = Agent("anthropic:claude-opus-4-8", toolsets=[memory_toolset(memory)], capabilities=[ProcessHistory(history_processor())])

Pydantic AI 1 takes the processor as `history_processors=[history_processor()]`.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NamedTuple

from ..extras import missing

try:
    from pydantic_ai import FunctionToolset, ModelRetry, RunContext
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
except ModuleNotFoundError as error:
    raise missing("pydantic-ai", error) from None

from ..context.message_digests import digests_of
from ..memory.items import BadItem
from ..memory.stores.protocol import DuplicateId
from .chat_history import NO_SOURCES, PLACE, Settings, added_texts, built, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..context.sources import Sources
    from ..memory.memory import Memory

    # The numbers of a message and of its part; None for a whole answer.
    Place = tuple[int, "int | None"]

_MOST_SENT = 64  # requests that a processor can go on from
_RESULTS = frozenset({"tool-return", "retry-prompt"})
_SAID = frozenset({"user-prompt", "retry-feedback", "retry-prompt", "speech"})


def history_processor(
    *,
    model: str = "",
    max_tokens: int | None = None,
    budget_used_percent: float | None = None,
    project: str = "",
    sources: Sources = NO_SOURCES,
) -> Callable[[RunContext[Any], list[ModelMessage]], list[ModelMessage]]:
    """Return a processor of histories, for any number of runs, agents and threads: dead results of tools and old exchanges leave where that
    pays, calls and their results only together. Histories that a provider would refuse stay as they are.

    `model`: its name; "" for that of the run. `max_tokens`: the most that a request may have; None: the model's window.
    `budget_used_percent`: how much of a budget is used; the more, the more leaves. `project`: the folder of relative paths. `sources`:
    memories and files that may enter."""
    settings = Settings(model, max_tokens, budget_used_percent, project, sources)
    sent = _Requests()

    def process(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        named = settings if settings.model else settings._replace(model=str(getattr(ctx.model, "model_name", "")))
        before = sent.before(messages)
        whole = messages if before is None else [*before.whole, *messages[len(before.digests) :]]
        chat, places = _chat(whole)
        result = built(chat, before and before.state, named, _instructions(whole))
        left = _left(whole, chat, places, kept(result))
        sent.keep(_SentRequest(_digests(left), whole, result.state))
        return messages if left == messages else left

    return process


def memory_toolset(memory: Memory, *, most: int = 10, id: str = "popkit-memory") -> FunctionToolset[Any]:
    """Return the tools memory_search and memory_add over a memory. `most`: how many items a search returns at most. What an agent adds
    counts at once; pass a scoped memory (`memory.scoped(user_id=…)`) to keep users apart."""

    def memory_search(query: str) -> list[dict[str, object]]:
        """Search what was remembered in earlier sessions.

        Args:
            query: words, names or a question
        """
        return [{"id": item.id, "text": item.text, "relevance": round(relevance, 3)} for item, relevance in memory.search(query, most)]

    def memory_add(text: str) -> str:
        """Remember something for later sessions: a fact, a preference, a decision.

        Args:
            text: one self-contained sentence
        """
        try:
            return f"Remembered as {memory.add(text).id}."
        except DuplicateId:
            return "This is remembered already."
        except BadItem as error:
            raise ModelRetry(str(error)) from None

    return FunctionToolset([memory_search, memory_add], id=id)


class _SentRequest(NamedTuple):
    """A request that was sent: the digests of its messages, the `whole` history that they were built of, and the state of that build."""

    digests: list[str]
    whole: list[ModelMessage]
    state: dict[str, object]


class _Requests:
    """The requests sent last. A run goes on with the messages that a processor has returned, so what they were built of is kept here: the
    next build has to know it to leave them as they were sent."""

    def __init__(self) -> None:
        self._sent: list[_SentRequest] = []
        self._lock = threading.Lock()

    def before(self, messages: list[ModelMessage]) -> _SentRequest | None:
        """Return the longest request that these messages begin with; None where they begin with none."""
        digests = _digests(messages)
        with self._lock:
            begun = [sent for sent in self._sent if sent.digests == digests[: len(sent.digests)]]
        return max(begun, key=lambda sent: len(sent.digests), default=None)

    def keep(self, sent: _SentRequest) -> None:
        if sent.state and sent.digests:
            with self._lock:
                self._sent = [*(other for other in self._sent if other.digests != sent.digests), sent][-_MOST_SENT:]


def _digests(messages: list[ModelMessage]) -> list[str]:
    """Return a digest of each message; none where they cannot be sent."""
    return digests_of([{"rows": _chat([message])[0]} for message in messages]) or []


def _instructions(messages: list[ModelMessage]) -> str:
    return next((message.instructions for message in reversed(messages) if isinstance(message, ModelRequest) and message.instructions), "")


def _chat(messages: list[ModelMessage]) -> tuple[list[dict[str, object]], list[Place]]:
    """Return a history as OpenAI's messages, each with its place: of a request each part, the results of tools first, of an answer the
    whole."""
    chat: list[dict[str, object]] = []
    places: list[Place] = []
    for number, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            chat.append(_answer(message))
            places.append((number, None))
            continue
        written = [(_written(part), place) for place, part in enumerate(message.parts)]
        for each, place in sorted(written, key=lambda pair: pair[0]["role"] != "tool"):
            chat.append(each)
            places.append((number, place))
    return chat, places


def _written(part: Any) -> dict[str, object]:
    """Return a part of a request as a message. What is neither a user's nor a tool's stays whatever leaves, as the system's does."""
    if part.part_kind in _RESULTS and getattr(part, "tool_name", None):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": _result(part)}
    content = getattr(part, "content", "")
    if part.part_kind in _SAID:
        return {"role": "user", "content": list(map(_block, content)) if isinstance(content, (list, tuple)) else _text(content)}
    return {"role": "system", "content": _text(content)}


def _result(part: Any) -> str | list[dict[str, object]]:
    """Return the text of a tool's result; as blocks where there is more in it than text, which then stays."""
    text = part.model_response_str() if part.part_kind == "tool-return" else part.model_response()
    has_more = getattr(part, "files", None) or getattr(part, "tool_kind", None)
    return [{"type": "text", "text": text}, {"type": part.part_kind}] if has_more else str(text)


def _block(item: Any) -> dict[str, object]:
    """Return an item of a user's content as a block. Of media there is the address or the name, not the bytes."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if getattr(item, "kind", "") == "text-content":
        return {"type": "text", "text": str(getattr(item, "content", ""))}
    if getattr(item, "kind", "") == "image-url":
        return {"type": "image_url", "image_url": {"url": item.url}}
    return {"type": str(getattr(item, "kind", "item")), "name": str(getattr(item, "url", "") or getattr(item, "identifier", ""))}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else str(content or "")


def _answer(message: ModelResponse) -> dict[str, object]:
    """Return an answer as a message, its thinking and its calls beside its text."""
    content, calls, thinking = [], [], []
    for part in message.parts:
        if part.part_kind == "tool-call":
            function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
            calls.append({"id": part.tool_call_id, "type": "function", "function": function})
        elif part.part_kind == "thinking":
            thinking.append({"type": "thinking", "thinking": part.content, "signature": part.signature or ""})
        elif part.part_kind == "text":
            content.append({"type": "text", "text": part.content})
        else:
            content.append({"type": part.part_kind, "value": _text(getattr(part, "content", None) or getattr(part, "args", None))})
    written: dict[str, object] = {"role": "assistant", "content": content or None}
    return {**written, **({"tool_calls": calls} if calls else {}), **({"thinking_blocks": thinking} if thinking else {})}


def _left(
    messages: list[ModelMessage], chat: list[dict[str, object]], places: list[Place], staying: dict[int, dict[str, object]]
) -> list[ModelMessage]:
    """Return what the builder has left of a history; the same list where it has changed nothing."""
    numbers = {place: number for number, place in enumerate(places)}
    left: list[ModelMessage] = []
    for number, message in enumerate(messages):
        edited: ModelMessage | None
        if isinstance(message, ModelResponse):
            at = numbers[number, None]
            edited = _edited_answer(message, chat[at], staying[at]) if at in staying else None
        else:
            edited = _edited_request(message, [(numbers[number, place], part) for place, part in enumerate(message.parts)], chat, staying)
        if edited is not None:
            left.append(edited)
    same = len(left) == len(messages) and all(after is before for after, before in zip(left, messages))
    return messages if same else left


def _edited_request(
    message: ModelRequest, parts: list[tuple[int, Any]], chat: list[dict[str, object]], staying: dict[int, dict[str, object]]
) -> ModelRequest | None:
    """Return what is left of a request; None where all that it said has left."""
    edited = [_edited_part(part, chat[at], staying[at]) for at, part in parts if at in staying]
    if parts and not edited:
        return None
    same = len(edited) == len(parts) and all(after is before for after, (_, before) in zip(edited, parts))
    return message if same else replace(message, parts=edited)


def _edited_part(part: Any, before: dict[str, object], after: dict[str, object]) -> Any:
    if before["role"] == "tool":
        return part if after["content"] == before["content"] else replace(part, content=after["content"])
    texts = added_texts(before, after)
    if not texts:
        return part
    own = part.content
    return replace(part, content=[*texts, *([own] if isinstance(own, str) else own)])


def _edited_answer(message: ModelResponse, before: dict[str, object], after: dict[str, Any]) -> ModelResponse:
    """Return an answer without the thinking that has left, the long texts in its calls shortened."""
    if before == {name: value for name, value in after.items() if name != PLACE}:
        return message
    arguments = {call["id"]: call["function"]["arguments"] for call in after.get("tool_calls", ())}
    return replace(message, parts=list(_edited_parts(message, arguments, "thinking_blocks" in after)))


def _edited_parts(message: ModelResponse, arguments: dict[str, str], thinks: bool) -> Iterator[Any]:
    for part in message.parts:
        if part.part_kind == "tool-call" and part.args_as_json_str() != arguments[part.tool_call_id]:
            yield replace(part, args=arguments[part.tool_call_id])
        elif part.part_kind != "thinking" or thinks:
            yield part
