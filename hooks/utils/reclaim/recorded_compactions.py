"""The compactions of a transcript, with the texts that they replaced. Reads only.

What stands is what the first request behind a compaction was sent: the summary or the conversation that was written again, what the host
added to it, and the messages that it kept. Where no request has come yet, it is all that is there.
"""

from __future__ import annotations

from ..hosts import CLAUDE_CODE
from ..hosts.tools import tool as tool_named
from ..hosts.transcripts import entries, fates, transcript
from ..hosts.transcripts.attachments import RENEWED, SAID_AGAIN, typed
from ..hosts.transcripts.blocks import text_of_blocks
from ..hosts.transcripts.boundaries import kept_in, metadata_of
from ..hosts.transcripts.chain import Chain
from ..hosts.transcripts.stamps import seconds_of
from ..io.codec import text_in_field
from ..policy import own_lines
from ..policy.losses import ADDED, CALLED, RESULT, SAID, WROTE, Passage
from ..policy.messages import texts_in
from ..policy.placeholder import handle_in
from ..policy.tools import PLAN, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..hosts.transcripts.chain import Uuids
    from ..hosts.transcripts.entries import Entry
    from ..hosts.transcripts.transcript import Index
    from ..policy.tools import Tool

# What the host adds in every request or behind every compaction, or only writes down.
_NO_LOSS = SAID_AGAIN.union(RENEWED, "command_permissions hook_system_message prompt_snapshot tool_offer_record".split())
# Of these only one field is sent.
_SENT = {"hook_additional_context": "content", "hook_success": "content", "queued_command": "prompt"}
_NOT_WORDS = ("<", "[Request interrupted", "Caveat:", "This session is being continued from a previous conversation")
_SAID_INSTEAD = "the user said:"
_OF_THE_HOST = "The user wants to clarify these questions"  # what it says there where the person chose to talk first
_LABEL_CHARS = 200


class RecordedCompaction:
    """A compaction: the number of its `line` (in the translation, where the recording is another host's), its time (`at`, seconds), whether
    a person asked for it (`asked`, None where that is not known), whether it was made `without_model`, the passages `before` it, and the
    texts `after` it; `is_partly_known`: what the summary says is not in the recording."""

    __slots__ = ("after", "asked", "at", "before", "is_partly_known", "line", "tokens", "without_model")

    def __init__(self, line: int, boundary: Entry, before: list[Passage]) -> None:
        metadata = metadata_of(boundary)
        trigger, tokens = metadata.get("trigger"), metadata.get("preTokens")
        self.line = line
        self.at = seconds_of(boundary.get("timestamp"))
        self.asked = trigger == "manual" if trigger in ("manual", "auto") else None
        self.tokens = tokens if isinstance(tokens, int) else 0
        self.before = before
        self.after: list[str] = []
        self.without_model = True
        self.is_partly_known = False

    def end(self) -> RecordedCompaction:
        """Return the compaction, now that all is known that stands behind it."""
        if not self.without_model:
            said = {passage.text for passage in self.before}
            self.is_partly_known = all(text in said for text in self.after)
        return self


def compactions(path: str, index: Index | None = None) -> Iterator[RecordedCompaction]:
    """Yield the compactions on the active branch of a transcript, the oldest first; `index`: of it, where it is known. OSError when it
    cannot be read."""
    read: Iterable[tuple[int, Entry]]
    if index is None and entries.host_of(path) != CLAUDE_CODE:
        read = list(_entries(path, entries.ALL))  # to translate a recording takes longer than all else
        reader = _Reader(*_branch(entry for _, entry in read))
    else:
        index = index or transcript.index(path)
        read = _entries(path, index.size)
        reader = _Reader(index.chain, index.calls)
    for number, entry in read:
        yield from reader.take(number, entry)
    if reader.open is not None:
        yield reader.open.end()


def _entries(path: str, size: int) -> Iterator[tuple[int, Entry]]:
    for number, line in entries.in_order(enumerate((line for _, line in entries.lines(path, size)), 1)):
        entry = entries.entry_of(line)
        if entry is not None:
            yield number, entry


def _branch(read: Iterable[Entry]) -> tuple[Uuids, set[str]]:
    """Return the uuids and the calls of the active branch of a recording: it has no side chains, and no entry comes before the
    one that it follows."""
    chain = Chain()
    for entry in read:
        if isinstance(entry.get("uuid"), str):
            chain.add(entry, 0)
    return chain.uuids(), chain.calls()


