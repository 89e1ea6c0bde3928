"""What the provider checks of a request, as its documentation tells: messages that fit together, and thinking that is bound to all that
was said before it. Pure.

The scripted API seals every thinking block with a digest of the conversation that it answers, so a request shows whether what stands
before a block is still what it was thought over. Left out may be thinking as one run from the front or from the back, never from the
middle: that shows beside a request that has all of it (`left_out`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

# Where a thinking block has its seal.
SEALS = {"thinking": "signature", "redacted_thinking": "data"}
Messages = list[dict[str, Any]]


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
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


def faults(messages: Messages) -> list[str]:
    """What the provider would refuse in the messages of a request; nothing for a good one."""
    return [*_misshapen(messages), *_unpaired(messages), *_unbound(messages)]


def _unbound(messages: Messages) -> Iterator[str]:
    for number, block in thoughts(messages):
        if messages[number]["role"] != "assistant":
            yield f"message {number}: thinking of the user"
        elif block[SEALS[block["type"]]] != sealed(messages[:number]):
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
