"""Read a conversation as the client sends it, from its transcript. Pure.

The rows that a hook on compactions is given lack whatever the client adds: words typed while Claude works, files named with `@`, reports of
background agents, the text of a skill, what hooks add, rules of a folder. The messages of the next request have all of it: reminders
behind the text of the result at which they came, or blocks beside what the person said. So the messages are read, and the rows tell which
of their texts were rows. What the client says again by itself is left out. What cannot be told apart is not understood.
"""

from __future__ import annotations

import json  # noqa: TID253  only the helper comes here

from ...io.codec import as_object
from ...policy.messages import ASSISTANT, USER, Message, MessagesNotUnderstood, ShownResult, Use, message_of
from .. import CLAUDE_CODE
from .attachments import ADAPTIVE, RENEWED, SAID_AGAIN, Attachments
from .blocks import MEDIA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...policy.tools import Tools

# The client hands over no more messages than this, the newest: how many came before is not known.
MOST_MESSAGES = 4096
_BEGIN, _END = "<system-reminder>", "</system-reminder>"
# What the client leaves of a result that it has cleared itself.
CLEARED = "[Old tool result content cleared]"
# `as_row`: the mod has left out what the row of this call or result has, too, word for word.
_EVERYWHERE = {"type", "cache_control", "as_row"}
# What each kind of block may hold: with anything else it says what a rebuilt one would not.
_FIELDS = {
    "text": _EVERYWHERE | {"text", "citations"},
    "tool_use": _EVERYWHERE | {"id", "name", "input", "caller"},
    "tool_result": _EVERYWHERE | {"tool_use_id", "content", "is_error"},
    "tool_reference": _EVERYWHERE | {"tool_name"},
    "image": _EVERYWHERE | {"source"},
    "document": _EVERYWHERE | {"source", "title", "context", "citations"},
}
_THINKS = ("thinking", "redacted_thinking")


class SentConversation:
    """A conversation: its `messages` · `contents`, id of a result -> its content as JSON text, where that is more than one text · `lost`,
    ids of the results whose text alone would not say what they showed · `loaded`, names of the tools that results made known · `renewed`,
    what the client has said anew since, and stands no more."""

    __slots__ = ("contents", "loaded", "lost", "messages", "renewed")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.contents: dict[str, str] = {}
        self.lost: set[str] = set()
        self.loaded: list[str] = []
        self.renewed: list[str] = []


def read(
    sent: object, rows: object, tools: Tools, attachments: Attachments, show: Callable[[dict[str, object]], str], host: str = CLAUDE_CODE
) -> SentConversation:
    """Return the conversation of the messages `sent`, whose `rows` the host hands over. `show(block)`: the text that takes the place of a
    picture or document of the person's; `host`: its name. MessagesNotUnderstood where rows and messages do not match, or anything would be
    lost."""
    agent = "Claude" if host == CLAUDE_CODE else host
    if not isinstance(sent, list):
        raise MessagesNotUnderstood(f"this version of {host} does not say what it sends")
    if not isinstance(rows, list) or not rows:
        raise MessagesNotUnderstood("there are no messages to compact")
    if len(sent) >= MOST_MESSAGES:
        raise MessagesNotUnderstood(f"the conversation has more messages than {host} hands over")
    reader = _Reader(rows, tools, attachments, show, host)
    for message in sent:
        reader.take(message)
    reader.check()
    turn = _open_turn(sent)
    if attachments.thinking != ADAPTIVE and any(not kinds.isdisjoint(_THINKS) for kinds in turn):
        raise MessagesNotUnderstood(f"{agent} is in the middle of a turn, and this model needs its thinking until the turn ends")
    if turn and not (turn[0] | turn[-1]).isdisjoint(MEDIA):
        raise MessagesNotUnderstood(f"{agent} is in the middle of a turn about a picture or a document, which a compaction cannot carry")
    return reader.done


def _open_turn(sent: Sequence[Any]) -> list[set[str]]:
    """Return the kinds of blocks of each message since the person spoke last, what shows in results among them: first what the model has
    not seen, last what the person said; none where the turn waits for no answer to a result. Where thinking is not adaptive, the provider
    refuses a request that lacks what was thought in an open turn."""
    turn: list[set[str]] = []
    for message in reversed(sent):
        kinds = {block["type"] for block in message["content"]}
        for block in message["content"]:
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                kinds |= {each["type"] for each in block["content"]}
        turn.append(kinds)
        if "tool_result" not in turn[0]:
            return []
        if message["role"] == USER and "tool_result" not in kinds:
            break
    return turn


