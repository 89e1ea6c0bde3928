"""Find the place of the calls that a list replaces. Pure."""

from __future__ import annotations

from zlib import crc32

from .list_text import handle_of_list
from .messages import ASSISTANT, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


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
