"""Represent the messages of a conversation as a host hands them over and takes them back (words, calls, results), and the stubs that
replace what a compaction leaves out of them. Pure.

A host may hand over one message for each block. `paired` brings them into the one form that every provider takes: the calls that were made
at once are in one message, and the results of just these in the next.

Three things leave: the text of a result, which leaves a placeholder (placeholder.py); the long fields of a call that was to change a file,
whose stub is still an input that the tool would take; and whole calls with their results, which one line of text replaces. What left has
been archived: a result as its content, a call as its input, whole calls as the messages that they were in.
"""

from __future__ import annotations

from zlib import crc32

from .estimate import CALL_TOKENS, RESULT_TOKENS, estimate_tokens
from .placeholder import handle_in, is_handle, placeholder, with_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .tools import Tool, Tools

ASSISTANT, USER = "assistant", "user"
NO_RESULT = "[This call was interrupted: it has no result]"
# Of the signature of a block of thinking: what it has beside the sealed text (characters), and characters of that text to a token.
_SEAL_CHARS = 235
_SEALED_CHARS_PER_TOKEN = 2.7


class NotUnderstood(ValueError):
    """The messages are not a conversation that could be handed back; the message says what is wrong."""


class Use:
    """A tool call as it was made: `input` is the host's object, `tool` its name there, `traits` what it does."""

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


class Shown:
    """A result as the context shows it."""

    __slots__ = ("error", "id", "text")

    def __init__(self, id: str, text: str, error: bool = False) -> None:
        self.id = id
        self.text = text
        self.error = error


class Message:
    """The text of one side, the calls it made, the results it brings."""

    __slots__ = ("results", "role", "text", "uses")

    def __init__(self, role: str, text: str = "", uses: Sequence[Use] = (), results: Sequence[Shown] = ()) -> None:
        self.role = role
        self.text = text
        self.uses = list(uses)
        self.results = list(results)

    def to_json(self) -> dict[str, Any]:
        """Return the message as the host takes it."""
        return {
            "role": self.role,
            "text": self.text,
            "toolUses": [{"tool_use_id": use.id, "tool": use.tool, "input": use.input} for use in self.uses],
            "toolResults": [{"tool_use_id": shown.id, "text": shown.text, "isError": shown.error} for shown in self.results],
        }


def message_of(value: object, tools: Tools) -> Message:
    """Return a message as a host with these tools gives it; NotUnderstood for anything else."""
    if not isinstance(value, dict) or value.get("role") not in (ASSISTANT, USER) or not isinstance(value.get("text"), str):
        raise NotUnderstood("a message has no known role, or no text")
    uses, results = ([] if value.get(name) is None else value[name] for name in ("toolUses", "toolResults"))
    if not isinstance(uses, list) or not isinstance(results, list):
        raise NotUnderstood("the calls or results of a message are not a list")
    return Message(value["role"], value["text"], [_use(each, tools) for each in uses], [_shown(each) for each in results])


def _use(value: object, tools: Tools) -> Use:
    if isinstance(value, dict):
        id, tool, tool_input = value.get("tool_use_id"), value.get("tool"), value.get("input")
        if isinstance(id, str) and id and isinstance(tool, str) and tool and isinstance(tool_input, dict):
            return Use(id, tools.of(tool), tool_input)
    raise NotUnderstood("a call has no id, no tool or no input")


def _shown(value: object) -> Shown:
    if isinstance(value, dict) and isinstance(value.get("tool_use_id"), str) and isinstance(value.get("text"), str):
        return Shown(value["tool_use_id"], value["text"], value.get("isError") is True)
    raise NotUnderstood("a result has no id or no text")


def paired(messages: Iterable[Message]) -> list[Message]:
    """Return the same conversation in the one form. Messages that say nothing are left out, as no provider takes blanks alone; what the
    assistant says between calls that it made at once comes before them. A call that got no result before the user spoke on, or the
    conversation ended, gets one that says so, as every provider asks for it. NotUnderstood where a result answers no call, or an id comes
    twice."""
    pairs: list[Message] = []
    seen: set[str] = set()
    run = _Run()
    for message in messages:
        for use in message.uses:
            if use.id in seen:
                raise NotUnderstood(f"{use.id} comes twice")
            seen.add(use.id)
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

    __slots__ = ("results", "uses")

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.results: dict[str, Shown] = {}

    def take(self, message: Message) -> None:
        self.uses += message.uses
        for shown in message.results:
            if shown.id in self.results or all(use.id != shown.id for use in self.uses):
                raise NotUnderstood(f"{shown.id} answers no call")
            self.results[shown.id] = shown

    @property
    def is_answered(self) -> bool:
        return bool(self.uses) and len(self.results) == len(self.uses)

    def messages(self) -> list[Message]:
        if not self.uses:
            return []
        results = [self.results.get(use.id) or Shown(use.id, NO_RESULT, True) for use in self.uses]
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


