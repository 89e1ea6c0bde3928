"""The requests of a transcript with what happened between them: what the bill of a session is made of. Reads only.

A large transcript is mostly results. What they hold does not matter here, so a line of a result is not parsed: its place in the
conversation is read from its bytes.

Newer clients also note each request that they send: its tools and system text as a hash, its effort, a digest of it. Where they do,
these decide whether tools or effort have changed, and whether a request was sent again: names of tools that came or went may stand in the
conversation and leave the tools of the request as they were.
"""

from __future__ import annotations

import os

from ...io.codec import loads
from ...policy.estimate import IMAGE_TOKENS, estimate_tokens
from ...policy.lost_cache import Between, Sent
from . import entries
from .moments import is_answer
from .stamps import seconds_of
from .usage import usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .entries import Entry

_UUID = b'"uuid":"'
_HEAD = 400  # bytes in which the client says what a line is
_COMMAND, _COMMAND_ENDS = "<command-name>", "</command-name>"
_INTERRUPTED = "[Request interrupted by user"
_CHANGES_TOOLS = ("deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta", "skill_listing")
_OF_HOOKS = ("hook_additional_context", "hook_success")
_REQUEST, _SHAPE = b'{"type":"api-request",', b'{"type":"api-request-shape",'
_OF_MAIN_THREAD = ("repl_main_thread", "sdk")  # how the sources of requests begin
_SYSTEM_TEXT = "system text"
_MOST_NAMES = 3
_LONGEST_NAME = 60
_LONGEST_CALL = 200


# What of a call tells which skill or which kind of agent was asked for: tool -> (keys of its input, the word before the name).
_NAMED = {"Skill": (("skill", "command"), "skill"), "Agent": (("subagent_type",), "agent"), "Task": (("subagent_type",), "agent")}


class Session:
    """What a transcript tells of its requests: `requests` (Sent, in order), the folder (`cwd`), "" where it does not say, and the name of
    the `host`, "" for Claude Code.

    `calls`: name of a tool, `skill NAME` or `agent TYPE` -> [times, when last (seconds)] · `words`: estimated tokens of what the user had
    said before the first request · `hooks`: of what hooks had added by then.
    """

    def __init__(self) -> None:
        self.requests: list[Sent] = []
        self.cwd = ""
        self.host = ""
        self.calls: dict[str, list[float]] = {}
        self.words = 0
        self.hooks = 0

    @property
    def standing(self) -> int:
        """Tokens of the first request that stood there before the user's first word; 0 where there is no request."""
        return max(0, self.requests[0].usage.tokens - self.words) if self.requests else 0

    def called(self, name: str, at: float) -> None:
        """Count a use."""
        row = self.calls.setdefault(name[:_LONGEST_CALL], [0, 0.0])
        row[0] += 1
        row[1] = max(row[1], at)


def read(path: str, size: int) -> Session:
    """Return the requests of the first `size` bytes of a transcript, of a main thread or of a subagent's own file; OSError when it
    cannot be read."""
    reading = _Reading()
    for _, line in entries.lines(path, size):
        reading.take(line)
    return reading.session


