"""Translate Codex's rollouts into Claude Code's entries: `session_meta`, `turn_context`, `response_item`, `event_msg`, `compacted`, or the
older form whose lines are the items themselves.

A rollout says what a request used only behind its answer: newer ones in a line of its own, older ones behind the results of its calls. So
an answer is held back until its usage is known.
"""

from __future__ import annotations

import hashlib
import json
import re

from ...io.codec import as_list, as_object, as_text, text_in_field
from ..recorded_values import count_of, objects
from . import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    Entry = dict[str, Any]

NAME = "Codex"
_TYPES = (
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record",
    "inter_agent_communication_metadata",
)  # fmt: skip
_PLAIN = rb'"[a-z_]+":\s*(?:"[^"\\]*"|\d+),\s*'
_ROLLOUT = re.compile(
    rb'\s*\{\s*(?:%s)*(?:"type":\s*"(?:%s)"|"payload":\s*\{)' % (_PLAIN, "|".join(_TYPES).encode()),
)
_OLDER = re.compile(rb'\s*\{\s*(?:"id":\s*"[^"\\]+",\s*"timestamp":\s*"[^"\\]+",\s*"(?:instructions|git|cwd|originator)":|"record_type":)')
# Events that say how large the context window is: the first begins a turn, the other follows an answer.
_TELL_WINDOW = ("task_started", "turn_started", "token_count")
_ITEMS = frozenset(("message", "reasoning", *calls.CALLS, *calls.RESULTS))
# How a message begins that Codex gives in the user's place.
_GIVEN = re.compile(r"\s*(?:<[a-z][a-z_ ]*[>\s]|# AGENTS\.md instructions|<INSTRUCTIONS>)")
_USERS = "user."  # how newer rollouts name the kind of what a person said
_FOLDER = re.compile(r"<cwd>([^<]{1,4096})</cwd>|Current working directory: ([^\n]{1,4096})")


