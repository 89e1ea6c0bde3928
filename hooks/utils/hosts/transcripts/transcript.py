"""The active branch of a transcript, as events in the order of completion.

The context is the chain from the last entry to the root (chain.py); parallel calls hang off it, so the results of every tool_use of an
assistant message on the chain belong to it. A transcript is read twice, a line at a time: `index` learns what belongs to the branch, a
`Reader` goes through the contents.
"""

from __future__ import annotations

import json
from array import array

from ...io import files
from ...io.codec import as_text
from ...io.system import os
from ...policy.commits import Commits
from ...policy.events import Call, Compacted, Prompted
from ...policy.placeholder import handle_in
from ...policy.tools import EDITS
from .. import is_kept, kept_by
from ..tools import tool as tool_named
from ..tools import tools_of
from . import entries, fates, outcomes, usage
from .blocks import text_of_blocks
from .boundaries import kept_in
from .chain import Chain, Uuids
from .entries import blocks_of, entry_of, is_compaction, is_torn, says_nothing
from .responses import PERSISTED_CHARS
from .stamps import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .entries import Entry

_DOUBTS = 5  # more tell nothing new


class Index:
    """The index of a transcript, without its contents."""

    __slots__ = (
        "abandoned", "bad", "calls", "carried", "chain", "compactions", "doubled", "doubts", "relevant", "result_ids", "seen", "since",
        "size", "torn", "translated", "version",
    )  # fmt: skip

    def __init__(self, seen: tuple[int, int]) -> None:
        self.seen = seen  # (device, inode) of the file
        self.size = 0  # bytes that were read
        self.bad = 0  # lines that are no JSON object
        self.translated = ""  # name of the host whose recording it is, where that is another one
        self.torn = False  # whether the last line is incomplete
        self.doubts: list[str] = []  # what a rewrite must not touch the file for
        self.version: tuple[int, ...] = (0,)  # of the host that wrote last, (0,) where no line tells
        # A byte for each line, 0 where it can tell of no call, prompt, request or compaction (nor where the session is).
        self.relevant = bytearray()
        self.chain = Uuids(())  # uuids of the active branch, compacted parts included
        self.calls: set = set()  # tool_use ids of the branch
        self.since = 0  # where in the file the last compaction of the branch ends
        self.compactions = 0  # boundaries in the file
        self.carried: dict = {}  # uuid of a boundary of the branch -> ids of earlier results that are behind it
        self.result_ids: set = set()  # of all results in the file, rewound ones included
        self.abandoned = 0  # how many results are on rewound branches of the main thread
        self.doubled: set = set()  # ids of results that are in several lines with no compaction between

    def doubt(self, reason: str) -> None:
        """Note what is not understood."""
        if len(self.doubts) < _DOUBTS:
            self.doubts.append(reason)


class _CarriedResults:
    """The results that remain behind compactions, as the file says: the host names those that it carried over, and writes down again a
    conversation that was handed to it as the compaction."""

    __slots__ = ("again", "boundaries", "ids", "keys", "since")

    def __init__(self) -> None:
        self.boundaries: dict = {}  # uuid -> its metadata
        self.ids: list = []  # of the results so far
        self.keys = array("q")  # and of each the hash of its entry's uuid
        self.again: dict = {}  # uuid of a boundary -> [(id, uuid)] of earlier results that were written again behind it
        self.since: tuple = (set(), set())  # ids of the results behind the newest boundary, of the main thread and of subagents

    def begin(self, uuid: str, metadata: object) -> None:
        """Begin a boundary, which the following entries come behind."""
        self.boundaries[uuid] = metadata
        self.again[uuid] = []
        self.since = (set(), set())

    def write_again(self, id: str, uuid: object) -> None:
        """Note that a result from before the newest boundary is behind it, in the entry of this uuid."""
        if self.again:
            next(reversed(self.again.values())).append((id, uuid))

    def over(self, uuid: str, chain: Uuids) -> tuple[str, ...]:
        """Return the ids of the results that are behind the boundary of this uuid, on the branch of this chain, and came before it."""
        wanted = {hash(uuid) for uuid in kept_in(self.boundaries[uuid]) if uuid}
        named = [id for id, key in zip(self.ids, self.keys) if key in wanted] if wanted else []
        return tuple(dict.fromkeys([*named, *(id for id, written in self.again[uuid] if written in chain)]))


