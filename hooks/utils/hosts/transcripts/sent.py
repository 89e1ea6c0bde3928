"""The requests of a transcript with what happened between them: what the bill of a session is made of. Reads only.

A large transcript is mostly results. What they hold does not matter here, so a line of a result is not parsed: its place in the
conversation is read from its bytes.

Newer clients also note each request that they send (`request_parts.py`), and where they ask for it, the provider says in its answer which
part of the request was not that of the one before. Where one of these is there, it decides: names of tools that came or went may be in
the conversation and leave the tools of the request as they were.
"""

from __future__ import annotations

import os
from itertools import islice

from ...io.codec import as_object
from ...policy.composition import THOUGHT
from ...policy.estimate import IMAGE_TOKENS, estimate_tokens
from ...policy.lost_cache import (
    COMMAND,
    COMPACTION,
    IN_MESSAGES,
    IN_MODEL,
    IN_SYSTEM,
    IN_TOOLS,
    PARTS,
    REWIND,
    Interval,
    SentRequest,
    drops_thinking,
    lost_tokens,
)  # fmt: skip
from . import entries
from .entries import is_answer
from .request_notes import LONGEST_NAME, Notes, listed
from .request_parts import REQUEST, SHAPE, Contents
from .stamps import seconds_of
from .usage import usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .entries import Entry

_UUID = b'"uuid":"'
_TIME = b'"timestamp"'
_HEAD = 400  # bytes in which the client says what a line is
_PROGRESS, _SIDE = b'"type":"progress"', b'"isSidechain":true'
_COMMAND, _COMMAND_ENDS = "<command-name>", "</command-name>"
_INTERRUPTED = "[Request interrupted by user"
_CHANGES_TOOLS = ("deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta", "skill_listing")
_OF_HOOKS = ("hook_additional_context", "hook_success")
_LONGEST_CALL = 200
# So many names of each kind are held of a transcript that grows. What goes back further behind what was said is not seen to do so.
MOST_NAMES = 4_000
# From this version on, if not earlier, the client asks the provider to keep the thinking of earlier turns; its notes say whether it did.
_KEEPS_THINKING = (2, 1, 100)
# What the provider says that a request has otherwise than the one before -> the part of it. It also says that it cannot tell.
_DIAGNOSES = {"model_changed": IN_MODEL, "tools_changed": IN_TOOLS, "system_changed": IN_SYSTEM, "messages_changed": IN_MESSAGES}


# What of a call tells which skill or which kind of agent was asked for: tool -> (keys of its input, the word before the name).
_NAMED = {"Skill": (("skill", "command"), "skill"), "Agent": (("subagent_type",), "agent"), "Task": (("subagent_type",), "agent")}


class Session:
    """The requests of a transcript: `requests` (Sent, in order), the folder (`cwd`), "" where it does not say, and the name of
    the `host`, "" for Claude Code.

    `copies`: ids of messages that were asked for elsewhere, as a fork's first ones were · `began`: when the file's first line with a time
    was written (seconds), 0 where there is none: that of a copy is later than the one of what it is a copy of · `calls`: name of a tool,
    `skill NAME` or `agent TYPE` -> [times, when last (seconds)], without those of copies · `words`: estimated tokens of what the user had
    said before the first request · `hooks`: of what hooks had added by then · `added`: type of what the host attached ->
    [times, estimated tokens, how many of the times the same stood in the prompt, their tokens], without those of copies.
    """

    def __init__(self) -> None:
        self.requests: list[SentRequest] = []
        self.copies: set[str] = set()
        self.began = 0.0
        self.cwd = ""
        self.host = ""
        self.calls: dict[str, list[float]] = {}
        self.words = 0
        self.hooks = 0
        self.added: dict[str, list[int]] = {}

    @property
    def standing(self) -> int:
        """Return the tokens of the first request that came before the user's first word; 0 where there is no request."""
        return max(0, self.requests[0].usage.tokens - self.words) if self.requests else 0

    @property
    def holds(self) -> dict[str, int]:
        """Return kind of content -> tokens of the conversation that the newest request sent."""
        shares = self.requests[-1].shares if self.requests else None
        sizes = {kind: round(sum(share[:3])) for kind, share in (shares or {}).items()}
        return {kind: tokens for kind, tokens in sizes.items() if tokens}

    def called(self, name: str, at: float) -> None:
        """Count a use."""
        row = self.calls.setdefault(name[:_LONGEST_CALL], [0, 0.0])
        row[0] += 1
        row[1] = max(row[1], at)