def is_own(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a rollout."""
    return bool(_OLDER.match(head)) or (bool(_ROLLOUT.match(head)) and b'"payload":' in head)


def entries(file: BinaryIO, size: int) -> Iterator[Entry | None]:
    """Yield the entries of the first `size` bytes of a rollout; None for a line that is not a JSON object."""
    reading = _Reading()
    for value in objects(file, size):
        yield from [None] if value is None else reading.take(value)
    yield from reading.flush()


class _Reading:
    """The state of the session so far, and the answer that is held back."""

    def __init__(self) -> None:
        self.session = self.cwd = self.model = self.at = ""
        self.origin = ""  # the session of the first items: a fork begins with its parent's
        self.answers = 0  # that have said what they used
        self.thoughts: list[object] = []  # encrypted, of the answer that is held back
        self.count = 0  # of entries
        self.before: str | None = None  # uuid of the newest entry
        self.turns: list[str | None] = []  # of each prompt the uuid before it, to go back to
        self.folders: dict[str, str] = {}  # id of a call -> where it was made
        self.held: list[Entry] = []
        self.answer = ""  # id of the message that is being written
        self.is_over = False  # results have come: what the assistant writes now is another answer, unless that is said to be the same
        self.total: object = None  # the newest sum of the session's tokens
        self.window = 0  # tokens of the context window
        self.has_records = False  # whether requests have a line of their own for what they used

    def take(self, line: Entry) -> Iterator[Entry]:
        kind, payload = _kind(line), line.get("payload")
        if isinstance(line.get("timestamp"), str):
            self.at = line["timestamp"]
        if not isinstance(payload, dict):
            if kind in _ITEMS:
                yield from self._item(line)
            elif not kind and isinstance(line.get("id"), str):
                self._meta(line)
        elif kind == "response_item":
            yield from self._item(payload)
        elif kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "token_usage_record":
            self.has_records = True
            yield from self._used(payload.get("usage"), payload.get("response_id"))
        elif kind == "event_msg":
            yield from self._event(payload)
        elif kind == "compacted":
            yield from self._compacted(payload)

    def _meta(self, payload: Entry) -> None:
        if isinstance(payload.get("id"), str):
            self.session = self.session or payload["id"]  # a fork has its parent's behind its own
            self.origin = payload["id"] if not self.count else self.origin
        self._context(payload)

    def _context(self, payload: Entry) -> None:
        for name in ("cwd", "model"):
            if isinstance(payload.get(name), str) and payload[name]:
                setattr(self, name, payload[name])

    def _event(self, payload: Entry) -> Iterator[Entry]:
        kind, info = _kind(payload), payload.get("info")
        if kind in _TELL_WINDOW:
            self.window = window_in(payload) or window_in(info) or self.window
        if kind == "token_count" and not self.has_records:
            total = as_object(info).get("total_token_usage")
            if isinstance(info, dict) and total is not None and total != self.total:  # it is said again with each change of a limit
                self.total = total
                yield from self._used(info.get("last_token_usage"))
        elif kind == "thread_rolled_back":
            yield from self.flush()
            turns = payload.get("num_turns")
            if type(turns) is int and 0 < turns <= len(self.turns):
                self.before = self.turns[-turns]
                del self.turns[-turns:]

    def _entry(self, kind: str, fields: Entry, cwd: str = "") -> Entry:
        self.count += 1
        uuid = f"{self.session or 'codex'}-{self.count}"
        entry = {
            "type": kind, "uuid": uuid, "parentUuid": self.before, "sessionId": self.session, "timestamp": self.at, "cwd": cwd or self.cwd,
            **fields,
        }  # fmt: skip
        self.before = uuid
        return entry

    def flush(self) -> Iterator[Entry]:
        """Give what is held back."""
        yield from self.held
        self.held, self.answer, self.is_over, self.thoughts = [], "", False, []

    def _used(self, counts: object, response: object = None) -> Iterator[Entry]:
        usage = usage_of(counts)
        if usage is not None and self.answer:
            usage.update({"context_window": self.window} if self.window else {})
            self.answers += 1
            key = self._key(counts, response)
            for entry in self.held:
                if entry["type"] == "assistant":
                    entry["message"].update(usage=usage, key=key)
            yield from self.flush()

    def _key(self, counts: object, response: object) -> str:
        """Return what a fork's copy of the answer has, too: its lines are written anew, so their times tell nothing. Where the provider has
        named nothing in the answer, its place tells it from one that says the same."""
        written = [entry["message"]["content"] for entry in self.held if entry["type"] == "assistant"]
        place = None if response or self.thoughts or self._called() else (self.origin, self.answers)
        named = json.dumps([response, self.thoughts, written, counts, place])
        return "codex " + hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _item(self, item: Entry) -> Iterator[Entry]:
        kind = _kind(item)
        if kind == "message":
            yield from self._message(item)
        elif kind == "reasoning":
            yield from self._answered([{"type": "thinking", "thinking": "\n".join(_texts(item.get("summary")))}])
            self.thoughts += [item["encrypted_content"]] if item.get("encrypted_content") else []
        elif kind in calls.CALLS:
            call = calls.call_of(item)
            if call is not None:
                folder = self._inside(call.cwd)
                self.folders[call.id] = folder
                yield from self._answered([{"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input}], folder)
                if kind in calls.UNANSWERED:
                    yield from self._result(call.id, "", False)
        elif kind in calls.RESULTS:
            id = item.get("call_id")
            if isinstance(id, str):
                yield from self._result(id, *calls.result_of(item))

    def _inside(self, folder: str) -> str:
        if not folder or folder[0] in "/~\\" or folder[1:2] == ":" or not self.cwd:
            return folder or self.cwd
        return f"{self.cwd.rstrip('/')}/{folder}"

    def _answered(self, blocks: list[Entry], cwd: str = "") -> Iterator[Entry]:
        """Hold back a part of an answer."""
        if not self.answer or self.is_over:
            yield from self.flush()
            self.answer = f"{self.session or 'codex'}-answer-{self.count + 1}"
        message = {"id": self.answer, "role": "assistant", "model": self.model, "content": blocks}
        self.held.append(self._entry("assistant", {"message": message}, cwd))

    def _result(self, id: str, content: object, failed: bool) -> Iterator[Entry]:
        block = {"type": "tool_result", "tool_use_id": id, "content": content, **({"is_error": True} if failed else {})}
        entry = self._entry("user", {"message": {"role": "user", "content": [block]}}, self.folders.pop(id, ""))
        if self.held:
            self.held.append(entry)
            self.is_over = self.is_over or id in self._called()
        else:
            yield entry

    def _called(self) -> set[str]:
        return {block.get("id", "") for entry in self.held if entry["type"] == "assistant" for block in entry["message"]["content"]}

    def _message(self, item: Entry) -> Iterator[Entry]:
        blocks = _content(item.get("content"))
        if item.get("role") == "assistant":
            if blocks:
                yield from self._answered(blocks)
            return
        yield from self.flush()
        kinds = _kinds(item)
        prompt = [block for block, kind in zip(blocks, kinds or [""] * len(blocks)) if _is_prompt(item.get("role"), block, kind)]
        instructions = "\n".join(block["text"] for block in blocks if block not in prompt and "text" in block)
        if instructions:
            folder = _FOLDER.search(instructions)
            if folder and not self.cwd:
                self.cwd = (folder[1] or folder[2]).strip()
            yield self._entry("attachment", {"attachment": {"type": "instructions", "content": instructions}})
        if prompt:
            self.turns.append(self.before)
            yield self._entry("user", {"message": {"role": "user", "content": prompt}})

    def _compacted(self, payload: Entry) -> Iterator[Entry]:
        yield from self.flush()
        self.turns.clear()
        fields: Entry = {"subtype": "compact_boundary", "logicalParentUuid": self.before, "parentUuid": None, "compactMetadata": {}}
        yield self._entry("system", fields)
        history = payload.get("replacement_history")
        messages = [one for one in history if isinstance(one, dict) and one.get("type") == "message"] if isinstance(history, list) else []
        texts = [text for one in messages for text in _texts(one.get("content"))]
        if not texts and isinstance(payload.get("message"), str) and payload["message"]:
            texts = [payload["message"]]
        for text in texts:
            yield self._entry("user", {"isCompactSummary": True, "message": {"role": "user", "content": text}})


def _kind(value: Entry) -> str:
    return text_in_field(value, "type")


def window_in(value: object) -> int:
    """Return the tokens of the context window that an event tells; 0 for none."""
    return count_of(value.get("model_context_window")) if isinstance(value, dict) else 0


def usage_of(counts: object) -> dict[str, int] | None:
    """Return what a request used, in Claude Code's names: there what was read from the cache is not part of the input. None for what tells
    nothing."""
    if not isinstance(counts, dict):
        return None
    names = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
    whole, read, written, output = (count_of(counts.get(name)) for name in names)
    read = min(read, whole)
    written = min(written, whole - read)
    if not whole:
        return None
    return {
        "input_tokens": whole - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    }


def _content(content: object) -> list[Entry]:
    """Return the texts and images of a message, as blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[Entry] = []
    for one in as_list(content):
        if isinstance(one, dict) and isinstance(one.get("text"), str) and one["text"]:
            blocks.append({"type": "text", "text": one["text"]})
        elif isinstance(one, dict) and one.get("type") == "input_image":
            blocks.append({"type": "image"})
    return blocks


def _texts(content: object) -> list[str]:
    return [block["text"] for block in _content(content) if "text" in block]


def _kinds(item: Entry) -> list[str]:
    """Return what newer rollouts say of each part of a message: whose words it is; an empty list where they do not."""
    about, content = item.get("internal_chat_message_metadata_passthrough"), item.get("content")
    kinds = as_object(about).get("content_item_kinds")
    if not isinstance(kinds, list) or not isinstance(content, list) or len(kinds) != len(_content(content)):
        return []
    return [as_text(kind) for kind in kinds]


def _is_prompt(role: object, block: Entry, kind: str) -> bool:
    """Return whether a person said a part of a message that is not the assistant's."""
    if role != "user":
        return False
    if kind and kind != "unknown":
        return kind.startswith(_USERS)
    return "text" not in block or not _GIVEN.match(block["text"])