class Following:
    """A transcript that grows: what was read stays read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._end = 0  # the file's number, and the end of the last whole line
        self._reading = _Reading()

    def new(self) -> tuple[list[Sent], bool]:
        """Return the requests since the last time, and whether the file is another since then, which is read from its beginning; OSError
        when it cannot be read."""
        status = os.stat(self._path)
        is_other = status.st_ino != self._file or status.st_size < self._end
        if is_other:
            self._file, self._end, self._reading = status.st_ino, 0, _Reading()
        requests = self._reading.session.requests
        count = len(requests)
        for begin, line in entries.lines(self._path, status.st_size, self._end):
            if line.endswith(b"\n"):  # else it is being written
                self._reading.take(line)
                self._end = begin + len(line)
        return requests[count:], is_other


class _Reading:
    def __init__(self) -> None:
        self.session = Session()
        self.between = Between()
        self.known: set[str] = set()  # ids of messages
        self.calls: set[str] = set()  # ids of calls
        self.ends: dict[str, int] = {}  # uuid of an entry -> how many requests had been answered
        self.side: bool | None = None  # a subagent's own file holds nothing but a side chain
        self.thinks = False  # whether the turn under way has thought
        self.thought = False  # whether the one before had
        self.last = ""  # the kind of the newest block
        self.shapes: dict[object, list[str]] = {}  # hash of tools and system text -> names of the tools
        self.digests: set[object] = set()  # of the requests since the last answer
        self.asked: tuple[object, object] = (None, None)  # (hash, effort) of the newest request
        self.answered: tuple[object, object] = (None, None)  # of the last one that was answered

    def take(self, line: bytes) -> None:
        if line.startswith((_REQUEST, _SHAPE)):
            self._note(line)
            return
        if entries.says_nothing(line):
            return
        at = line.find(_UUID)
        if at >= 0 and b'"tool_result"' in line and b'"type":"assistant"' not in line[:_HEAD]:
            if not self._is_other(b'"isSidechain":true' in line[:_HEAD]):
                if b'"isVirtual":true' not in line:
                    self._grow("tool_result")
                self._place(line[at + len(_UUID) :].partition(b'"')[0].decode("ascii", "replace"))
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
        self._place(entry["uuid"])

    def _note(self, line: bytes) -> None:
        try:
            entry = loads(line.decode("utf-8", "replace"))
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        hash, shape, params = entry.get("shapeHash"), entry.get("shape"), entry.get("params")
        if isinstance(shape, dict) and isinstance(hash, str):
            tools = shape.get("tools")
            tools = tools if isinstance(tools, list) else []
            self.shapes[hash] = [tool["name"] for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        elif isinstance(params, dict) and str(entry.get("querySource")).startswith(_OF_MAIN_THREAD):
            digest, output = str(entry.get("requestDigest")), params.get("output_config")
            self.between.error |= digest in self.digests
            self.digests.add(digest)
            self.asked = hash if isinstance(hash, str) else None, output.get("effort") if isinstance(output, dict) else None

    def _compare(self) -> None:
        """Note what the request that is answered now has otherwise than the one before, as far as the client says."""
        (old, old_effort), (new, new_effort) = self.answered, self.asked
        if old and new:
            before, after = self.shapes.get(old, []), self.shapes.get(new, [])
            names = sorted({*before} ^ {*after})
            self.between.tools = "" if old == new else _listed(names) or _SYSTEM_TEXT
        if old_effort and new_effort and old_effort != new_effort:
            self.between.effort = f"{old_effort} to {new_effort}"[:_LONGEST_NAME]
        self.answered, self.asked = self.asked, (None, None)
        self.digests.clear()

    def _is_other(self, is_side: bool) -> bool:
        self.side = is_side if self.side is None else self.side
        return is_side != self.side

    def _grow(self, kind: str) -> None:
        """Note a block: a run of calls, or of results, is one position of the cache's."""
        self.between.positions += kind != self.last or kind not in ("tool_use", "tool_result")
        self.last = kind

    def _place(self, uuid: str) -> None:
        self.ends[uuid] = len(self.session.requests)

    def _assistant(self, entry: Entry) -> None:
        blocks = entries.blocks_of(entry)
        self.thinks = self.thinks or any(block.get("type") in ("thinking", "redacted_thinking") for block in blocks)
        if not is_answer(entry):
            self.between.error = True
            return
        message = entry["message"]
        id = message.get("id") or entry["uuid"]
        usage = usage_of({**entry, "isSidechain": False})
        if usage is not None and id not in self.known:
            self.known.add(id)
            self._compare()
            self.session.requests.append(Sent(usage, _output(message), self.between, self.thought))
            self.between = Between()
        elif usage is not None:
            last = self.session.requests[-1]
            last.output = max(last.output, _output(message))
        for block in blocks:
            self._grow(str(block.get("type")))
            if block.get("type") == "tool_use":
                self._call(block, seconds_of(entry.get("timestamp")))

    def _call(self, block: dict[str, Any], at: float) -> None:
        id, tool, given = block.get("id"), block.get("name"), block.get("input")
        if not isinstance(id, str) or not isinstance(tool, str) or id in self.calls:
            return
        self.calls.add(id)
        self.session.called(tool, at)
        keys, word = _NAMED.get(tool, ((), ""))
        named = next((given[key] for key in keys if isinstance(given.get(key), str)), "") if isinstance(given, dict) else ""
        if named:
            self.session.called(f"{word} {named.lstrip('/')}", at)

    def _between(self, entry: Entry) -> None:
        kind, attached = entry.get("type"), entry.get("attachment")
        if entries.is_compaction(entry):
            self.between.compaction = True
        elif entry.get("subtype") == "api_error":
            self.between.error = True
        elif isinstance(attached, dict):
            self._grow("text")
            if not self.session.requests:
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
        count = len(self.session.requests)
        self.between.rewind |= self.ends.get(entries.parent_of(entry) or "", count) < count and not entries.is_summary(entry)
        self._grow("text")
        self.between.spoke = True
        content = entry["message"].get("content") if isinstance(entry.get("message"), dict) else ""
        said = content if isinstance(content, str) else " ".join(str(block.get("text", "")) for block in entries.blocks_of(entry))
        if not self.session.requests:
            images = sum(block.get("type") == "image" for block in entries.blocks_of(entry))
            self.session.words += estimate_tokens(str(said)) + images * IMAGE_TOKENS
        self.between.interruption |= said.startswith(_INTERRUPTED)
        self._command(said, entry)
        self.thought, self.thinks = (self.thought and not self.thinks) or self.thinks, False

    def _command(self, said: str, entry: Entry) -> None:
        if _COMMAND in said:
            name = said.partition(_COMMAND)[2].partition(_COMMAND_ENDS)[0]
            self.between.command = "/" + name[:_LONGEST_NAME].strip().lstrip("/")
            self.session.called("skill " + self.between.command[1:], seconds_of(entry.get("timestamp")))


def _names(attached: dict[str, Any]) -> str:
    """Return what came or went, in few words: servers by their names."""
    some = (attached.get(key) for key in ("addedNames", "removedNames", "names"))
    return _listed([name for names in some if isinstance(names, list) for name in names if isinstance(name, str)]) or str(attached["type"])


def _listed(names: list[str]) -> str:
    """Return the names of tools in few words, a server's once; "" for none."""
    listed = list(dict.fromkeys(name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else name for name in names))
    more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
    return ", ".join(name[:_LONGEST_NAME] for name in listed[:_MOST_NAMES]) + more


def _output(message: dict[str, Any]) -> int:
    usage = message.get("usage")
    count = usage.get("output_tokens") if isinstance(usage, dict) else 0
    return count if type(count) is int and 0 < count < 10**9 else 0