def index(path: str) -> Index:
    """Read what a transcript holds; OSError when it cannot be read. A truncated or foreign line is counted and passed over."""
    recorded = entries.stored(path)
    if recorded is not None:
        index = Index((0, 0))
        _read(recorded, index, entries.host_of(path))
        return index
    with files.open_regular(path) as file:
        status = os.fstat(file.fileno())
        index = Index((status.st_dev, status.st_ino))
        translation = entries.translation_of(file)
        if translation is None:
            _read(file, index)
        else:
            _read(entries.translated(translation, file, status.st_size), index, translation.NAME)
            index.size = status.st_size
    return index


def _read(lines: Iterable[bytes], index: Index, host: str = "") -> None:
    """Learn what lines tell; `host`: whose recording they are translated from."""
    results: tuple = (set(), set())  # of the main thread, of subagents
    chains = (Chain(), Chain())
    carried = _CarriedResults()
    number, version, cwd = 0, "", None
    index.translated = host
    for line in lines:
        number += 1
        index.size += len(line)
        index.torn = is_torn(line)
        entry = entry_of(line)
        _doubt_line(line, entry, number, index)
        index.relevant.append(entry is not None and (not cwd or _is_relevant(entry)))
        if entry is None:
            index.bad += not says_nothing(line)
            continue
        if not cwd and "host" in entry and (host or is_kept(str(entry.get("sessionId")))):
            index.doubt(kept_by(entry["host"]))
        cwd = cwd or entry.get("cwd")
        version = entry.get("version") or version
        _learn(entry, index, results[entries.is_side(entry)], carried)
        if isinstance(entry.get("uuid"), str) and chains[entries.is_side(entry)].add(entry, index.size):
            index.doubt(f"line {number}: it repeats an entry")
    # A subagent's file holds nothing but a side chain.
    _follow(chains[not chains[0].keys], index)
    index.version = entries.version_of(version)
    index.result_ids = results[0] | results[1]
    index.abandoned = len(results[0] - index.calls)
    index.carried = {uuid: carried.over(uuid, index.chain) for uuid in carried.boundaries if uuid in index.chain}


def _doubt_line(line: bytes, entry: Entry | None, number: int, index: Index) -> None:
    if len(index.doubts) >= _DOUBTS:
        return
    if index.torn:
        index.doubt(f"line {number}, the last one, is incomplete")
    elif line.endswith(b"\r\n"):
        index.doubt(f"line {number} ends in CR LF")
    elif entry is None and not says_nothing(line):
        index.doubt(f"line {number} is not a JSON object")
    if not line.isascii():
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            index.doubt(f"line {number} is not UTF-8")


def _is_relevant(entry: Entry) -> bool:
    """Return whether an entry can tell of a call, a prompt, a request or a compaction."""
    return entry.get("type") in ("user", "assistant") or is_compaction(entry)


def _learn(entry: Entry, index: Index, results: set[str], carried: _CarriedResults) -> None:
    if entry.get("type") == "user":
        ids = [block["tool_use_id"] for block in blocks_of(entry) if isinstance(block.get("tool_use_id"), str)]
        since = carried.since[entries.is_side(entry)]
        for id in ids:
            if id in since:
                index.doubled.add(id)
            elif id in results:
                carried.write_again(id, entry.get("uuid"))
            since.add(id)
            results.add(id)
            if isinstance(entry.get("uuid"), str):
                carried.keys.append(hash(entry["uuid"]))
                carried.ids.append(id)
    elif is_compaction(entry):
        index.compactions += 1
        if isinstance(entry.get("uuid"), str):
            carried.begin(entry["uuid"], entry.get("compactMetadata"))


def _follow(chain: Chain, index: Index) -> None:
    chain.close()
    index.chain = chain.uuids()
    index.calls = chain.calls()
    index.since = chain.since()
    for doubt in chain.doubts():
        index.doubt(doubt)


