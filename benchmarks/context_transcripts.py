"""Recorded sessions as the requests that a client would have sent: the messages at each prompt of the user's, in Anthropic's form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "power-mode"))

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.entries import is_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Message = dict[str, Any]
_SENT = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")


def requests(path: str) -> Iterator[tuple[int, list[Message]]]:
    """(how many requests the session had before, the messages of the request) for each request of the main thread that answers a prompt
    of the user's. OSError for a file that cannot be read."""
    thread, asked, again, last = _Thread(), False, False, ""
    answered: set[str] = set()
    for entry in entries.read(path, Path(path).stat().st_size):
        if not isinstance(entry.get("uuid"), str) or entry.get("isSidechain"):
            continue
        if entry.get("type") == "assistant" and is_answer(entry):
            name = entry["message"].get("id") or entry["uuid"]
            again = name in answered and (again or name != last)
            if again:  # a conversation that is taken up again may be written once more
                continue
            if name not in answered:
                thread.follow(entry)
                sent = messages(thread.entries) if asked else []
                if sent and sent[-1]["role"] == "user":
                    yield len(answered), sent
                answered.add(name)
                asked, last = False, name
        asked = asked or entries.is_prompt(entry)
        thread.see(entry)


class _Thread:
    """The conversation as it stands: the entries since the last compaction, without what the user has gone back behind."""

    def __init__(self) -> None:
        self.entries: list[entries.Entry] = []
        self.ends: dict[str, int] = {}  # uuid -> how many entries there were after it
        self.calls: dict[str, str] = {}  # tool_use id -> uuid of its entry

    def see(self, entry: entries.Entry) -> None:
        """Takes the next entry in."""
        if entries.is_compaction(entry):
            self.entries, self.ends = [], {}
        elif entry.get("type") == "user" and not entry.get("isVisibleInTranscriptOnly"):
            if not any(block.get("type") == "tool_result" for block in entries.blocks_of(entry)):
                self.follow(entry)
            self.entries.append(entry)
        elif entry.get("type") == "assistant" and is_answer(entry):
            self.calls.update((block["id"], entry["uuid"]) for block in entries.blocks_of(entry) if isinstance(block.get("id"), str))
            self.entries.append(entry)
        self.ends[entry["uuid"]] = len(self.entries)

    def follow(self, entry: entries.Entry) -> None:
        """An entry that hangs off one before the end begins a new branch; results of parallel calls that stay hang off it."""
        kept = self.ends.get(entry.get("parentUuid") or "", len(self.entries))
        self.entries = self.entries[:kept] + [each for each in self.entries[kept:] if self._stays(each, kept)]

    def _stays(self, entry: entries.Entry, kept: int) -> bool:
        ids = [block.get("tool_use_id") for block in entries.blocks_of(entry) if block.get("type") == "tool_result"]
        return bool(ids) and all(self.ends.get(self.calls.get(str(id), ""), kept + 1) <= kept for id in ids)


def messages(thread: list[entries.Entry]) -> list[Message]:
    """The messages of a request: the lines of one answer as one message, roles alternating, each call with its result behind it."""
    made: list[Message] = []
    places: dict[str, int] = {}  # id of an answer -> where its message is
    for entry in thread:
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else entries.blocks_of(entry)
        blocks = [block for block in blocks if block.get("type") in _SENT and block.get("text") != ""]
        role, name = str(entry["type"]), entry["message"].get("id") if isinstance(message, dict) else None
        at = places.get(name, -1) if role == "assistant" and name else -1
        if at >= 0:
            made[at]["content"] += blocks
        elif made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        else:
            places[str(name)] = len(made)
            made.append({"role": role, "content": list(blocks)})
    return _valid(made)


def _valid(made: list[Message]) -> list[Message]:
    """Messages without calls that nobody answered, results that nobody called for, and what is empty then; the user begins."""
    valid: list[Message] = []
    for at, message in enumerate(made):
        if message["role"] == "assistant":
            answered = _ids(made[at + 1], "tool_use_id") if at + 1 < len(made) else set()
            blocks = [block for block in message["content"] if block["type"] != "tool_use" or block.get("id") in answered]
        else:
            waiting = _ids(valid[-1], "id") if valid else set()
            blocks = []
            for block in message["content"]:
                if block["type"] != "tool_result" or block.get("tool_use_id") in waiting:
                    waiting.discard(block.get("tool_use_id", ""))
                    blocks.append(block)
        if all("thinking" in block["type"] for block in blocks):  # a client does not send it either
            continue
        if valid and valid[-1]["role"] == message["role"]:
            valid[-1]["content"] += blocks
        elif valid or message["role"] == "user":
            valid.append({"role": message["role"], "content": blocks})
    return valid


def _ids(message: Message, name: str) -> set[str]:
    return {block[name] for block in message["content"] if isinstance(block.get(name), str)}
