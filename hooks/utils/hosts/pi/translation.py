"""The entries of pi's session files as Claude Code's entries. Pure.

A file is a tree: each entry names the one before it, and the newest is the leaf of the branch that goes on. A `compaction` keeps what
follows an entry that it names, and a `context_edit` replaces or omits what an earlier entry shows. Behind a compaction, and behind edits
of PopKit's, what the model is shown is written down again.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook on a tool call reads other hosts' records

from ...io.codec import as_object, text_in_field
from ...policy.tools import READ
from ..recorded_values import MESSAGE, NO_USAGE, count_of, list_of, objects, stamp_of
from ..transcripts.blocks import text_of_blocks
from . import TOOLS
from .results import error_text, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    Entry = dict[str, Any]

NAME = "pi"
SESSION = "pi_"  # before pi's own id of a session
EDITED = "popkit"  # `customType` of the entry that PopKit leaves behind its edits
_HEADS = (b'{"type":"session",', b'{"type": "session",')
_HEAD_BYTES = 400
_FAILED = ("error", "aborted")


class Translator:
    """Turns the entries of one session into Claude Code's, in the order of the file. `before`: uuid of the last entry of the branch."""

    def __init__(self, session: str = "", cwd: str = "") -> None:
        self.session = session
        self.cwd = cwd
        self.before: str | None = None
        self._tree: dict[str, Entry] = {}
        self._last: dict[str, str | None] = {}  # id of an entry -> uuid of the last that it, or what it follows, was translated to
        self._calls: dict[str, Entry] = {}  # id of a call -> its block

    def entries(self, entry: object) -> Iterator[Entry]:
        """Yield what an entry of the file becomes; nothing for one that is not of the conversation."""
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            return
        if entry["type"] == "session":
            self._begin(entry)
            return
        id, parent = entry.get("id"), entry.get("parentId")
        if not isinstance(id, str) or not id:
            return
        self._tree[id] = entry
        self.before = self._last.get(parent) if isinstance(parent, str) else None
        for translated in self._translated(entry, id):
            translated[MESSAGE] = id
            yield translated
        self._last[id] = self.before

    def _begin(self, header: Entry) -> None:
        if isinstance(header.get("id"), str):
            self.session = SESSION + header["id"]
        self.cwd = text_in_field(header, "cwd") or self.cwd

    def _translated(self, entry: Entry, id: str) -> Iterator[Entry]:
        kind, at = entry["type"], entry.get("timestamp")
        if kind == "message" and isinstance(entry.get("message"), dict):
            yield from self._message(entry["message"], id, at)
        elif kind in ("custom_message", "branch_summary"):
            yield from self._given(id, at, _blocks(entry.get("content", entry.get("summary"))))
        elif kind == "compaction":
            yield from self._compacted(entry, id, text_in_field(entry, "summary"), entry.get("firstKeptEntryId"))
        elif kind == "custom" and entry.get("customType") == EDITED:
            yield from self._compacted(entry, id, "", None)

    def _entry(self, kind: str, uuid: str, at: object, **fields: Any) -> Entry:
        stamp = at if isinstance(at, str) else stamp_of(at)
        entry = {
            "type": kind, "uuid": uuid, "parentUuid": self.before, "sessionId": self.session, "timestamp": stamp, "cwd": self.cwd, **fields,
        }  # fmt: skip
        self.before = uuid
        return entry

    def _message(self, message: Entry, id: str, at: object) -> Iterator[Entry]:
        role = message.get("role")
        if role == "user":
            blocks = _blocks(message.get("content"))
            if blocks:
                yield self._entry("user", id, at, message={"role": "user", "content": blocks})
        elif role == "assistant":
            yield from self._answered(message, id, at)
        elif role == "toolResult":
            yield from self._result(message, id, at)
        elif role == "system":
            text = "\n".join(filter(None, (*_texts(message.get("content")), *_texts(_values(message.get("sections"))))))
            if text:
                yield self._entry("attachment", id, at, attachment={"type": "instructions", "content": text})
        elif role == "bashExecution":
            shown = [] if message.get("excludeFromContext") is True else _blocks(ran(message))
            yield from self._given(id, at, shown)
        elif role == "custom":
            yield from self._given(id, at, _blocks(message.get("content")))

    def _given(self, id: str, at: object, blocks: list[Entry]) -> Iterator[Entry]:
        """Yield what the host said in the user's place."""
        if blocks:
            yield self._entry("user", id, at, isMeta=True, message={"role": "user", "content": blocks})

    def _answered(self, message: Entry, id: str, at: object) -> Iterator[Entry]:
        """Yield an answer, its parts together; of one that failed, no call was made."""
        blocks = [block for block in map(_written, list_of(message.get("content"))) if block]
        if message.get("stopReason") in _FAILED:
            blocks = [block for block in blocks if block["type"] != "tool_use"]
        self._calls.update((block["id"], block) for block in blocks if block["type"] == "tool_use")
        usage = usage_of(message.get("usage"))
        if not blocks and usage is None:
            return
        response = text_in_field(message, "responseId") or id
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        answer: Entry = {
            "id": response, "role": "assistant", "model": text_in_field(message, "model"), "content": blocks,
            "key": json.dumps([NAME, message.get("timestamp"), response, usage, called]),  # a fork repeats the entry
        }  # fmt: skip
        if usage is not None:
            answer["usage"] = usage
        yield self._entry("assistant", id, at, message=answer)

    def _result(self, message: Entry, id: str, at: object) -> Iterator[Entry]:
        call_id = message.get("toolCallId")
        if not isinstance(call_id, str):
            return
        failed = message.get("isError") is True
        text, blocks = text_of_blocks(_blocks(message.get("content")))[0], _blocks(message.get("content"))
        content: Any = error_text(text) if failed else text
        if any(block["type"] != "text" for block in blocks):
            content = blocks
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **({"is_error": True} if failed else {})}
        more, call = {}, self._calls.get(call_id)
        if call is not None and isinstance(content, str) and not failed and TOOLS.of(call["name"]).operation == READ:
            more = {"toolUseResult": shown_file(call["input"], text)}
        yield self._entry("user", id, at, message={"role": "user", "content": [block]}, **more)

    def _compacted(self, entry: Entry, id: str, summary: str, first: object) -> Iterator[Entry]:
        """Yield a boundary, the summary, and what stands behind it. `first`: the id of the first entry that is kept; None for all that the
        model was shown before."""
        at, before = entry.get("timestamp"), self.before
        branch = self._branch(entry)
        edits = {each["targetId"]: each for each in branch if each["type"] == "context_edit" and isinstance(each.get("targetId"), str)}
        if first is None and not edits:
            return
        boundary = self._entry("system", id, at, subtype="compact_boundary", compactMetadata={})
        yield {**boundary, "parentUuid": None, "logicalParentUuid": before}
        if summary:
            yield self._entry("user", f"{id}/summary", at, isCompactSummary=True, message={"role": "user", "content": summary})
        for kept in shown(branch, first):
            yield from self._again(kept, edits.get(kept["id"]), f"{kept['id']}@{id}", at)

    def _again(self, kept: Entry, edit: Entry | None, uuid: str, at: object) -> Iterator[Entry]:
        """Yield what an entry shows behind a compaction: it came with no request."""
        message = shown_message(kept, edit)
        if message is None:
            return
        if kept["type"] == "compaction":
            yield self._entry("user", uuid, at, isCompactSummary=True, message={"role": "user", "content": text_in_field(kept, "summary")})
            return
        for translated in self._message(message, uuid, at):
            translated.pop("toolUseResult", None)
            if translated["type"] == "assistant":
                translated["message"].update(id=uuid, model="<synthetic>", usage=NO_USAGE)
                del translated["message"]["key"]
            elif translated["message"]["content"][0].get("type") != "tool_result":
                translated["isMeta"] = True  # the person said it once, before
            yield translated

    def _branch(self, entry: Entry) -> list[Entry]:
        """Return the entries that one follows, in order."""
        branch: list[Entry] = []
        seen: set[str] = set()  # a file that anybody has changed may go round in circles
        parent = entry.get("parentId")
        while isinstance(parent, str) and parent in self._tree and parent not in seen:
            seen.add(parent)
            branch.append(self._tree[parent])
            parent = self._tree[parent].get("parentId")
        return branch[::-1]


