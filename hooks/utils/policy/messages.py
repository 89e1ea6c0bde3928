"""The messages of a conversation in the form in which a host exchanges them: words, calls, results. Pure.

A host may hand over one message for each block. `paired` brings them into the one form that every provider takes: the calls that were made
at once are in one message, and the results of just these in the next.
"""

from __future__ import annotations

from ..errors import PopkitError
from .estimate import CALL_TOKENS, RESULT_TOKENS, estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .shapes import MessageRow
    from .tools import Tool, Tools

ASSISTANT, USER = "assistant", "user"
NO_RESULT = "[This call was interrupted: it has no result]"
# Of the signature of a block of thinking: what it has beside the sealed text (characters), and characters of that text to a token.
_SEAL_CHARS = 235
_SEALED_CHARS_PER_TOKEN = 2.7


class MessagesNotUnderstood(PopkitError, ValueError):
    """The messages are no conversation that could be handed back; the message says why."""


class Use:
    """A tool call as it was made: `input` is the host's object, `tool` its name there, `traits` the tool's operation and fields."""

    __slots__ = ("_tokens", "id", "input", "tool", "traits")

    def __init__(self, id: str, tool: Tool, input: dict[str, Any]) -> None:
        self.id = id
        self.tool = tool.name
        self.traits = tool
        self.input = input
        self._tokens: int | None = None

    @property
    def tokens(self) -> int:
        """Return the estimated tokens of the call."""
        if self._tokens is None:
            self._tokens = call_tokens(self.input)
        return self._tokens


class ShownResult:
    """A result as the context shows it."""

    __slots__ = ("error", "id", "text")

    def __init__(self, id: str, text: str, error: bool = False) -> None:
        self.id = id
        self.text = text
        self.error = error


class Message:
    """The text of one side, the calls it made, the results it brings."""

    __slots__ = ("results", "role", "text", "uses")

    def __init__(self, role: str, text: str = "", uses: Sequence[Use] = (), results: Sequence[ShownResult] = ()) -> None:
        self.role = role
        self.text = text
        self.uses = list(uses)
        self.results = list(results)

    def to_json(self) -> MessageRow:
        """Return the message as the host takes it."""
        return {
            "role": self.role,
            "text": self.text,
            "toolUses": [{"tool_use_id": use.id, "tool": use.tool, "input": use.input} for use in self.uses],
            "toolResults": [{"tool_use_id": shown.id, "text": shown.text, "isError": shown.error} for shown in self.results],
        }


def message_of(value: object, tools: Tools) -> Message:
    """Return a message as a host with these tools gives it; MessagesNotUnderstood for anything else."""
    if not isinstance(value, dict) or value.get("role") not in (ASSISTANT, USER) or not isinstance(value.get("text"), str):
        raise MessagesNotUnderstood("a message has no known role, or no text")
    uses, results = value.get("toolUses"), value.get("toolResults")
    uses, results = [] if uses is None else uses, [] if results is None else results
    if not isinstance(uses, list) or not isinstance(results, list):
        raise MessagesNotUnderstood("the calls or results of a message are not a list")
    return Message(value["role"], value["text"], [_use(each, tools) for each in uses], [_shown(each) for each in results])


def _use(value: object, tools: Tools) -> Use:
    if isinstance(value, dict):
        id, tool, tool_input = value.get("tool_use_id"), value.get("tool"), value.get("input")
        if isinstance(id, str) and id and isinstance(tool, str) and tool and isinstance(tool_input, dict):
            return Use(id, tools.of(tool), tool_input)
    raise MessagesNotUnderstood("a call has no id, no tool or no input")


def _shown(value: object) -> ShownResult:
    if isinstance(value, dict) and isinstance(value.get("tool_use_id"), str) and isinstance(value.get("text"), str):
        return ShownResult(value["tool_use_id"], value["text"], value.get("isError") is True)
    raise MessagesNotUnderstood("a result has no id or no text")


def paired(messages: Iterable[Message]) -> list[Message]:
    """Return the same conversation in the one form. Messages that say nothing are left out, as no provider takes blanks alone; what the
    assistant says between calls that it made at once comes before them. A call that got no result before the user spoke on, or the
    conversation ended, gets one that says so, as every provider asks for it. MessagesNotUnderstood where a result answers no call, or an id
    comes twice."""
    pairs: list[Message] = []
    seen: set[str] = set()
    run = _Run()
    for message in messages:
        for use in message.uses:
            if use.id in seen:
                raise MessagesNotUnderstood(f"{use.id} comes twice")
            seen.add(use.id)
        if message.uses or message.results:
            run.take(message)
        has_text = bool(message.text.strip())
        if run.is_answered or (has_text and message.role == USER):
            pairs += run.messages()
            run = _Run()
        if has_text:
            pairs.append(Message(message.role, message.text))
    return pairs + run.messages()


class _Run:
    """Calls that were made at once, and their results as far as they have come."""

    __slots__ = ("ids", "results", "uses")

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.ids: set[str] = set()
        self.results: dict[str, ShownResult] = {}

    def take(self, message: Message) -> None:
        self.uses += message.uses
        self.ids.update([use.id for use in message.uses])
        for shown in message.results:
            if shown.id in self.results or shown.id not in self.ids:
                raise MessagesNotUnderstood(f"{shown.id} answers no call")
            self.results[shown.id] = shown

    @property
    def is_answered(self) -> bool:
        return bool(self.uses) and len(self.results) == len(self.uses)

    def messages(self) -> list[Message]:
        if not self.uses:
            return []
        results = [self.results.get(use.id) or ShownResult(use.id, NO_RESULT, True) for use in self.uses]
        return [Message(ASSISTANT, "", self.uses), Message(USER, "", (), results)]


def call_tokens(tool_input: object) -> int:
    """Return the estimated tokens of a call with this input."""
    return CALL_TOKENS + estimate_tokens("".join(texts_in(tool_input)), "call")


def result_tokens(text: str, estimated: int | None = None) -> int:
    """Return the estimated tokens of a result of this text, or of one that the engine has estimated already."""
    return RESULT_TOKENS + (estimate_tokens(text, "code") if estimated is None else estimated)


def thinking_tokens(block: dict[str, Any]) -> int:
    """Return the estimated tokens of a block of thinking, 0 for any other. A signature (or the `data` of what is redacted) holds the whole
    of it, sealed, in base64; the text beside it may be a summary, or empty. So it is the larger of what either tells
    (`benchmarks/thinking_tokens.py`)."""
    if block.get("type") not in ("thinking", "redacted_thinking"):
        return 0
    sealed, text = block.get("signature") or block.get("data"), block.get("thinking")
    chars = max(0, len(sealed) - _SEAL_CHARS) * 3 // 4 if isinstance(sealed, str) else 0
    return max(round(chars / _SEALED_CHARS_PER_TOKEN), estimate_tokens(text) if isinstance(text, str) else 0)


def texts_in(value: object) -> list[str]:
    """Return all texts within a JSON value, names of fields too, in order; other values as they are written."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts_in(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return [str(value)]
