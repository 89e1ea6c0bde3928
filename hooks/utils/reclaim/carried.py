"""Read which of a host's messages can be handed back as a compaction: texts and calls. A note takes the place of anything else. Reads only.

An image or a document that the user gave is in the transcript alone. A result that holds one, or anything else that is no text, is archived
whole, and its placeholder says how to see it. Commands that were typed at the host are messages, too: those of ours, and of compactions,
say nothing to the model.
"""

from __future__ import annotations

import json  # noqa: TID253  only the helper comes here

from ..hosts.claude_code import entries
from ..hosts.claude_code.spans import NotUnderstood as NoSpans
from ..hosts.claude_code.spans import content_spans
from ..policy.messages import USER, Message, NotUnderstood, message_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..policy.tools import Tools

_OURS = ("<command-name>/compact</command-name>", "<command-name>/popkit")
_CAVEAT, _STDOUT, _COMPACTED = "<local-command-caveat>", "<local-command-stdout>", "Compacted"
_CODES = 8  # characters of a terminal's codes that may stand before what a command printed
_MARKS = (b'"image"', b'"document"')  # as a value: in a text their quotes are escaped
_LIST = b'"content":[{'
_NOT_HERE = "[{} stood here. A compaction cannot carry it: ask for it again if you need to see it.]"


class Pictures:
    """Parts of messages that are more than text: `beside`, uuid of a user's entry -> what it showed beside its text; `contents`, id of a
    result -> its content as JSON text; `lost`, ids of the results whose text alone would not say what they showed."""

    __slots__ = ("beside", "contents", "lost")

    def __init__(self) -> None:
        self.beside: dict[str, list[str]] = {}
        self.contents: dict[str, str] = {}
        self.lost: set[str] = set()


def pictures(transcript_path: str, rows: Sequence[object]) -> Pictures:
    """Return what the messages show that is more than text, from the transcript. OSError where it cannot be read; NotUnderstood where it is
    not."""
    result = Pictures()
    handles = {row["handle"] for row in rows if isinstance(row, dict) and isinstance(row.get("handle"), str)}
    for line in _lines(transcript_path):
        entry = entries.entry_of(line)
        if entry is None or entry.get("uuid") not in handles:
            continue
        shown = [block["type"] for block in entries.blocks_of(entry) if block.get("type") in ("image", "document")]
        if shown:
            result.beside[entry["uuid"]] = shown
        try:
            spans = content_spans(line)
        except NoSpans as error:
            raise NotUnderstood(str(error)) from None
        for id, (start, end) in spans.items():
            content = line[start:end].decode("utf-8")
            result.contents[id] = content
            if not _is_text(json.loads(content)):
                result.lost.add(id)
    return result


def _is_text(content: object) -> bool:
    """Return whether the content of a result is nothing but text."""
    if isinstance(content, list):
        return all(isinstance(block, dict) and block.get("type") == "text" for block in content)
    return isinstance(content, (str, type(None)))


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines that can hold anything but text: with a picture, or with a result whose content is a list, as its entry's is."""
    with open(path, "rb") as file:
        for line in file:
            if any(mark in line for mark in _MARKS) or line.count(_LIST) > 1:
                yield line


def readable(rows: Iterable[object], pictured: Pictures, tools: Tools) -> list[Message]:
    """Return the messages of the rows of a host with these tools; where one showed more than text, it says so. NotUnderstood for anything
    else."""
    made = []
    for row in rows:
        message = message_of(row, tools)
        handle = row.get("handle") if isinstance(row, dict) else None
        for kind in pictured.beside.get(handle, ()) if isinstance(handle, str) else ():
            message.text = "\n".join(filter(None, (message.text, _NOT_HERE.format("An image" if kind == "image" else "A document"))))
        made.append(message)
    return made


def without_commands(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without commands of ours and earlier compactions, and without what they printed: it would grow with each of
    them."""
    kept: list[Message] = []
    was_ours = False
    for message in messages:
        is_word = message.role == USER and not message.results
        is_ours = is_word and message.text.startswith(_OURS)
        if is_ours and kept and kept[-1].role == USER and kept[-1].text.startswith(_CAVEAT):
            kept.pop()
        if not is_ours and not (is_word and _is_printed(message.text, was_ours)):
            kept.append(message)
        was_ours = is_ours
    return kept


def _is_printed(text: str, by_ours: bool) -> bool:
    """Return whether a text is what a command of ours, or a compaction, printed."""
    return text.startswith(_STDOUT) and (by_ours or _COMPACTED in text[: len(_STDOUT) + _CODES + len(_COMPACTED)])
