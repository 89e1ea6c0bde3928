"""OpenCode's messages with their parts as Claude Code's entries: what a plugin is handed, what `opencode export` writes, what its database
holds. Pure.

A message of the assistant is one request, or several where `step-finish` parts come between them (older versions). A compaction is a
message with a `compaction` part and an answer that is the summary; everything before it leaves the context.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook on a tool call reads other hosts' records
import re  # noqa: TID253

from ...io.codec import as_object, as_objects, as_text
from ..recorded_values import MESSAGE, count_of, list_of, stamp_of
from .results import error_text, exit_of, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

    Entry = dict[str, Any]

NAME = "OpenCode"
SESSION = "ses_"  # how its sessions' ids begin
_HEADS = (b'"info"', b'"messages"')
_ID = re.compile(rb'"id":\s*"(ses_[\w-]{1,100})"')
_INTERRUPTED = "[Tool execution was interrupted]"


class Translator:
    """Turns the messages of one session into entries, in order. `before`: uuid of the entry that the next one follows · `agent_id` of a
    subagent, "" for the main thread."""

    def __init__(self, session: str = "", cwd: str = "", agent_id: str = "") -> None:
        self.session = session
        self.cwd = cwd
        self.agent_id = agent_id
        self.before: str | None = None

    def entries(self, message: object) -> Iterator[Entry]:
        """Yield the entries of a message, {info, parts}; none for what is no message."""
        info, parts = (message.get("info"), message.get("parts")) if isinstance(message, dict) else (None, None)
        if not isinstance(info, dict) or not isinstance(info.get("id"), str):
            return
        known = as_objects(parts)
        for entry in self._user(info, known) if info.get("role") == "user" else self._assistant(info, known):
            entry[MESSAGE] = info["id"]
            yield entry

    def _entry(self, kind: str, uuid: str, at: object, cwd: object = "", **fields: Any) -> Entry:
        entry = {
            "type": kind, "uuid": uuid, "parentUuid": self.before, "sessionId": self.session, "timestamp": stamp_of(at),
            "cwd": cwd if isinstance(cwd, str) and cwd else self.cwd, **fields,
        }  # fmt: skip
        if self.agent_id:
            entry.update(isSidechain=True, agentId=self.agent_id)
        self.before = uuid
        return entry

    def _user(self, info: Entry, parts: list[Entry]) -> Iterator[Entry]:
        at = _time(info, "created")
        if any(part.get("type") == "compaction" for part in parts):
            return  # the boundary comes with the summary: until then nothing has left
        parts = [part for part in parts if not part.get("ignored")]  # shown to people, and never sent
        prompt = [block for part in parts if not part.get("synthetic") for block in _prompt_blocks(part)]
        added = [block for part in parts if part.get("synthetic") for block in _prompt_blocks(part)]
        if prompt:
            yield self._entry("user", info["id"], at, message={"role": "user", "content": prompt})
        if added:
            yield self._entry("user", info["id"] + "/given", at, isMeta=True, message={"role": "user", "content": added})

    def _assistant(self, info: Entry, parts: list[Entry]) -> Iterator[Entry]:
        path = info.get("path")
        cwd = path.get("cwd") if isinstance(path, dict) else ""
        if info.get("summary") is True:
            yield from self._summary(info, parts, cwd)
            return
        created = _time(info, "created")
        for number, (step, tokens) in enumerate(_steps(parts, info.get("tokens"))):
            usage, called = usage_of(tokens), [part.get("callID") for part in step if part.get("type") == "tool"]
            # A fork gives messages and parts other ids, and leaves times and calls as they are.
            key = json.dumps(["opencode", created, _time(info, "completed"), number, usage, called]) if created else None
            message = {
                "id": info["id"] + (f"/{number}" if number else ""), "role": "assistant", "model": _text(info, "modelID"),
                "usage": usage, "key": key,
            }  # fmt: skip
            yield from self._answered(info, step, message, cwd)

    def _answered(self, info: Entry, step: list[Entry], message: Entry, cwd: object) -> Iterator[Entry]:
        """Yield the parts of one answer, then the results of its calls."""
        message = {name: value for name, value in message.items() if value is not None}
        done = _time(info, "completed") or _time(info, "created")
        for part in step:
            blocks = _written(part)
            if blocks:
                at = _time(part, "end") or _time(part.get("state"), "start") or done
                folder = _folder(part, cwd)
                yield self._entry("assistant", _id(part), at, folder, message={**message, "content": blocks})
        for part in step:
            if part.get("type") == "tool" and isinstance(part.get("callID"), str):
                yield self._result(part, _folder(part, cwd), done)

    def _result(self, part: Entry, cwd: object, done: object) -> Entry:
        state: Entry = as_object(part.get("state"))
        metadata, failed = state.get("metadata"), state.get("status") != "completed"
        text = state.get("output") if not failed else state.get("error", _INTERRUPTED)
        text = as_text(text)
        if exit_of(metadata):
            failed, text = True, error_text(text, metadata)
        content: Any = text
        images = [{"type": "image"} for one in list_of(state.get("attachments")) if _text(one, "mime").startswith("image/")]
        if images:
            content = [{"type": "text", "text": text}, *images]
        block = {"type": "tool_result", "tool_use_id": part["callID"], "content": content, **({"is_error": True} if failed else {})}
        shown = shown_file(metadata) if part.get("tool") == "read" else None
        more = {"toolUseResult": shown} if shown is not None and not failed else {}
        at = _time(state, "end") or done
        return self._entry("user", _id(part) + "/result", at, cwd, message={"role": "user", "content": [block]}, **more)

    def _summary(self, info: Entry, parts: list[Entry], cwd: object) -> Iterator[Entry]:
        texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
        if not texts or info.get("error"):
            return  # it failed: nothing has changed
        at, before = _time(info, "completed") or _time(info, "created"), self.before
        boundary = self._entry("system", info["id"] + "/boundary", at, cwd, subtype="compact_boundary", compactMetadata={})
        yield {**boundary, "parentUuid": None, "logicalParentUuid": before}
        message = {"role": "user", "content": "\n".join(texts)}
        yield self._entry("user", info["id"], at, cwd, isCompactSummary=True, message=message)


def is_whole(message: object) -> bool:
    info = as_object(message).get("info")
    return isinstance(info, dict) and (info.get("role") == "user" or bool(_time(info, "completed")) or bool(info.get("error")))


def usage_of(tokens: object) -> dict[str, object] | None:
    """Return what a request used, in Claude Code's names; None where OpenCode does not say, as of one that was broken off."""
    if not isinstance(tokens, dict):
        return None
    cache = as_object(tokens.get("cache"))
    read, written = count_of(cache.get("read")), count_of(cache.get("write"))
    fresh, total = count_of(tokens.get("input")), count_of(tokens.get("total"))
    output = max(count_of(tokens.get("output")), total - fresh - read - written) if total else count_of(tokens.get("output"))
    if not fresh + read + written:
        return None
    return {
        "input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": output,
    }  # fmt: skip