class Reader:
    """Turns entries into what happened on the active branch. Feed it every entry of `entries.read`, in order.

    `original(handle)` gives the content that a placeholder replaced, as JSON text, or None where it is not known; `cleared` fills
    with id -> handle of the results that placeholders replaced, `in_files` with ids of those that the host has written to files.
    """

    __slots__ = ("cleared", "commits", "in_files", "index", "original", "pending", "seen")

    def __init__(self, index: Index, original: Callable[[str], str | None] | None = None) -> None:
        self.commits = Commits()
        self.index = index
        self.original = original
        self.pending: dict = {}  # tool_use id -> (name of the tool, input) of calls whose result has not come yet
        self.seen: set = set()  # ids of calls whose result has come: a repeated one counts once
        self.cleared: dict = {}
        self.in_files: set[str] = set()

    def events(self, entry: Entry) -> list[Call | Prompted | Compacted]:
        """Return what an entry tells of: calls, a prompt, a compaction."""
        kind = entry.get("type")
        if kind == "assistant":
            for block in blocks_of(entry):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str) and block["id"] in self.index.calls:
                    self.pending[block["id"]] = (str(block.get("name") or ""), outcomes.input_of(block.get("input")))
            return []
        events: list = []
        if kind == "user":
            for block in blocks_of(entry):
                id = block.get("tool_use_id")
                if block.get("type") != "tool_result" or id is None or id not in self.pending:
                    continue
                if id in self.seen:
                    if entry.get("uuid") in self.index.chain:  # else on a branch that a rewind has left
                        self._again(id, block.get("content"))
                    continue
                self.seen.add(id)
                events.append(self.call_of(entry, block, self.pending.pop(id)))
            if entry.get("uuid") in self.index.chain and entries.is_prompt(entry):
                events.append(Prompted(seconds_of(entry.get("timestamp"))))
        elif is_compaction(entry) and entry.get("uuid") in self.index.chain:
            carried, tokens = self.index.carried.get(entry["uuid"], ()), usage.compacted_at(entry)
            events.append(Compacted(seconds_of(entry.get("timestamp")), carried, tokens))
        return events

    def _again(self, id: str, content: object) -> None:
        """Note a result that is written again behind a compaction, as it was or as a placeholder."""
        del self.pending[id]
        handle = handle_in(content)
        if handle:
            self.cleared[id] = handle
        else:
            self.cleared.pop(id, None)

    def call_of(self, entry: Entry, block: dict[str, Any], call: tuple[str, dict[str, Any]]) -> Call:
        """Return the completed call that a result block tells of; `call` is its (tool, input)."""
        tool, tool_input = (tools_of("").of if "host" not in entry else tool_named)(call[0]), call[1]
        structure = entry.get("toolUseResult")
        text, images = text_of_blocks(self._content(block))
        if fates.is_in_file(text):
            self.in_files.add(block["tool_use_id"])
        if block.get("is_error") is True:
            outcome = outcomes.outcome_of_error(structure if isinstance(structure, str) and structure.startswith("Error: ") else text)
        elif isinstance(structure, (dict, list)) and not (tool.operation in EDITS and outcomes.shows_file(text)):
            outcome = outcomes.outcome_of(tool, tool_input, structure)
            if block["tool_use_id"] in self.in_files:  # which the structure does not always tell
                outcome.chars = min(outcome.chars, PERSISTED_CHARS)
                outcome.wide = min(outcome.wide, outcome.chars)
        else:
            outcome = outcomes.outcome_of_text(tool, tool_input, text)
            outcome.image_tokens += images
        prompt, cwd = entry.get("promptId"), entry.get("cwd")
        completed = Call(
            block["tool_use_id"], tool, tool_input, outcome, seconds_of(entry.get("timestamp")), as_text(cwd),
            prompt if isinstance(prompt, str) else None,
        )  # fmt: skip
        completed.committed = self.commits.files_of(completed, text)
        return completed

    def _content(self, block: dict[str, object]) -> object:
        """Return the content of a result, or what a placeholder there replaced."""
        content = block.get("content")
        handle = handle_in(content)
        if not handle:
            return content
        self.cleared[block["tool_use_id"]] = handle
        known = self.original(handle) if self.original else None
        try:
            return content if known is None else json.loads(known)
        except ValueError:
            return content


def events_of(path: str, known: Index | None = None) -> list[Call | Prompted | Compacted]:
    """Return everything that happened on the active branch of a transcript, as events in the order of the lines."""
    known = known or index(path)
    reader = Reader(known)
    return [event for entry in entries.read(path, known.size) for event in reader.events(entry)]
