"""The handover of a conversation that pi lets us compact. Pure.

pi's extension hands over what its projection has, an entry at a time: {`id`, `shown`: the message as the model is shown it, None for one
that is omitted, `raw`: as it was said, where that is another}. Edits replace or omit what single entries show, so words, their order, and
the pairs of calls and results stay as pi has them; what was thought goes where its provider asks for that. Calls that left with their
results are named by a list; the call of one of them carries it, as its result.
"""

from __future__ import annotations

from ...io.codec import as_object, as_objects, text_in_field
from ...policy.list_text import handle_of_fold
from ...policy.messages import ASSISTANT, USER, MessagesNotUnderstood
from .translation import ran

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ...policy.shapes import MessageRow

    Message = dict[str, Any]

# What stands at the head of a conversation that PopKit has compacted: pi asks for a summary.
NOTE = (
    "PopKit has compacted this conversation without a model: what was said stands word for word, and results that are no longer needed are"
    " left out. Where one was, a line says so, and the command in it prints it again."
)
_TOLD = {"compactionSummary": "summary", "branchSummary": "summary"}
_FAILED = ("error", "aborted")
# Where thinking is adaptive, its provider binds it to all that stood before it, and takes a conversation without.
_ADAPTIVE = "adaptive"


class _Entry:
    """An entry: its `id`, the message as it is `shown` (None for one that is not), as it was said (`raw`)."""

    __slots__ = ("id", "raw", "shown")

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            raise MessagesNotUnderstood("an entry has no id")
        shown, raw = value.get("shown"), value.get("raw")
        self.id: str = value["id"]
        self.shown: Message | None = shown if isinstance(shown, dict) else None
        self.raw: Message = raw if isinstance(raw, dict) else self.shown or {}


class PiConversation:
    """A conversation that is handed over: its `rows`, and the messages as they are `sent`, as a host of hooks has them."""

    __slots__ = ("_entries", "_is_bound", "rows", "sent")

    def __init__(self, entries: list[_Entry], is_bound: bool) -> None:
        self._entries = entries
        self._is_bound = is_bound
        conversation = list(_conversation(entries))
        self.sent: list[Message] = [{"role": role, "content": blocks} for role, blocks in conversation]
        self.rows = [_row(role, blocks) for role, blocks in conversation]

    def edits(self, rows: Sequence[MessageRow]) -> dict[str, object]:
        """Return the `edits` after which pi shows these rows, each {`id` of the entry, its new `content`, None for none}; with the
        `summary` of the compaction, and the id of the `first` entry that it keeps. MessagesNotUnderstood where the rows have what no edit
        can say."""
        handed = self._entries
        uses = {use["tool_use_id"]: use["input"] for row in rows for use in row["toolUses"]}
        results = {shown["tool_use_id"]: shown["text"] for row in rows for shown in row["toolResults"]}
        carried = _carried(handed, rows, uses)
        wanted = [(each, _content(each, uses, results, carried)) for each in handed if _has_calls(each.raw)]
        if self._is_bound:
            known = {each.id: content for each, content in wanted}
            touched = [each for each in handed if each.id in known or _thinks(each)]
            wanted = [(each, _thoughtless(known.get(each.id, _shown_content(each)))) for each in touched]
        told = [each.shown for each in handed if each.shown and each.shown.get("role") == "compactionSummary"]
        before = "\n\n".join(filter(None, (text_in_field(message, "summary").replace(NOTE, "").strip() for message in told)))
        first = next((each.id for each in handed if (each.shown or each.raw).get("role") not in _TOLD), "")
        if not first:
            raise MessagesNotUnderstood("no entry could be kept")
        return {
            "edits": [{"id": each.id, "content": content} for each, content in wanted if content != _shown_content(each)],
            "summary": f"{before}\n\n{NOTE}" if before else NOTE,
            "first": first,
        }


def handover(entries: object, thinking: str) -> PiConversation:
    """Return the conversation in the `entries` of a request, whose model thinks so. MessagesNotUnderstood for anything else."""
    if not isinstance(entries, list):
        raise MessagesNotUnderstood("pi does not say what it sends")
    return PiConversation([_Entry(entry) for entry in entries], thinking == _ADAPTIVE)


def _row(role: str, blocks: Sequence[Message]) -> MessageRow:
    of: dict[str, list[Message]] = {"text": [], "tool_use": [], "tool_result": []}
    for block in blocks:
        of[block["type"]].append(block)
    return {
        "role": role, "text": "\n".join(block["text"] for block in of["text"]),
        "toolUses": [{"tool_use_id": block["id"], "tool": block["name"], "input": block["input"]} for block in of["tool_use"]],
        "toolResults": [
            {"tool_use_id": block["tool_use_id"], "text": block["content"], "isError": block["is_error"]} for block in of["tool_result"]
        ],
    }  # fmt: skip