def read(path: str, size: int, is_copy: Callable[[SentRequest], bool] | None = None) -> Session:
    """Return the requests of the first `size` bytes of a transcript, of a main thread or of a subagent's own file; `is_copy` tells which of
    them were asked for elsewhere. OSError when it cannot be read."""
    reading = _Reading(Contents(), is_copy)
    session = reading.session
    for _, line in entries.in_order(entries.lines(path, size)):
        if not session.began:
            session.began = _time_of(line)
        reading.take(line)
    reading.count_commands()
    return session


def _time_of(line: bytes) -> float:
    """Return when a line says that it was written (seconds); 0 where it says nothing."""
    entry = entries.entry_of(line) if _TIME in line else None
    return seconds_of(entry.get("timestamp")) if entry is not None else 0.0


class GrowingTranscript:
    """A transcript that grows: what was read stays read, and what has been reported is held no longer, however long it grows."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._end = 0  # the file's number, and the end of the last whole line
        self._reported = 0  # requests
        self._reading = _Reading()

    def new(self) -> tuple[list[SentRequest], bool]:
        """Return the requests since the last time, and whether the file is another since then, which is read from its beginning; OSError
        when it cannot be read. The newest waits for the client's note of it."""
        status = os.stat(self._path)
        is_other = status.st_ino != self._file or status.st_size < self._end
        if is_other:
            self._file, self._end, self._reading, self._reported = status.st_ino, 0, _Reading(), 0
        for begin, line in entries.lines(self._path, status.st_size, self._end):
            if line.endswith(b"\n"):  # else it is being written
                self._reading.take(line)
                self._end = begin + len(line)
        requests, before = self._reading.session.requests, self._reported
        reported = len(requests) - self._reading.notes.are_late
        new = requests[before:reported]
        self._reported = reported - self._reading.forget(reported)
        return new, is_other

    @property
    def held(self) -> int:
        """Return how much is held of what was read: requests, and names of what it says."""
        return self._reading.held