def shown(branch: list[Entry], first: object) -> Iterator[Entry]:
    """Yield the entries of a branch that the model is shown from the one with the id `first` on; with None, from the first that the newest
    compaction keeps, behind that compaction itself."""
    begin = 0
    newest = next((at for at in range(len(branch) - 1, -1, -1) if branch[at]["type"] == "compaction"), -1)
    if first is None and newest >= 0:
        yield branch[newest]
        first = branch[newest].get("firstKeptEntryId")
        kept = next((at for at, each in enumerate(branch) if each["id"] == first), newest + 1)
        begin = min(kept, newest + 1)
    elif first is not None:
        begin = next((at for at, each in enumerate(branch) if each["id"] == first), len(branch))
    yield from (each for each in branch[begin:] if each["type"] in ("message", "custom_message", "branch_summary") and not _is_system(each))


def shown_message(entry: Entry, edit: Entry | None) -> Entry | None:
    """Return the message of an entry as the model is shown it; None where it is shown none."""
    message = entry.get("message")
    if entry["type"] in ("custom_message", "branch_summary"):
        message = {"role": "custom", "content": entry.get("content", entry.get("summary"))}
    elif entry["type"] == "compaction":
        message = {"role": "custom", "content": entry.get("summary")}
    if not isinstance(message, dict):
        return None
    if edit is None:
        return message
    replacement = edit.get("replacement")
    return {**message, "content": replacement.get("content")} if isinstance(replacement, dict) else None