class _Reader:
    """Takes the entries of a transcript one after the other."""

    def __init__(self, chain: Uuids, called: set[str]) -> None:
        self.chain = chain  # the uuids of the active branch
        self.called = called  # and the ids of its calls
        self.passages: list[Passage] = []  # since the last compaction
        self.open: RecordedCompaction | None = None  # behind which no request has been answered
        self.calls: dict[str, tuple[Tool, str, str, bool]] = {}  # id -> tool, subject, label, whether the subject is a file
        self.requests = 0
        self.message: object = None

    def take(self, number: int, entry: Entry) -> Iterator[RecordedCompaction]:
        if not self._is_of_branch(entry):
            return
        if entries.is_compaction(entry):
            if self.open is not None:
                yield self.open.end()
            self._begin(number, entry)
            return
        if entry.get("type") == "assistant" and entries.is_answer(entry):
            if self.open is not None:
                yield self.open.end()
                self.open = None
            id = entries.message_of(entry).get("id")
            if not id or id != self.message:
                self.requests, self.message = self.requests + 1, id
        try:
            passages = list(self._passages(number, entry))
        except RecursionError:  # a value that is nested hundreds deep says nothing that anybody looks for
            return
        for passage in passages:
            passage.entry = str(entry.get("uuid") or "")
        if self.open is not None:
            self.open.after += [passage.text for passage in passages]
            self.open.without_model = self.open.without_model and not entries.is_summary(entry)
        self.passages += _without_own_lines(passages)

    def _is_of_branch(self, entry: Entry) -> bool:
        if entry.get("uuid") in self.chain:
            return True
        ids = (block.get("id") or block.get("tool_use_id") for block in entries.blocks_of(entry))
        return any(isinstance(id, str) and id in self.called for id in ids)

    def _begin(self, number: int, boundary: Entry) -> None:
        wanted = set(kept_in(metadata_of(boundary)))
        self.open = RecordedCompaction(number, boundary, self.passages)
        self.passages = [passage for passage in self.passages if passage.entry in wanted]
        self.open.after = [passage.text for passage in self.passages]

    def _passages(self, number: int, entry: Entry) -> Iterator[Passage]:
        attached = entry.get("attachment")
        if isinstance(attached, dict):
            yield from self._attached(attached, number)
            return
        kind = entry.get("type")
        if kind not in ("user", "assistant"):
            return
        content = entries.message_of(entry).get("content")
        if isinstance(content, str):
            yield self._words(content, number, entry)
        for block in entries.blocks_of(entry):
            id = block.get("id") or block.get("tool_use_id")
            if isinstance(block.get("text"), str) and block.get("type") == "text":
                yield self._words(block["text"], number, entry)
            elif block.get("type") == "tool_use" and isinstance(id, str) and isinstance(block.get("input"), dict):
                yield self._call(id, str(block.get("name") or ""), block["input"], number)
            elif block.get("type") == "tool_result" and isinstance(id, str):
                yield from self._result(id, text_of_blocks(block.get("content"))[0], block.get("is_error") is True, number)

    def _words(self, text: str, number: int, entry: Entry) -> Passage:
        if entry["type"] == "assistant":
            return Passage(WROTE, text, number, self.requests)
        is_said = entries.is_prompt(entry) and not text.lstrip().startswith(_NOT_WORDS)
        return Passage(SAID if is_said else ADDED, text, number, self.requests)

    def _call(self, id: str, name: str, tool_input: dict[str, Any], number: int) -> Passage:
        tool = tool_named(name)
        path = _first(tool_input, tool.paths)
        line = _first(tool_input, (tool.line,)) if tool.line else ""
        subject = line or path or _first(tool_input, tool.naming)
        is_file = subject == path and bool(path)
        label = path if is_file else f"{name} {_without_folder(subject)}".rstrip()
        if not subject and tool.operation in (TASKS, PLAN):
            subject = name
        self.calls[id] = (tool, subject, " ".join(label.split())[:_LABEL_CHARS], is_file)
        text = "\n".join(texts_in(list(tool_input.values())))
        return self._of_call(CALLED, id, text, number)

    def _of_call(self, kind: str, id: str, text: str, number: int, failed: bool = False) -> Passage:
        tool, subject, label, is_file = self.calls[id]
        is_tasks = kind == CALLED and tool.operation in (TASKS, PLAN)
        return Passage(kind, text, number, self.requests, subject, label, id, failed, is_file, is_tasks)

    def _result(self, id: str, text: str, failed: bool, number: int) -> Iterator[Passage]:
        said = text.partition(_SAID_INSTEAD)[2].strip() if failed else ""
        if said and not said.startswith(_OF_THE_HOST):
            yield Passage(SAID, said, number, self.requests)
        elif id in self.calls:
            yield self._of_call(RESULT, id, text, number, failed and not fates.of_error(text, None))

    def _attached(self, attached: dict[str, Any], number: int) -> Iterator[Passage]:
        kind = attached.get("type")
        if not isinstance(kind, str) or kind in _NO_LOSS:
            return
        words = typed(attached)
        if words:
            yield Passage(SAID, words, number, self.requests)
            return
        sent = _SENT.get(kind)
        text = "\n".join(texts_in([value for name, value in attached.items() if name == sent or (not sent and name != "type")]))
        subject = text_in_field(attached, "filename")
        yield Passage(ADDED, text, number, self.requests, subject, subject, "", False, bool(subject))


def _without_own_lines(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield the passages without our lines, and none of a placeholder."""
    for passage in passages:
        if not handle_in(passage.text):
            for line in own_lines.found_in(passage.text):
                passage.text = passage.text.replace(line.line, "")
            yield passage


def _without_folder(line: str) -> str:
    """Return a command line without the changes of folder that it begins with."""
    while line.startswith("cd "):
        rest = max((line.partition(mark)[2].strip() for mark in ("&&", ";", "\n")), key=len)
        if not rest:
            break
        line = rest
    return line


def _first(tool_input: dict[str, Any], fields: Any) -> str:
    return next((tool_input[name] for name in fields if isinstance(tool_input.get(name), str) and tool_input[name]), "")