# --- stubs ---

# Shorter fields stay: a stub would be hardly shorter.
LEAST_STUBBED = 400
_ON_DISK, _FAILED = "its effect is on disk", "the call has failed"
HEAD, MIDDLE, TAIL = "[PopKit left out ", ": popkit restore ", "]"
BETWEEN_LABELS, IN_THEM = "; ", "in them: "
_LABEL_CHARS = 90


def long_fields(use: Use) -> list[str]:
    """Return the fields of a call that a stub can take the place of, for what they held was to go to disk; [] for none, and once one of
    them has left."""
    fields = [name for name in use.traits.on_disk if isinstance(use.input.get(name), str)]
    if sum(len(use.input[name]) for name in fields) < LEAST_STUBBED or any(handle_in(use.input[name]) for name in fields):
        return []
    return fields


def replaced_fields(use: Use) -> list[str]:
    """Return those of the long fields that hold what the call has replaced, and no file holds any more."""
    return [field for field in long_fields(use) if field not in use.traits.written] if use.traits.written else []


def why_stubbed(failed: bool) -> str:
    """Return why an input leaves; `failed`: nothing of it is on disk."""
    return _FAILED if failed else _ON_DISK


def stub(use: Use, handle: str, fields: Sequence[str] | None = None, failed: bool = False) -> dict[str, Any]:
    """Return the input of a call, which may have `failed`, with placeholders in these fields, in all long ones by default. Two fields never
    say the same: each names itself."""
    names = long_fields(use) if fields is None else fields
    return {**use.input, **{name: placeholder(f"{name} of this {use.tool}", why_stubbed(failed), handle) for name in names}}


def stub_with_names(use: Use, names: Sequence[str]) -> dict[str, Any]:
    """Return the input of a stub with names behind its last placeholder."""
    field = [name for name in use.traits.on_disk if handle_in(use.input.get(name))][-1]
    return {**use.input, field: with_names(use.input[field], names)}


def handle_of_stub(use: Use) -> str:
    """Return the handle that a stub names; "" for an input that is none."""
    return next(filter(None, (handle_in(use.input.get(name)) for name in use.traits.on_disk)), "")


def folded(labels: Sequence[str], handle: str, names: Sequence[str] = (), unnamed: int = 0) -> Message:
    """Return the text that replaces whole calls of these labels and their results, and so many that it does not name; `names`: names from
    them that it lists."""
    times: dict[str, int] = {}
    for label in map(in_list, labels):
        times[label] = times.get(label, 0) + 1
    phrases = [label if count == 1 else f"{label} ({count} times)" for label, count in times.items()]
    if unnamed:
        phrases.append(f"and {unnamed} more" if phrases else "1 call" if unnamed == 1 else f"{unnamed} calls")
    phrases += [IN_THEM + " ".join(names)] if names else []
    return Message(USER, HEAD + BETWEEN_LABELS.join(phrases) + MIDDLE + handle + TAIL)


def in_list(label: str) -> str:
    """Return a label as a list has it: what is between two labels is in none of them."""
    return _in_a_line(label)[:_LABEL_CHARS].replace("[", "(").replace("]", ")").replace(BETWEEN_LABELS, ";")


def _in_a_line(label: str) -> str:
    if not label.isprintable():
        label = "".join([char if char.isprintable() else " " for char in label])
    return " ".join(label.split())


def handle_of_fold(text: str) -> str:
    """Return the handle in a message that replaces whole calls; "" for any other text."""
    if not text.startswith(HEAD) or not text.endswith(TAIL):
        return ""
    handle = text[: -len(TAIL)].rpartition(MIDDLE)[2]
    return handle if is_handle(handle) else ""


def handle_of_list(message: Message) -> str:
    """Return the handle that a message names if all of it replaces whole calls, else ""."""
    return handle_of_fold(message.text) if message.role == USER and not (message.uses or message.results) else ""


def put_back(
    messages: Sequence[Message],
    content_of: Callable[[str], Any],
    tools: Tools,
    is_of: Callable[[str, str], bool] = lambda handle, call: True,
) -> list[Message]:
    """Return the messages with what left them in its place again. `content_of(handle)`: what is archived (the text of a result, the input
    of a call, a list of messages as JSON), None where it is to stay out. `is_of(handle, id)`: whether that was taken from the call of this
    id, "" for whole calls. What names a handle in the place of something else stays, as does a second message that quotes a line for whole
    calls: no call comes back twice."""
    back: list[Message] = []

    def content(handle: str, id: str) -> Any:
        return content_of(handle) if handle and is_of(handle, id) else None

    for message in _opened(messages, lambda handle: content(handle, ""), tools):
        uses = [_use_back(use, content) for use in message.uses]
        back.append(Message(message.role, message.text, uses, [_shown_back(shown, content) for shown in message.results]))
    return back


