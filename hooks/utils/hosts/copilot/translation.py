"""The events of Copilot CLI's sessions as Claude Code's entries. Pure.

The lines are in the order of the conversation; what was rewound is removed from the file. What a request used comes before its
answer (`session.usage_record`), where it is recorded at all. Events of subagents stand between those of the session, and are left out. A
compaction keeps every word that the person said, and what came while its summary was written.
"""

from __future__ import annotations

from ...io.codec import as_list, text_in_field
from ..recorded_values import NO_USAGE, count_of, objects
from . import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    Entry = dict[str, Any]

NAME = "Copilot CLI"
_HEAD_BYTES = 4_000
_MARKS = (b'"session.start"', b'"copilotVersion"')
# The words in which the model gets a summary.
_SUMMARY = (
    "Some of the conversation history has been summarized to free up context.\n\n"
    "You were originally given instructions from a user over one or more turns. Here were the user messages:\n{said}\n\n"
    "Here is a summary of the prior context:\n<summary>\n{summary}\n</summary>"
)


def is_own(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a session of Copilot CLI's."""
    line = head[:_HEAD_BYTES].lstrip().partition(b"\n")[0]
    return line.startswith(b"{") and all(mark in line for mark in _MARKS)


def entries(file: BinaryIO, size: int) -> Iterator[Entry | None]:
    """Yield the entries of the first `size` bytes of a file; None for a line that is not a JSON object."""
    reading = _Reading()
    for event in objects(file, size):
        yield from [None] if event is None else reading.take(event)


class _Reading:
    """The state of the session so far."""

    def __init__(self) -> None:
        self.session = self.cwd = self.model = self.at = self.system = ""
        self.count = 0  # of entries
        self.before: str | None = None  # uuid of the newest entry
        self.said: list[str] = []  # by the person
        self.calls: dict[str, Entry] = {}  # id of a call -> its block
        self.usages: dict[str, Entry] = {}  # id of a request -> what it used, until its answer has it
        self.begun: tuple[int, list[Entry]] | None = None  # of a compaction that is going on: what was said until then, what came since

    def take(self, event: Entry) -> Iterator[Entry]:
        data, kind = event.get("data"), event.get("type")
        if not isinstance(data, dict) or not isinstance(kind, str) or event.get("agentId") or data.get("parentToolCallId"):
            return
        if isinstance(event.get("timestamp"), str):
            self.at = event["timestamp"]
        for entry in self._translated(kind, data):
            if self.begun is not None:
                self.begun[1].append(entry)
            yield entry

    def _translated(self, kind: str, data: Entry) -> Iterator[Entry]:
        if kind in ("session.start", "session.resume", "session.context_changed", "session.model_change"):
            self._meta(data)
        elif kind == "system.message":
            yield from self._system(text_in_field(data, "content"))
        elif kind == "user.message":
            yield from self._prompt(data)
        elif kind == "system.notification":
            yield from self._given(text_in_field(data, "content"))
        elif kind == "session.usage_record":
            usage = data.get("usage")
            if isinstance(usage, dict) and isinstance(usage.get("apiCallId"), str):
                self.usages[usage["apiCallId"]] = usage
        elif kind == "assistant.message":
            yield from self._answered(data)
        elif kind == "tool.execution_complete":
            yield from self._result(data)
        elif kind == "session.compaction_start":
            self.begun = (len(self.said), [])
        elif kind == "session.compaction_complete":
            yield from self._compacted(data)
        elif kind == "session.context_cleared":
            self.said.clear()
            yield self._boundary()
            yield from self._given(text_in_field(data, "initialMessage"))

    def _meta(self, data: Entry) -> None:
        self.session = text_in_field(data, "sessionId") or self.session
        self.model = text_in_field(data, "newModel") or text_in_field(data, "selectedModel") or self.model
        context = data.get("context")
        self.cwd = text_in_field(context if isinstance(context, dict) else data, "cwd") or self.cwd

    def _entry(self, kind: str, **fields: Any) -> Entry:
        self.count += 1
        uuid = f"{self.session or 'copilot'}-{self.count}"
        entry = {
            "type": kind, "uuid": uuid, "parentUuid": self.before, "sessionId": self.session, "timestamp": self.at,
            "cwd": self.cwd, **fields,
        }  # fmt: skip
        self.before = uuid
        return entry

    def _system(self, text: str) -> Iterator[Entry]:
        """Yield the instructions, where they are not those that were given before: they are recorded again with each resumption."""
        if text and text != self.system:
            self.system = text
            yield self._entry("attachment", attachment={"type": "instructions", "content": text})

    def _given(self, text: str) -> Iterator[Entry]:
        """Yield what the host said in the user's place."""
        if text:
            yield self._entry("user", isMeta=True, message={"role": "user", "content": text})

    def _prompt(self, data: Entry) -> Iterator[Entry]:
        text, sent = text_in_field(data, "content"), text_in_field(data, "transformedContent")
        if data.get("source") not in (None, "", "user") or data.get("isAutopilotContinuation") is True:
            yield from self._given(sent or text)
            return
        around = sent.replace(text, "", 1).strip() if text and text in sent else ""
        if around:
            yield self._entry("attachment", attachment={"type": "instructions", "content": around})
        if text:
            self.said.append(text)
            yield self._entry("user", message={"role": "user", "content": text})

    def _answered(self, data: Entry) -> Iterator[Entry]:
        thought = text_in_field(data, "reasoningText")
        signature = text_in_field(data, "reasoningOpaque") or text_in_field(data, "encryptedContent")
        blocks: list[Entry] = [{"type": "thinking", "thinking": thought, "signature": signature}] if thought or signature else []
        if text_in_field(data, "content"):
            blocks.append({"type": "text", "text": data["content"]})
        called = [block for block in map(calls.call_of, as_list(data.get("toolRequests"))) if block]
        self.calls.update((block["id"], block) for block in called)
        request = text_in_field(data, "apiCallId")
        usage = usage_of(self.usages.pop(request, None))
        if not blocks and not called and usage is None:
            return
        self.model = text_in_field(data, "model") or self.model
        id = request or text_in_field(data, "messageId") or f"{self.session or 'copilot'}-answer-{self.count + 1}"
        message = {"id": id, "role": "assistant", "model": self.model, "content": [*blocks, *called]}
        yield self._entry("assistant", message={**message, **({} if usage is None else {"usage": usage})})

    def _result(self, data: Entry) -> Iterator[Entry]:
        id = text_in_field(data, "toolCallId")
        if id not in self.calls:  # a person has run it
            return
        content, failed, more = calls.result_of(data, self.calls[id])
        block = {"type": "tool_result", "tool_use_id": id, "content": content, **({"is_error": True} if failed else {})}
        yield self._entry("user", message={"role": "user", "content": [block]}, **more)

    def _boundary(self) -> Entry:
        self.system = ""
        boundary = self._entry("system", subtype="compact_boundary", compactMetadata={})
        return {**boundary, "parentUuid": None, "logicalParentUuid": boundary["parentUuid"]}

    def _compacted(self, data: Entry) -> Iterator[Entry]:
        """Yield a boundary, what the model is shown in place of the past, and again what came since the compaction began."""
        said, since = self.begun or (len(self.said), [])
        self.begun = None
        summary = text_in_field(data, "summaryContent")
        if data.get("success") is False or not summary:
            return
        yield self._boundary()
        words = "\n".join(f"<user_message>\n{text}\n</user_message>" for text in self.said[:said])
        content = _SUMMARY.format(said=words, summary=summary)
        yield self._entry("user", isCompactSummary=True, message={"role": "user", "content": content})
        for entry in since:
            fields = {name: value for name, value in entry.items() if name in ("isMeta", "attachment", "message")}
            if entry["type"] == "assistant":
                again = {"id": f"{self.session}-again-{self.count}", "model": "<synthetic>", "usage": NO_USAGE}
                fields["message"] = {**entry["message"], **again}
            elif entry["type"] == "user" and isinstance(entry["message"]["content"], str):
                fields["isMeta"] = True  # the person said it once, before
            yield self._entry(entry["type"], **fields)


def usage_of(usage: object) -> dict[str, int] | None:
    """Return what a request used, in Claude Code's names: there the input has neither what was read from the cache nor what was written to
    it. None for what tells nothing."""
    if not isinstance(usage, dict):
        return None
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "maxPromptTokens")
    whole, read, written, output, window = (count_of(usage.get(name)) for name in names)
    if not whole:
        return None
    read = min(read, whole)
    written = min(written, whole - read)
    return {
        "input_tokens": whole - read - written, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
        "output_tokens": output, **({"context_window": window} if window else {}),
    }  # fmt: skip
