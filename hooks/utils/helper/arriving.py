"""The results that are about to enter, as a client hands them over. Anything else is passed over."""

from __future__ import annotations

from ..hosts.transcripts import outcomes
from ..hosts.transcripts.blocks import text_of_blocks
from ..io.codec import as_list, as_object, text_in_field
from ..policy import masking, own_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ArrivingCall:
    """The call of a result: its `tool`, its `input`, and the fields of that with what the client would mask in them (`redacted`)."""

    __slots__ = ("input", "redacted", "tool")

    def __init__(self, call: dict[str, object]) -> None:
        redacted = call.get("redacted")
        self.tool = text_in_field(call, "tool")
        self.input = outcomes.input_of(call.get("input"))
        self.redacted = as_object(redacted)

    def learn(self) -> None:
        """Take in what the client would mask, so that labels are kept without it."""
        for name, text in self.redacted.items():
            if isinstance(text, str) and isinstance(self.input.get(name), str):
                masking.learn(self.input[name], text)


def calls_of(value: object) -> dict[str, ArrivingCall]:
    """Return the calls in {id: call}."""
    calls = value.items() if isinstance(value, dict) else ()
    return {id: ArrivingCall(call) for id, call in calls if isinstance(call, dict)}


def uses_of(messages: object) -> dict[str, ArrivingCall]:
    """Return the calls in a host's messages, by id."""
    calls = {}
    for message in as_list(messages):
        for use in as_list(as_object(message).get("toolUses")):
            if isinstance(use, dict) and isinstance(use.get("input"), dict):
                calls[str(use.get("tool_use_id"))] = ArrivingCall(use)
    return calls


class ArrivingResult:
    """A result block: `at` its place among the blocks of its row, `id` of its tool use, its `content`, the `text` that it shows, whether
    another text can take its place (it is in one piece, and the host has not shortened it already), and whether it is an `error`."""

    __slots__ = ("_texts", "at", "content", "error", "id", "is_ours_to_shorten", "text")

    def __init__(self, at: int, id: str, content: Any, error: bool) -> None:
        self.at = at
        self.id = id
        self.content = content
        self.error = error
        self.text = text_of_blocks(content)[0]
        self._texts = _texts(content)
        self.is_ours_to_shorten = (isinstance(content, str) or len(self._texts) == 1) and not outcomes.is_hosts_own(self.text)

    def with_text(self, text: str) -> Any:
        """Return the content with another text; images beside it stay."""
        if isinstance(self.content, str):
            return text
        changed = list(self.content)
        changed[self._texts[0]] = {**changed[self._texts[0]], "text": text}
        return changed

    def marked(self) -> Any:
        """Return the content with every text as it enters where nothing can be left out: with marks alone."""
        if isinstance(self.content, str):
            return own_lines.marked(self.content)[0]
        return [_marked(block) for block in self.content]


def _marked(block: Any) -> Any:
    is_text = isinstance(block, dict) and isinstance(block.get("text"), str)
    return {**block, "text": own_lines.marked(block["text"])[0]} if is_text else block


def _texts(content: Any) -> list[int]:
    """Return the places of the text blocks; none where anything but texts and images is among them."""
    if not isinstance(content, list):
        return []
    kinds = [as_object(block).get("type") for block in content]
    if not all(kind in ("text", "image") for kind in kinds):
        return []
    return [at for at, block in enumerate(content) if kinds[at] == "text" and isinstance(block.get("text"), str)]


class Row:
    """A row of the conversation: the `blocks` of its message, and the `results` among them. One without a role is that of a call which a
    script made (Code Mode): no request carries it."""

    __slots__ = ("blocks", "results")

    def __init__(self, message: object) -> None:
        is_sent = isinstance(message, dict) and (message.get("role") or "type" not in message)
        blocks = message.get("content") if isinstance(message, dict) and is_sent else None
        self.blocks: list[Any] = as_list(blocks)
        self.results = [
            ArrivingResult(at, block["tool_use_id"], block.get("content"), block.get("is_error") is True)
            for at, block in enumerate(self.blocks)
            if isinstance(block, dict) and block.get("type") == "tool_result" and text_in_field(block, "tool_use_id")
        ]
