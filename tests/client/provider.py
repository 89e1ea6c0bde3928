"""What the provider checks of a request, as its documentation tells: messages that fit together, and thinking that is bound to all that
was said before it. Pure.

The scripted API seals every thinking block with a digest of the conversation that it answers, so a request shows whether what stands
before a block is still what it was thought over. Left out may be thinking as one run from the front or from the back, never from the
middle: that shows beside a request that has all of it (`left_out`).

In an open tool loop (the last word of the user's carries results) more is asked, by how the request has the model think (`Mode`): where
thinking is manual, the loop begins with thinking if the model has thought in that turn; where it is interleaved as well, each of its
messages does that began so. Adaptive thinking may be left out, but in no mode from the middle of a loop. Models that think by hand do not
bind their thinking.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Where a thinking block has its seal.
SEALS = {"thinking": "signature", "redacted_thinking": "data"}
Messages = list[dict[str, Any]]
MANUAL = "enabled"
_INTERLEAVED = "interleaved-thinking"
_SERVER_CALL, _SERVER_RESULT = "server_tool_use", "_tool_result"


@dataclass(frozen=True)
class Mode:
    """How a request has the model think: `thinking` ("enabled", which is manual; "adaptive"; "disabled"; "" where it does not say), and
    whether between calls, too."""

    thinking: str = ""
    is_interleaved: bool = False


ADAPTIVE = Mode("adaptive")


def mode_of(body: Mapping[str, Any], headers: Mapping[str, str]) -> Mode:
    """The mode that a request asks for."""
    betas = next((value for name, value in headers.items() if name.lower() == "anthropic-beta"), "")
    return Mode(str((body.get("thinking") or {}).get("type", "")), _INTERLEAVED in betas)


@dataclass(frozen=True)
class Answer:
    """Of a message that the model gave: whether it `began` with thinking, and whether the model had `thought` in that turn by then."""

    began: bool
    thought: bool


def name_of(message: Mapping[str, Any]) -> str:
    """By what a message of the assistant's is known again: its first call, or else its text."""
    blocks = blocks_of(message)
    first = next((block["id"] for block in blocks if block["type"] == "tool_use"), "")
    return first or "\n".join(block["text"] for block in blocks if block["type"] == "text")


def blocks_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message's content as blocks, whichever of the two forms it has."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def sealed(messages: Messages) -> str:
    """The seal of what is thought over these messages: of what was said and done in them. The host's reminders and its own messages are
    left out, as it moves them about; so is other thinking, which may be left out."""
    contents = [
        [message["role"], {name: value for name, value in block.items() if name != "cache_control"}]
        for message in messages
        for block in blocks_of(message)
        if message["role"] != "system" and block["type"] not in SEALS and not block.get("text", "").startswith("<system-reminder>")
    ]
    return (hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest() * 6)[:360]


def thoughts(messages: Messages) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of its message, block) of all thinking."""
    for number, message in enumerate(messages):
        for block in blocks_of(message):
            if block["type"] in SEALS:
                yield number, block


def faults(messages: Messages, mode: Mode = ADAPTIVE, answers: Mapping[str, Answer] | None = None) -> list[str]:
    """What the provider would refuse in the messages of a request; nothing for a good one. `answers`: what it knows of each message that
    it gave, by its `name_of`. An empty row of the host's own, which stands behind its compactions, is no part of the conversation."""
    messages = _combined([message for message in messages if message["role"] != "system" or blocks_of(message)])
    return [
        *_misshapen(messages), *_unpaired(messages), *_unbound(messages, mode), *_unthought(messages, mode, answers or {}),
        *_half_served(messages),
    ]  # fmt: skip


def _combined(messages: Messages) -> Messages:
    """The messages, of which the provider takes several of the user's in a row for one."""
    combined: Messages = []
    for message in messages:
        if combined and message["role"] == combined[-1]["role"] == "user":
            combined[-1] = {"role": "user", "content": [*blocks_of(combined[-1]), *blocks_of(message)]}
        else:
            combined.append(message)
    return combined


def open_loop(messages: Messages) -> Messages:
    """The messages of the assistant's in the tool loop that a request goes on with; none where it does not end in results."""
    loop: Messages = []
    for number, message in enumerate(reversed([message for message in messages if message["role"] != "system"])):
        if message["role"] == "assistant":
            loop.insert(0, message)
        elif not any(block["type"] == "tool_result" for block in blocks_of(message)):
            return loop if number else []
    return loop


def _unthought(messages: Messages, mode: Mode, answers: Mapping[str, Answer]) -> Iterator[str]:
    loop = open_loop(messages)
    given = [answers.get(name_of(message), Answer(began=False, thought=False)) for message in loop]
    begins = [blocks_of(message)[0]["type"] in SEALS for message in loop]
    if mode.thinking == MANUAL:
        for at, (answer, has) in enumerate(zip(given, begins)):
            has_to = answer.began if mode.is_interleaved else answer.thought and at == 0
            if has_to and not has:
                found = blocks_of(loop[at])[0]["type"]
                yield f"message {messages.index(loop[at])}: expected thinking, but found {found}: a tool loop begins with thinking"
    left = "".join("1" if has else "0" for answer, has in zip(given, begins) if answer.began)
    if "0" in left.strip("0"):
        yield "thinking is left out from the middle of a tool loop"


def _half_served(messages: Messages) -> Iterator[str]:
    """A call of the server's and its result stand in the same message."""
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        called = [block["id"] for block in blocks if block["type"] == _SERVER_CALL]
        served = [block["tool_use_id"] for block in blocks if block["type"].endswith(_SERVER_RESULT) and message["role"] == "assistant"]
        if sorted(called) != sorted(served):
            yield f"message {number}: server results of {served}, calls of {called}"


def _unbound(messages: Messages, mode: Mode) -> Iterator[str]:
    for number, block in thoughts(messages):
        if messages[number]["role"] != "assistant":
            yield f"message {number}: thinking of the user"
        elif mode.thinking != MANUAL and block[SEALS[block["type"]]] != sealed(messages[:number]):
            yield f"message {number}: thinking that is bound to a different conversation"


def _misshapen(messages: Messages) -> Iterator[str]:
    spoken = [message["role"] for message in messages if message["role"] != "system"]
    if spoken[:1] != ["user"] or spoken[-1:] != ["user"]:
        yield "the user has neither the first nor the last word"
    if any(role == other for role, other in zip(spoken, spoken[1:])):
        yield "roles do not alternate"
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield f"message {number}: empty"
        if message["role"] == "assistant" and {block["type"] for block in blocks} <= SEALS.keys():
            yield f"message {number}: nothing but thinking"


def _unpaired(messages: Messages) -> Iterator[str]:
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "system":
            continue
        blocks = blocks_of(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"message {number}: results of {results}, calls of {sorted(waiting)}"
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if waiting:
        yield f"calls without results: {sorted(waiting)}"


def left_out(whole: Messages, other: Messages) -> str:
    """Where the second of two requests lacks thinking of the first: "" for nowhere, "front", "back", "all", "middle"."""
    has = [block in [mine for _, mine in thoughts(other)] for _, block in thoughts(whole)]
    if all(has):
        return ""
    if not any(has):
        return "all"
    kept = "".join("1" if one else "0" for one in has).strip("0")
    return "middle" if "0" in kept else "back" if has[0] else "front"
