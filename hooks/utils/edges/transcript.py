"""A transcript of the host as events: the active branch, in the order of completion.

The context is the chain from the last entry to the root by parentUuid; parallel calls hang off it, so the results of every tool_use
of an assistant message on the chain belong to it. A rewound branch stays in the file and belongs to nothing. At a compaction the
chain goes on with what stood before the boundary.
"""

from __future__ import annotations

import json

from ..policy.events import Call, Compacted, Prompted
from . import files, responses
from .stamps import seconds_of

# Lines of these types say nothing of the conversation, and some are very long.
_SKIPPED = (b'{"type":"api-request', b'{"type":"file-history', b'{"type":"queue-operation', b'{"type":"tools-used', b'{"type":"cost-state')


class Transcript:
    """The parsed lines of a transcript file, in order. `bad` counts lines that are no JSON object."""

    __slots__ = ("bad", "chain", "entries", "size")

    def __init__(self, entries: list, bad: int, size: int):
        self.entries = entries
        self.bad = bad
        self.size = size
        self.chain = _chain(entries)


def read(path: str) -> Transcript:
    """Parses a transcript; OSError when it cannot be read. A truncated or foreign line is counted and passed over."""
    entries, bad, size = [], 0, 0
    with files.open_regular(path) as file:
        for line in file:
            size += len(line)
            if line.startswith(_SKIPPED) or line == b"\n":
                continue
            try:
                entry = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                bad += 1
                continue
            if isinstance(entry, dict):
                entries.append(_tidy(entry))
            else:
                bad += 1
    return Transcript(entries, bad, size)


def _tidy(entry: dict) -> dict:
    """The entry, with every id that is no text taken out: ids are looked up, and a foreign file may hold anything."""
    for name in ("uuid", "parentUuid", "logicalParentUuid"):
        if not isinstance(entry.get(name), (str, type(None))):
            entry[name] = None
    message = entry.get("message")
    if isinstance(message, dict):
        if not isinstance(message.get("id"), (str, type(None))):
            message["id"] = None
        for block in blocks_of(entry):
            if not isinstance(block.get("tool_use_id"), (str, type(None))):
                del block["tool_use_id"]
    return entry


def _in_chain(entry: dict, sidechain: bool) -> bool:
    return isinstance(entry.get("uuid"), str) and bool(entry.get("isSidechain")) == sidechain


def _chain(entries: list) -> set:
    """The uuids of the active branch, every compacted part of it included."""
    sidechain = not any(_in_chain(entry, False) for entry in entries)  # a subagent's file holds nothing else
    order = [entry for entry in entries if _in_chain(entry, sidechain)]
    place = {entry["uuid"]: number for number, entry in enumerate(order)}
    chain: set = set()
    number = len(order) - 1
    while number >= 0:
        entry = order[number]
        chain.add(entry["uuid"])
        parent = entry.get("parentUuid")
        if parent is None:
            if entry.get("subtype") != "compact_boundary":
                break
            parent = entry.get("logicalParentUuid")
        # A parent that is not in the file (a lost line; a compaction in print mode) is taken to be the entry before.
        number = min(place.get(parent, number - 1), number - 1)
    return chain


def blocks_of(entry: dict) -> list:
    """The content blocks of an entry's message that are objects."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def calls_on_branch(transcript: Transcript) -> dict:
    """tool_use id -> (tool, input) of every call of the active branch, parallel ones included."""
    chain = transcript.chain
    messages = set()
    for entry in transcript.entries:
        if entry.get("type") == "assistant" and entry.get("uuid") in chain and isinstance(entry.get("message"), dict):
            messages.add(entry["message"].get("id") or entry["uuid"])
    calls = {}
    for entry in transcript.entries:
        if entry.get("type") != "assistant" or not isinstance(entry.get("message"), dict):
            continue
        if (entry["message"].get("id") or entry.get("uuid")) not in messages:
            continue
        for block in blocks_of(entry):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                tool_input = block.get("input")
                calls[block["id"]] = (str(block.get("name") or ""), tool_input if isinstance(tool_input, dict) else {})
    return calls


def result_ids(transcript: Transcript) -> set:
    """The ids of all results in the file, those of rewound branches included."""
    return {block["tool_use_id"] for entry in transcript.entries if entry.get("type") == "user" for block in blocks_of(entry)
            if isinstance(block.get("tool_use_id"), str)}  # fmt: skip


def is_prompt(entry: dict) -> bool:
    """Whether an entry is something that the user said (and not the host on the user's behalf)."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isVisibleInTranscriptOnly"):
        return False
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return not content.startswith(("<local-command", "<command-name>", "<bash-", "<task-notification>", "Caveat:"))
    return any(block.get("type") in ("text", "image") for block in blocks_of(entry))


def events_of(transcript: Transcript) -> list:
    """(entry, event) for everything that happened on the active branch, in the order of the lines."""
    chain, calls = transcript.chain, calls_on_branch(transcript)
    told = []
    seen: set = set()
    for entry in transcript.entries:
        kind = entry.get("type")
        if kind == "user":
            for block in blocks_of(entry):
                id = block.get("tool_use_id")
                if block.get("type") == "tool_result" and id in calls and id not in seen:
                    seen.add(id)
                    told.append((entry, _call(entry, block, calls[id])))
            if entry.get("uuid") in chain and is_prompt(entry):
                told.append((entry, Prompted(seconds_of(entry.get("timestamp")))))
        elif entry.get("subtype") == "compact_boundary" and entry.get("uuid") in chain:
            told.append((entry, Compacted(seconds_of(entry.get("timestamp")), _kept(entry, transcript.entries))))
    return told


def _call(entry: dict, block: dict, call: tuple) -> Call:
    tool, tool_input = call
    structure = entry.get("toolUseResult")
    text, images = responses.text_of_blocks(block.get("content"))
    if block.get("is_error") is True:
        outcome = responses.outcome_of_error(structure if isinstance(structure, str) and structure.startswith("Error: ") else text)
    elif isinstance(structure, (dict, list)):
        outcome = responses.outcome_of(tool, tool_input, structure)
    else:
        outcome = responses.outcome_of_text(tool, tool_input, text)
        outcome.image_tokens += images
    prompt, cwd = entry.get("promptId"), entry.get("cwd")
    return Call(
        block["tool_use_id"], tool, tool_input, outcome, seconds_of(entry.get("timestamp")), cwd if isinstance(cwd, str) else "",
        prompt if isinstance(prompt, str) else None,
    )  # fmt: skip


def _kept(boundary: dict, entries: list) -> tuple:
    """Ids of the results that the host carried over a compaction."""
    metadata = boundary.get("compactMetadata")
    preserved = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
    uuids = preserved.get("allUuids") or preserved.get("uuids") if isinstance(preserved, dict) else None
    if not isinstance(uuids, list):
        return ()
    wanted = {uuid for uuid in uuids if isinstance(uuid, str)}
    return tuple(
        block["tool_use_id"]
        for entry in entries
        if entry.get("uuid") in wanted
        for block in blocks_of(entry)
        if isinstance(block.get("tool_use_id"), str)
    )