def _opened(messages: Sequence[Message], content_of: Callable[[str], Any], tools: Tools) -> list[Message]:
    """Return the messages with what lists stand for in its place again, and so on for the lists among that. The last list is the first: a
    call that comes back with it may tell the place of what an earlier one stands for. A quote of a list that another one holds stays."""
    opened = list(messages)
    contents: dict[str, list[tuple[Message, list[Any]]]] = {}  # (what comes back, where it stood) by the handle of a list
    holder: dict[str, str] = {}  # of a list that another one holds, the handle of that
    waiting = [handle for handle in map(handle_of_list, opened) if handle]
    while waiting:
        handle = waiting.pop()
        content = None if handle in contents else content_of(handle)
        if isinstance(content, list):
            contents[handle] = [(message_of(each, tools), each.get("before") or []) for each in content]
            inner = [each for each in (handle_of_list(message) for message, _ in contents[handle]) if each]
            holder.update(dict.fromkeys(inner, handle))
            waiting += inner
    while True:
        first: dict[str, int] = {}
        for at, handle in enumerate(map(handle_of_list, opened)):
            if handle in contents and holder.get(handle) not in contents:
                first.setdefault(handle, at)
        if not first:
            return opened
        last = max(first, key=first.__getitem__)
        here = first[last]
        del opened[here]
        for message, before in contents.pop(last):
            place = place_of(opened, here, before)
            opened.insert(here if place is None else place, message)
            here += place is None


# --- places ---


def marks_of(messages: Sequence[Message], since: int, at: int) -> list[Any]:
    """Return what tells later where the message `at` was: if it makes a call, the id of that; then of the first line of the next words its
    length and checksum, the how many-th such line from `since` on it is, and what comes before it. Words never leave, so they are found
    again; a host may join them."""
    marks: list[Any] = [messages[at].uses[0].id] if at < len(messages) and messages[at].uses else []
    words = next((place for place in range(at, len(messages)) if _words(messages[place])), None)
    if words is None:
        return marks
    text = messages[words].text
    line = text.lstrip("\n").partition("\n")[0]
    texts = [text for text in map(_words, messages[since:words]) if line in text]
    count = 1 + sum([text.split("\n").count(line) for text in texts])
    return [*marks, [len(line), _checksum(line), count, len(text) - len(text.lstrip("\n"))]]


def place_of(messages: list[Message], since: int, marks: Sequence[Any]) -> int | None:
    """Return the place that one of the marks tells, the first that does, among the messages from `since` on; None for none. What the
    assistant said before and behind it comes apart where it was joined."""
    for mark in marks:
        at, start = _of_call(messages, since, mark) if isinstance(mark, str) else _of_line(messages, since, *mark)
        if at is not None:
            message = messages[at]
            if start and message.role == ASSISTANT and not message.uses and message.text[start - 1] == "\n":
                messages[at : at + 1] = [Message(ASSISTANT, message.text[: start - 1]), Message(ASSISTANT, message.text[start:])]
                return at + 1
            return at
    return None


def _of_call(messages: Sequence[Message], since: int, id: str) -> tuple[int | None, int]:
    return next((at for at in range(since, len(messages)) if any(use.id == id for use in messages[at].uses)), None), 0


def _of_line(messages: Sequence[Message], since: int, length: int, checksum: int, count: int, before: int) -> tuple[int | None, int]:
    """Return the message with the line that `marks_of` told of, and where its words begin in it."""
    for at in range(since, len(messages)):
        start = 0
        for line in _words(messages[at]).split("\n"):
            if len(line) == length and _checksum(line) == checksum:
                count -= 1
                if not count:
                    return at, max(0, start - before)
            start += len(line) + 1
    return None, 0


def _words(message: Message) -> str:
    return "" if handle_of_list(message) else message.text


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _use_back(use: Use, content_of: Callable[[str, str], Any]) -> Use:
    content = content_of(handle_of_stub(use), use.id)
    return Use(use.id, use.traits, content) if isinstance(content, dict) else use


def _shown_back(shown: Shown, content_of: Callable[[str, str], Any]) -> Shown:
    content = content_of(handle_in(shown.text), shown.id)
    return Shown(shown.id, content, shown.error) if isinstance(content, str) else shown