def is_own(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is what `opencode export` writes."""
    begin = head.lstrip()[:400]
    return begin.startswith(b"{") and begin[1:].lstrip().startswith(_HEADS) and b'"ses_' in begin


def entries(file: BinaryIO, size: int) -> Iterator[Entry | None]:
    """Yield the entries of an export; None for one that is not a JSON object."""
    try:
        export = json.loads(file.read()[:size].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        export = None
    if not isinstance(export, dict):
        yield None
        return
    yield from of_session(export.get("info"), list_of(export.get("messages")))


def of_session(info: object, messages: Iterable[object]) -> Iterator[Entry | None]:
    """Yield the entries of a session's messages, None for a message that is none; `info` is what OpenCode knows of the session."""
    translator = Translator(_text(info, "id"), _text(info, "directory"))
    for message in messages:
        if message is None:
            yield None
        yield from translator.entries(message)


def session_of(head: bytes) -> str:
    """Return the id of the session that an export is of, from its beginning; "" where that does not say."""
    match = _ID.search(head)
    return match[1].decode("ascii") if match else ""


def _steps(parts: list[Entry], whole: object) -> list[tuple[list[Entry], object]]:
    """Return (parts, tokens) of each request that a message is made of."""
    steps: list[tuple[list[Entry], object]] = []
    open: list[Entry] = []
    for part in parts:
        if part.get("type") == "step-finish":
            steps.append((open, part.get("tokens")))
            open = []
        else:
            open.append(part)
    if any(_written(part) for part in open):
        steps.append((open, None if steps else whole))
    return steps


def _written(part: Entry) -> list[Entry]:
    """Return what the assistant wrote in a part, as blocks."""
    kind = part.get("type")
    if kind == "tool" and isinstance(part.get("callID"), str):
        arguments = as_object(part.get("state")).get("input")
        return [
            {
                "type": "tool_use",
                "id": part["callID"],
                "name": _text(part, "tool"),
                "input": as_object(arguments),
            }
        ]
    if kind == "reasoning":
        return [{"type": "thinking", "thinking": _text(part, "text")}]
    return [{"type": "text", "text": part["text"]}] if kind == "text" and _text(part, "text") else []


def _prompt_blocks(part: Entry) -> list[Entry]:
    """Return what the user said in a part, as blocks."""
    if part.get("type") == "text" and _text(part, "text"):
        return [{"type": "text", "text": part["text"]}]
    return [{"type": "image"}] if part.get("type") == "file" and _text(part, "mime").startswith("image/") else []


def _folder(part: Entry, cwd: object) -> object:
    """Return the folder in which a call was made."""
    arguments = as_object(part.get("state")).get("input")
    return _text(arguments, "workdir") or cwd


def _time(value: object, name: str) -> Any:
    time = as_object(value).get("time")
    return time.get(name) if isinstance(time, dict) else None


def _id(part: Entry) -> str:
    return _text(part, "id") or _text(part, "callID")


def _text(value: object, name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    return as_text(text)