def usage_of(usage: object) -> dict[str, object] | None:
    """Return what a request used, in Claude Code's names; None where pi does not say, as of one that failed."""
    if not isinstance(usage, dict):
        return None
    fresh, read, written, output = (count_of(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite", "output"))
    if not fresh + read + written:
        return None
    hour = min(count_of(usage.get("cacheWrite1h")), written)
    created = {"cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour}} if hour else {}
    return {
        "input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": output, **created,
    }  # fmt: skip


def ran(message: Entry) -> str:
    """Return a command that a person ran, with its output, in the words in which pi sends it."""
    output, code = text_in_field(message, "output"), message.get("exitCode")
    text = f"Ran `{text_in_field(message, 'command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled") is True:
        return text + "\n\n(command cancelled)"
    return text + (f"\n\nCommand exited with code {code}" if type(code) is int and code else "")


def is_own(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a session of pi's."""
    line = head.lstrip()[:_HEAD_BYTES].partition(b"\n")[0]
    return line.startswith(_HEADS) and b'"id"' in line and b'"timestamp"' in line


def entries(file: BinaryIO, size: int) -> Iterator[Entry | None]:
    """Yield the entries of the first `size` bytes of a file; None for a line that is not a JSON object."""
    translator = Translator()
    for entry in objects(file, size):
        yield from [None] if entry is None else translator.entries(entry)


def _written(block: object) -> Entry | None:
    """Return what the assistant wrote, as a block."""
    if not isinstance(block, dict):
        return None
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block["text"]} if text_in_field(block, "text") else None
    if kind == "thinking":
        return {"type": "thinking", "thinking": text_in_field(block, "thinking"), "signature": text_in_field(block, "thinkingSignature")}
    if kind == "toolCall" and isinstance(block.get("id"), str):
        tool_input = as_object(block.get("arguments"))
        return {"type": "tool_use", "id": block["id"], "name": text_in_field(block, "name"), "input": tool_input}
    return None


def _blocks(content: object) -> list[Entry]:
    """Return the texts and images of a content, a text or a list."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[Entry] = []
    for block in list_of(content):
        if isinstance(block, dict) and block.get("type") == "text" and text_in_field(block, "text"):
            blocks.append({"type": "text", "text": block["text"]})
        elif isinstance(block, dict) and block.get("type") == "image":
            blocks.append({"type": "image"})
    return blocks


def _texts(content: object) -> list[str]:
    if isinstance(content, list) and all(isinstance(each, str) for each in content):
        return content
    return [block["text"] for block in _blocks(content) if block["type"] == "text"]


def _values(sections: object) -> list[str]:
    return [text for text in sections.values() if isinstance(text, str)] if isinstance(sections, dict) else []


def _is_system(entry: Entry) -> bool:
    message = entry.get("message")
    return isinstance(message, dict) and message.get("role") == "system"