class _Reading:
    def __init__(self, contents: Contents | None = None, is_copy: Callable[[SentRequest], bool] | None = None) -> None:
        self.contents = contents  # None: nobody asks what the prompts are made of
        self.is_copy = is_copy
        self.session = Session()
        self.commands: list[tuple[str, float]] = []  # called since the last request, whose answer tells whether they are copies
        self.count = 0  # of requests, those forgotten too
        self.between = Interval()
        # In the order in which they came, so that the oldest can be forgotten.
        self.known: dict[str, None] = {}  # ids of messages
        self.calls: dict[str, None] = {}  # ids of calls
        self.ends: dict[str, int] = {}  # uuid of an entry -> how many requests had been answered
        self.side: bool | None = None  # a subagent's own file holds nothing but a side chain
        self.thinks = False  # whether the turn under way has thought
        self.thought = False  # whether the one before had
        self.last = ""  # the kind of the newest block
        self.notes = Notes()

    @property
    def _ids(self) -> tuple[dict[str, Any], ...]:
        return self.known, self.calls, self.ends

    @property
    def held(self) -> int:
        return len(self.session.requests) + sum(map(len, self._ids))

    def forget(self, reported: int) -> int:
        """Forget the first requests, all but the last that was reported, and the oldest names. Return how many requests."""
        first = max(0, min(reported, len(self.session.requests)) - 1)
        del self.session.requests[:first]
        for names in self._ids:
            for name in list(islice(names, max(0, len(names) - MOST_NAMES))):
                del names[name]
        return first

    def take(self, line: bytes) -> None:
        if line.startswith((REQUEST, SHAPE)):
            if not self._is_other(b'"agentId":' in line[:_HEAD]):
                self.notes.take(line, self.between)
            return
        if entries.says_nothing(line):
            return
        head = line[:_HEAD]
        if _PROGRESS in head:  # says nothing, but others may follow it
            if not self._is_other(_SIDE in head):
                self._place(_text(line, line.rfind(_UUID)))
            return
        at = line.find(_UUID)
        if at >= 0 and b'"tool_result"' in line and b'"type":"assistant"' not in head:
            if not self._is_other(_SIDE in head):
                uuid = _text(line, at)
                if b'"isVirtual":true' not in line:
                    self._grow("tool_result")
                    if self.contents is not None:
                        self.contents.result_line(line, uuid)
                self._place(uuid)
            return
        entry = entries.entry_of(line)
        if entry is None or not isinstance(entry.get("uuid"), str) or self._is_other(entries.is_side(entry)):
            return
        if not self.session.cwd and isinstance(entry.get("cwd"), str):
            self.session.cwd = entry["cwd"]
            self.session.host = str(entry.get("host") or "")
        if entry.get("type") == "assistant":
            self._assistant(entry)
        else:
            self._between(entry)
        if self.contents is not None:
            self.contents.entry(entry, bool(self.count))
        self._place(entry["uuid"])

    def _is_other(self, is_side: bool) -> bool:
        self.side = is_side if self.side is None else self.side
        return is_side != self.side

    def _grow(self, kind: str) -> None:
        """Note a block: a run of calls, or of results, is one position of the cache's."""
        self.between.positions += kind != self.last or kind not in ("tool_use", "tool_result")
        self.last = kind

    def _place(self, uuid: str) -> None:
        self.ends[uuid] = self.count

    def _assistant(self, entry: Entry) -> None:
        blocks = entries.blocks_of(entry)
        self.thinks = self.thinks or any(block.get("type") in ("thinking", "redacted_thinking") for block in blocks)
        if not is_answer(entry):  # the client also answers for itself where an interrupted session goes on
            self.between.error |= bool(entry.get("isApiErrorMessage"))
            return
        message = entry["message"]
        id = message.get("id") or entry["uuid"]
        usage = None if id in self.known else usage_of({**entry, "isSidechain": False})
        if usage is not None:
            self.known[id] = None
            self.count += 1
            self.between.keeps_thinking = entries.version_of(entry.get("version")) >= _KEEPS_THINKING
            self.notes.answered(entry.get("requestRef"), self.between)
            self._request(SentRequest(usage, _output(message), self.between, self.thought, str(id), str(message.get("key") or "")))
            self.between = Interval()
            self._share()
        elif id in self.known:
            last = self.session.requests[-1]
            last.output = max(last.output, _output(message))
        if id in self.known:
            _diagnosed(message, self.session.requests[-1].between)
        for block in blocks:
            self._grow(str(block.get("type")))
            if block.get("type") == "tool_use" and id not in self.session.copies:
                self._call(block, seconds_of(entry.get("timestamp")))

    def _request(self, sent: SentRequest) -> None:
        self.session.requests.append(sent)
        if self.is_copy is not None and self.is_copy(sent):
            self.session.copies.add(sent.id)
            self.commands.clear()
        self.count_commands()

    def count_commands(self) -> None:
        """Count what the user has called since the last request."""
        for name, at in self.commands:
            self.session.called(name, at)
        self.commands.clear()

    def _share(self) -> None:
        if self.contents is not None:
            *before, sent = self.session.requests[-2:]
            if drops_thinking(sent):
                self.contents.composition.drop(THOUGHT)
            lost = lost_tokens(before[0].usage, sent.usage) if before else 0
            sent.shares = self.contents.composition.sent(sent.usage, self.session.standing, lost)
            for name, tokens, again in self.contents.added if sent.id not in self.session.copies else ():
                row = self.session.added.get(name, [0, 0, 0, 0])
                self.session.added[name] = [row[0] + 1, row[1] + tokens, row[2] + again, row[3] + tokens * again]
            self.contents.added.clear()

    def _call(self, block: dict[str, Any], at: float) -> None:
        id, tool, arguments = block.get("id"), block.get("name"), block.get("input")
        if not isinstance(id, str) or not isinstance(tool, str) or id in self.calls:
            return
        self.calls[id] = None
        self.session.called(tool, at)
        keys, word = _NAMED.get(tool, ((), ""))
        named = next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), "") if isinstance(arguments, dict) else ""
        if named:
            self.session.called(f"{word} {named.lstrip('/')}", at)

    def _between(self, entry: Entry) -> None:
        kind, attached = entry.get("type"), entry.get("attachment")
        if entries.is_compaction(entry):
            self.between.compaction = True
            self._since(COMPACTION, entry)
        elif entry.get("subtype") == "api_error":
            self.between.error = True
        elif isinstance(attached, dict):
            self._grow("text")
            if not self.count:
                self._before_the_first(attached)
            if attached.get("type") in _CHANGES_TOOLS and not self.between.tools:
                self.between.tools = _names(attached)
        elif any(block.get("type") == "tool_result" for block in entries.blocks_of(entry)):
            self._grow("tool_result")
        elif kind == "user":
            self._user(entry)
        elif isinstance(entry.get("content"), str):
            self._command(entry["content"], entry)

    def _before_the_first(self, attached: dict[str, Any]) -> None:
        """Note the size of what hooks add, and of what comes with the user's words: a file that they name, the text of a hook on them."""
        kind, content = str(attached.get("type")), attached.get("content")
        shown = "\n".join(map(str, content)) if isinstance(content, list) else str(content or "")
        tokens = estimate_tokens(shown, "code" if kind == "file" else "dialogue")
        if kind == "file" or (kind in _OF_HOOKS and attached.get("hookEvent") == "UserPromptSubmit"):
            self.session.words += tokens
        elif kind in _OF_HOOKS:
            self.session.hooks += tokens

    def _user(self, entry: Entry) -> None:
        count = self.count
        parent = entries.parent_of(entry) or ""
        if self.ends.get(parent, count) < count and not entries.is_summary(entry):
            self.between.rewind = True
            self._since(REWIND, entry)
            if self.contents is not None:
                self.contents.rewound(parent)
        for block in entries.blocks_of(entry) or ({"type": "text"},):
            self._grow(str(block.get("type")))
        self.between.spoke = True
        content = entry["message"].get("content") if isinstance(entry.get("message"), dict) else ""
        text = content if isinstance(content, str) else " ".join(str(block.get("text", "")) for block in entries.blocks_of(entry))
        if not self.count:
            images = sum(block.get("type") == "image" for block in entries.blocks_of(entry))
            self.session.words += estimate_tokens(str(text)) + images * IMAGE_TOKENS
        self.between.interruption |= text.startswith(_INTERRUPTED)
        self._command(text, entry)
        self.thought, self.thinks = (self.thought and not self.thinks) or self.thinks, False

    def _command(self, text: str, entry: Entry) -> None:
        if _COMMAND in text:
            name = text.partition(_COMMAND)[2].partition(_COMMAND_ENDS)[0]
            self.between.command = "/" + name[:LONGEST_NAME].strip().lstrip("/")
            self._since(COMMAND, entry)
            self.commands.append(("skill " + self.between.command[1:], seconds_of(entry.get("timestamp"))))

    def _since(self, cause: str, entry: Entry) -> None:
        at = seconds_of(entry.get("timestamp"))
        if at:
            self.between.since.setdefault(cause, at)


def _text(line: bytes, at: int) -> str:
    """Return the uuid of a line that names it there."""
    return line[at + len(_UUID) :].partition(b'"')[0].decode("ascii", "replace")


def _names(attached: dict[str, object]) -> str:
    """Return what came or went, in few words: servers by their names."""
    some = (attached.get(key) for key in ("addedNames", "removedNames", "names"))
    names = [name for names in some if isinstance(names, list) for name in names if isinstance(name, str)]
    return listed(names) or str(attached["type"])


def _diagnosed(message: dict[str, object], between: Interval) -> None:
    """Note what the provider says of the request: it names the first part that is another."""
    reason = as_object(message.get("diagnostics")).get("cache_miss_reason")
    part = _DIAGNOSES.get(str(reason.get("type"))) if isinstance(reason, dict) else None
    if part:
        between.note({part}, {*PARTS} - {part})


def _output(message: dict[str, object]) -> int:
    usage = message.get("usage")
    count = usage.get("output_tokens") if isinstance(usage, dict) else 0
    return count if type(count) is int and 0 < count < 10**9 else 0
