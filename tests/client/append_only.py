"""What a thread of a conversation has sent stays as it was sent: compares requests in pairs. Pure.

A thread is the main conversation or one subagent. A request is compared with the one that it goes on from: the one before it of its
thread, or after a rewind the last one of the turns that stayed. A compaction begins a thread anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from benchmarks import reference_decoder as reading

from .provider import blocks_of
from .scripted_api import Recorded, position, text_of

Body = dict[str, Any]
_FOLDER = re.compile(r"(?:[Ww]orking directory: |<cwd>\\n)([\w./-]+)")  # in a request as JSON
NOISE = re.compile(r"\[the line above stands \d+ times? in a row\]")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MOVED = re.compile(r"\s*<system-reminder>\s*PostToolUse:\w+ hook additional context: .*?</system-reminder>\s*", re.DOTALL)
_AROUND = 60  # characters shown on each side of a difference


def plain(value: Any) -> Any:
    """A part of a request without what the client moves about and the provider does not compare: marks for the cache, and whether a
    lone text of a result is a string or a list of one block."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    bare = {name: plain(item) for name, item in value.items() if name != "cache_control"}
    content = bare.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}:
        bare["content"] = content[0]["text"]
    return bare


def parts(body: Body, system: bool = True) -> list[str]:
    """What the provider compares of a request, in its order: tools, system, and each block of the messages with who said it. The first
    system block is the client's own header, which changes with each request."""
    compared = [["tools", body.get("tools", [])], *([["system", body.get("system", [])[1:]]] if system else [])]
    compared += [[message["role"], block] for message in body["messages"] for block in _standing(message)]
    return [json.dumps(part, sort_keys=True, ensure_ascii=False) for part in plain(compared)]


def _standing(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's blocks, without the texts that hooks have added to results: 2.1.100 writes those behind a result as blocks of their own,
    and later, in the request for a summary at the latest, at the end of the result."""
    blocks = [{name: _MOVED.sub("", value) if isinstance(value, str) else value for name, value in block.items()} for block in
              plain(blocks_of(message))]  # fmt: skip
    return [block for block in blocks if block.get("type") != "text" or block["text"]]


def change(before: Body, after: Body, system: bool = True) -> str:
    """The first difference between what a request sent and how the next one begins; "" for none."""
    sent, begins = parts(before, system), parts(after, system)
    for number, part in enumerate(sent):
        now = begins[number] if number < len(begins) else ""
        if part != now:
            at = next((at for at, (one, other) in enumerate(zip(part, now)) if one != other), min(len(part), len(now)))
            shown = slice(max(0, at - _AROUND), at + _AROUND)
            return f"part {number} of {len(sent)}, {part[:40]}, at {at}: {part[shown]!r} became {now[shown]!r}"
    return ""


def changes(bodies: Sequence[Body], system: bool = True) -> list[str]:
    """All differences between each request of a sequence and the one before it."""
    return [found for before, after in zip(bodies, bodies[1:]) if (found := change(before, after, system))]


def threads(requests: Sequence[Recorded], subagents: Collection[str]) -> list[list[Body]]:
    """The requests of each thread, in order; the main one in two where it was compacted. A subagent is told by the script it plays."""
    main: list[list[Body]] = [[]]
    others: dict[str, list[Body]] = {name: [] for name in subagents}
    for request in requests:
        if request.kind == "summary":
            main[-1].append(request.body)
            main.append([])
        elif request.kind == "turn":
            others.get(position(request.body["messages"])[0], main[-1]).append(request.body)
    return [*main, *others.values()]


def unfounded(text: str, whole: str) -> list[str]:
    """The lines of a result as it was sent that are neither of the result as it came, nor words of PopKit's that stand for such."""
    came = {line.rstrip() for line in whole.split("\n")}
    came |= {_ESCAPES.sub("", line).rpartition("\r")[2].rstrip() for line in whole.split("\n")}
    ours = (reading.REFERENCE, NOISE)
    return [line for line in text.split("\n") if line.rstrip() not in came and not any(one.fullmatch(line) for one in ours)]


def dangling(body: Body) -> list[str]:
    """The references of a request that a reader who sees it alone cannot follow, or could follow to two places."""
    folder = _FOLDER.search(json.dumps([body.get("system"), body["messages"]], ensure_ascii=False))
    reader = reading.Reader(folder[1] if folder else "")
    calls: dict[str, dict[str, Any]] = {}
    missing = []
    for message in body["messages"]:
        for block in blocks_of(message):
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result":
                text, call = text_of(block.get("content")), calls[block["tool_use_id"]]
                missing += [reference[0] for _, reference in reading.references(text) if reader.follows(reference).kind != "found"]
                reader.sees(call["id"], call["name"], call["input"], text)
    return missing