class _Reader:
    """Takes one message after the other."""

    def __init__(
        self, rows: Sequence[object], tools: Tools, attachments: Attachments, show: Callable[[dict[str, object]], str], host: str
    ) -> None:  # fmt: skip
        self.done = SentConversation()
        self.attachments = attachments
        self.tools = tools
        self.show = show
        self.host = host
        known = [message_of(row, tools) for row in rows]
        self.uses = {use.id: use for row in known for use in row.uses}
        self.results = {shown.id: shown.text for row in known for shown in row.results}
        self.words = dict.fromkeys([row.text.strip() for row in known if row.role == USER and row.text.strip()])
        # What of the rows was sent.
        self.taken: set[str] = set()
        self.called: set[str] = set()
        self.answered: set[str] = set()
        self.reminded: dict[str, Message] = {}  # what stands once: where it was said last
        self.newest: dict[str, Message] = {}  # type -> what the client has said last of what it says anew

    def take(self, message: object) -> None:
        blocks = as_object(message).get("content")
        if not isinstance(message, dict) or message.get("role") not in (USER, ASSISTANT) or not isinstance(blocks, list):
            raise MessagesNotUnderstood("a message has no known role, or no content")
        for block in blocks:
            _check(block)
        if message["role"] == ASSISTANT:
            self._answered(blocks)
        else:
            self._asked(blocks)

    def check(self) -> None:
        """Raise MessagesNotUnderstood where a row was not sent."""
        missing = (self.uses.keys() - self.called) | (self.results.keys() - self.answered)
        if missing:
            raise MessagesNotUnderstood(f"{min(missing)} is not in what {self.host} sends")
        if any(text not in self.taken for text in self.words if not text.startswith(_BEGIN)):
            raise MessagesNotUnderstood(f"something that was said is not in what {self.host} sends")

    def _answered(self, blocks: list[dict[str, Any]]) -> None:
        texts, uses = [], []
        for block in blocks:
            if block["type"] == "text" and not block.get("citations"):
                texts.append(_text(block, "text"))
            elif block["type"] == "tool_use" and (block.get("caller") or {}).get("type", "direct") == "direct":
                uses.append(self._use(block))
            elif block["type"] not in _THINKS:
                raise MessagesNotUnderstood(f"a {block['type']} of the assistant's cannot be carried")
        self.done.messages.append(Message(ASSISTANT, "\n".join(texts), uses))

    def _use(self, block: dict[str, Any]) -> Use:
        """Return a call as its row has it: what is sent may be shortened for the provider."""
        id, name, tool_input = _text(block, "id"), _text(block, "name"), block.get("input")
        self.called.add(id)
        if block.get("as_row") and id in self.uses:
            return self.uses[id]
        if not isinstance(tool_input, dict):
            raise MessagesNotUnderstood("a call has no input")
        return self.uses.get(id) or Use(id, self.tools.of(name), tool_input)

    def _asked(self, blocks: list[dict[str, Any]]) -> None:
        results: list[ShownResult] = []
        said: list[Message] = []
        for block in blocks:
            if block["type"] == "tool_result":
                results.append(self._result(block, said))
            elif block["type"] == "text":
                said += self._said(_text(block, "text"))
            elif block["type"] in MEDIA:
                said.append(Message(USER, self.show(block)))
            else:
                raise MessagesNotUnderstood(f"a {block['type']} of the user's cannot be carried")
        if results:
            self.done.messages.append(Message(USER, "", (), results))
        self.done.messages += said

    def _said(self, text: str) -> Iterator[Message]:
        """Yield what stands for a text beside calls and results: a row as it is, what the person typed meanwhile as their own words,
        anything else that the client does not say again as a reminder."""
        bare = text.strip()
        if not bare:
            return
        attachment = self.attachments.of(text)
        if (bare in self.words or attachment is None) and self._is_of_a_row(bare) and not bare.startswith(_BEGIN):
            yield Message(USER, text.rstrip())
        elif attachment is not None and attachment.words:
            yield Message(USER, attachment.words)
        elif attachment is None or attachment.type not in SAID_AGAIN:
            yield self._reminder(bare, attachment.type if attachment is not None else "")

    def _reminder(self, bare: str, type: str) -> Message:
        """Return a reminder. What was said before in the same words, or of what only the newest is true, stands no more where it stood:
        the last word on a thing stays the last."""
        reminder = Message(USER, bare if bare.startswith("<") else f"{_BEGIN}\n{bare}\n{_END}")
        same, older = self.reminded.get(reminder.text), self.newest.get(type) if type in RENEWED else None
        if same is not None:
            same.text = ""  # a message that says nothing is left out
        if older is not None and older.text:
            self.done.renewed.append(older.text)
            older.text = ""
        self.reminded[reminder.text] = self.newest[type] = reminder
        return reminder

    def _is_of_a_row(self, text: str) -> bool:
        """Return whether a text is what a row says, or one of the blocks of a row."""
        wholes = [text] if text in self.words else [word for word in self.words if text in word and not text.startswith(_BEGIN)]
        self.taken.update([word for word in wholes if word.endswith(text)])
        return wholes != []

    def _result(self, block: dict[str, object], said: list[Message]) -> ShownResult:
        """Return a result as its row has it. What the client has put behind its text is added to what is `said`."""
        id, content = _text(block, "tool_use_id"), block.get("content")
        if block.get("as_row") and id in self.results:
            self.answered.add(id)
            return ShownResult(id, self.results[id], block.get("is_error") is True)
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if not isinstance(blocks, list):
            raise MessagesNotUnderstood(f"the content of {id} is no list")
        if content == CLEARED:
            self.answered.add(id)
            return ShownResult(id, CLEARED, block.get("is_error") is True)
        own, texts = [], []
        rest = self.results[id].strip() if id in self.results else None
        for each in blocks:
            _check(each)
            if each["type"] == "text":
                text, rest, behind = self._apart(_text(each, "text"), rest)
                said += [message for reminder in behind for message in self._said(reminder)]
                if text:
                    texts.append(text)
                    own.append({**each, "text": text})
            elif each["type"] == "tool_reference":
                self.done.loaded.append(_text(each, "tool_name"))
                texts.append(_loaded(each))
                own.append(each)
            elif each["type"] in MEDIA:
                self.done.lost.add(id)
                own.append(each)
            else:
                raise MessagesNotUnderstood(f"a {each['type']} in a result cannot be carried")
        if rest:
            raise MessagesNotUnderstood(f"the result of {id} is not what {self.host} sends")
        self.answered.add(id)
        if len(own) > 1 or any(each["type"] != "text" for each in own):
            self.done.contents[id] = json.dumps(own, ensure_ascii=False, separators=(",", ":"))
        named = any(each["type"] == "tool_reference" for each in own)
        text = self.results[id] if id in self.results and not named else "\n".join(texts)
        return ShownResult(id, text, block.get("is_error") is True)

    def _apart(self, text: str, row: str | None) -> tuple[str, str | None, list[str]]:
        """Return (what of a text the result itself says, what of its row is left to come, the reminders behind it). `row`: what its row
        says from here on, None where there is no row."""
        if row is None and _BEGIN in text:
            raise MessagesNotUnderstood(f"what {self.host} has put behind a result cannot be told from it")
        if row is None:
            return text, None, []
        bare = text.strip()
        if row.startswith(bare):
            return text, row[len(bare) :].lstrip(), []
        behind = bare[len(row) :].strip()
        if not bare.startswith(row) or not behind.startswith(_BEGIN):
            raise MessagesNotUnderstood(f"a result is not what {self.host} sends")
        return row, "", list(self._reminders(behind))

    def _reminders(self, text: str) -> Iterator[str]:
        """Yield the reminders that follow each other in a text: each ends where one begins behind it, or where the transcript says so."""
        begin = at = 0
        while begin < len(text):
            at = text.find(_END, at)
            if at < 0:
                raise MessagesNotUnderstood("a reminder behind a result has no end")
            at += len(_END)
            one, behind = text[begin:at], text[at:].lstrip()
            if not behind or self.attachments.of(one) or one in self.words or behind.startswith(_BEGIN):
                yield one
                begin = len(text) - len(behind)
                at = begin


def text_of(content: Sequence[Any]) -> str | None:
    """Return the text that stands for the content of a result, blocks; None for one that shows more than text."""
    if not all(isinstance(block, dict) and block.get("type") in ("text", "tool_reference") for block in content):
        return None
    return "\n".join(str(block.get("text")) if block["type"] == "text" else _loaded(block) for block in content)


def _loaded(block: dict[str, object]) -> str:
    """Return the text that stands for a reference to a tool."""
    return f"Loaded the tool {block.get('tool_name')}"


def _check(block: object) -> None:
    """Raise MessagesNotUnderstood for a block of an unknown kind, or with more in it than its kind is known to have."""
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise MessagesNotUnderstood("a block has no type")
    if block["type"] in _THINKS:
        return
    known = _FIELDS.get(block["type"])
    if known is None:
        raise MessagesNotUnderstood(f"a {block['type']} cannot be carried")
    if not known.issuperset(block):
        more = block.keys() - known
        raise MessagesNotUnderstood(f"a {block['type']} with {min(more)} cannot be carried")


def _text(block: dict[str, object], name: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise MessagesNotUnderstood(f"a {block['type']} has no {name}")
    return value
