"""The attachments of a conversation: texts that the client has added to its prompts.

The client keeps all that it adds (words typed while Claude works, files named with `@`, reminders, lists) in entries of their own, each
with the text as it was sent. Reads only, as the transcript grows: a compaction must not wait until all of it is read.
"""

from __future__ import annotations

import os

from ...io.codec import as_list, as_object, loads
from ...policy.hashed import Numbers
from .request_notes import is_of_conversation
from .request_parts import REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the client says again by itself behind a compaction: the first four in the next request, all others with the next result or prompt
# (seen).
SAID_AGAIN = frozenset(
    "instructions session_context date remote_session_change auto_mode output_style environment model deferred_tools_delta"
    " agent_listing_delta mcp_instructions_delta skill_listing output_style_instructions language".split()
)
# What the client counts or lists anew, with many a result: only the newest is true.
RENEWED = frozenset(
    "total_tokens_reminder token_usage output_token_usage budget_usd elapsed_time_reminder silent_turn_reminder task_reminder"
    " todo_reminder".split()
)
ADAPTIVE = "adaptive"
_ATTACHED, _RENDERED = b'"attachment":{', b'"rendered":['


class Attachment:
    """A text that the client has added: its `type` there, and the `words` in it that the person typed, "" for none."""

    __slots__ = ("type", "words")

    def __init__(self, type: str, words: str = "") -> None:
        self.type = type
        self.words = words


class Attachments:
    """The texts that the client has added to one context, by what they say. `thinking`: how the newest request had the model think, as the
    provider calls it ("adaptive", "enabled"), "" where it is not known."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.thinking = ""
        self._distinct: list[Attachment] = []
        self._places: dict[tuple[str, str], int] = {}  # (type, words) -> which of these that is
        self._known = Numbers()  # and of each text; the client adds one with many a result
        self._read = self._inode = 0

    def of(self, text: str) -> Attachment | None:
        """Return what a text of the prompt is, None for none of these."""
        at = self._known.get(text.strip(), -1)
        return None if at < 0 else self._distinct[at]

    def look(self) -> None:
        """Read what has been written since the last look. OSError where it cannot be read."""
        if not self.path:
            raise OSError("this session keeps no transcript")
        with open(self.path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._read:
                self._known, self._read, self._inode, self.thinking = Numbers(), 0, status.st_ino, ""
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # it is being written
                self._read += len(line)
                if line.startswith(REQUEST):
                    self._note_thinking(line)
                elif _ATTACHED in line and _RENDERED in line:
                    self._take(line)

    def _note_thinking(self, line: bytes) -> None:
        """Note how a request of this context had the model think; those for titles and the like have it think otherwise."""
        request = object_of(line)
        if is_of_conversation(request) and self._is_own(request):
            thinking = as_object(request.get("params")).get("thinking")
            self.thinking = str(thinking.get("type") or "") if isinstance(thinking, dict) else ""

    def _is_own(self, request: dict[str, object]) -> bool:
        """Return whether a request is of the main thread in its transcript; a subagent's transcript has only its own."""
        return not request.get("agentId") or "/subagents/" in self.path

    def _take(self, line: bytes) -> None:
        try:
            entry: Any = object_of(line)
            attachment, rendered = entry["attachment"], entry["rendered"]
            texts = [text for each in rendered for text in _texts(each["content"])]
            known = str(attachment["type"]), typed(attachment)
        except (ValueError, KeyError, TypeError):
            return
        at = self._places.setdefault(known, len(self._distinct))
        if at == len(self._distinct):
            self._distinct.append(Attachment(*known))
        for text in texts:
            self._known[text.strip()] = at


def object_of(line: bytes) -> dict[str, object]:
    """Return the object of a line; empty for one that holds none."""
    try:
        value = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return as_object(value)


def _texts(content: object) -> list[str]:
    """Return the texts of a content, a string or blocks."""
    if isinstance(content, str):
        return [content]
    blocks = as_list(content)
    return [str(block.get("text")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"]


def typed(attachment: dict[str, object]) -> str:
    """Return what the person typed while the assistant worked; "" for what somebody else delivered."""
    origin = attachment.get("origin")
    is_theirs = not attachment.get("isMeta") and (not isinstance(origin, dict) or origin.get("kind") == "human")
    return "\n".join(_texts(attachment.get("prompt"))) if is_theirs and attachment.get("commandMode") == "prompt" else ""