def _conversation(handed: Sequence[_Entry]) -> Iterator[tuple[str, list[Message]]]:
    """Yield (role, blocks) of each message that says something. A list that a call carries is said in the user's place."""
    lists = {id: text for each in handed for id, text in _lists(each.shown)}
    for each in handed:
        message = each.shown or {}
        role = message.get("role")
        if role == "assistant":
            blocks = [block for block in _answered(message) if block.get("id") not in lists]
            if blocks:
                yield ASSISTANT, blocks
        elif role == "toolResult" and message.get("toolCallId") in lists:
            yield USER, [{"type": "text", "text": lists[message["toolCallId"]]}]
        elif role == "toolResult":
            id, text = text_in_field(message, "toolCallId"), text_of(message.get("content"))
            yield USER, [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": message.get("isError") is True}]
        else:
            text = _said(message)
            if text.strip():
                yield USER, [{"type": "text", "text": text}]


def _lists(message: Message | None) -> Iterator[tuple[str, str]]:
    """Yield (id of the call, text) where a result is a list of calls."""
    if message and message.get("role") == "toolResult" and isinstance(message.get("toolCallId"), str):
        text = text_of(message.get("content"))
        if handle_of_fold(text):
            yield message["toolCallId"], text


def _answered(message: Message) -> Iterator[Message]:
    """Yield the texts and calls of an answer; pi sends nothing of one that failed."""
    if message.get("stopReason") in _FAILED:
        return
    for block in _list(message.get("content")):
        if block.get("type") == "text" and text_in_field(block, "text").strip():
            yield {"type": "text", "text": block["text"]}
        elif block.get("type") == "toolCall":
            arguments = block.get("arguments")
            yield {
                "type": "tool_use", "id": text_in_field(block, "id"), "name": text_in_field(block, "name"),
                "input": as_object(arguments),
            }  # fmt: skip


def _said(message: Message) -> str:
    role = str(message.get("role") or "")
    if role == "compactionSummary":
        return text_in_field(message, "summary").replace(NOTE, "")
    if role == "bashExecution":
        return "" if message.get("excludeFromContext") is True else ran(message)
    return text_in_field(message, _TOLD[role]) if role in _TOLD else text_of(message.get("content"))


def _has_calls(message: Message) -> bool:
    if message.get("role") == "toolResult":
        return True
    return message.get("role") == "assistant" and message.get("stopReason") not in _FAILED and bool(_call_ids(message))


def _call_ids(message: Message) -> list[str]:
    return [text_in_field(block, "id") for block in _calls(message)]


def _calls(message: Message) -> list[Message]:
    return [block for block in _list(message.get("content")) if block.get("type") == "toolCall"]


def _carried(handed: Sequence[_Entry], rows: Sequence[MessageRow], uses: dict[str, Any]) -> dict[str, str]:
    """Return {id of the call that carries it: text} of the lists in these rows: a call from between those that stay around the list, one
    that carries a list already if there is one, else that with the smallest input."""
    calls = [block for each in handed if _has_calls(each.raw) for block in _calls(each.raw)]
    place = {text_in_field(block, "id"): at for at, block in enumerate(calls)}
    answered = {text_in_field(each.raw, "toolCallId") for each in handed if each.raw.get("role") == "toolResult"}
    now = {id: text for each in handed for id, text in _lists(each.shown)}
    free = {id: len(str(calls[at].get("arguments"))) for id, at in place.items() if id not in uses and id in answered}
    carried: dict[str, str] = {}
    behind = -1
    for number, row in enumerate(rows):
        behind = max([behind, *(place.get(use["tool_use_id"], -1) for use in row["toolUses"])])
        if row["role"] != USER or not handle_of_fold(row["text"]):
            continue
        later = (use["tool_use_id"] for one in rows[number:] for use in one["toolUses"])
        until = next((place[id] for id in later if id in place), len(calls))
        between = [id for id in free if behind < place[id] < until]
        if not between:
            raise MessagesNotUnderstood("a list of calls has no place")
        *_, chosen = min((now.get(id) != row["text"], id not in now, free[id], place[id], id) for id in between)
        carried[chosen] = row["text"]
        del free[chosen]
    return carried


def _content(each: _Entry, uses: dict[str, Any], results: dict[str, str], carried: dict[str, str]) -> list[Message] | None:
    """Return the content that an answer with calls, or a result, is to have; None for one that is to be omitted."""
    raw = each.raw
    if raw.get("role") == "toolResult":
        id = text_in_field(raw, "toolCallId")
        text = carried.get(id, results.get(id))
        if text is None:
            return None
        return raw["content"] if text == text_of(raw.get("content")) else [{"type": "text", "text": text}]
    stays = [id for id in _call_ids(raw) if id in uses or id in carried]
    content: list[Message] = []
    for block in _list(raw.get("content")):
        if block.get("type") == "toolCall":
            id, arguments = text_in_field(block, "id"), block.get("arguments")
            if id in stays:
                content.append(block if uses.get(id, arguments) == arguments else {**block, "arguments": uses[id]})
        elif stays:
            content.append(block)
        elif block.get("type") == "text" and text_in_field(block, "text"):
            content.append({"type": "text", "text": block["text"]})  # what was thought, and its signatures, belong to the calls
    return content or None


def _shown_content(each: _Entry) -> Any:
    return each.shown.get("content") if each.shown else None


def _thinks(each: _Entry) -> bool:
    message = each.shown or {}
    return message.get("role") == "assistant" and any(block.get("type") == "thinking" for block in _list(message.get("content")))


def _thoughtless(content: Any) -> list[Message] | None:
    """Return a content without what was thought; None where that was all."""
    return [block for block in _list(content) if block.get("type") != "thinking"] or None


def text_of(content: object) -> str:
    """Return the texts of a content, a text or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(text_in_field(block, "text") for block in _list(content) if block.get("type") == "text")


def _list(value: object) -> list[Message]:
    return as_objects(value)
