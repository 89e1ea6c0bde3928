"""A transcript of the host as events: the active branch, in the order of completion.

The context is the chain from the last entry to the root by parentUuid; parallel calls hang off it, so the results of every tool_use
of an assistant message on the chain belong to it. A rewound branch stays in the file and belongs to nothing. At a compaction the
chain goes on with what stood before the boundary.

A transcript is read twice, a line at a time: `index` learns what belongs to the branch, `entries` goes through the contents. So memory
follows the longest line, not the file.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left

from ..edges import files
from ..edges.system import os
from ..policy.events import Call, Compacted, Prompted
from ..policy.placeholder import handle_in
from . import responses
from .commits import Commits
from .stamps import seconds_of

# Lines of these types say nothing of the conversation, and some are very long.
_SKIPPED = (b'{"type":"api-request', b'{"type":"file-history', b'{"type":"queue-operation', b'{"type":"tools-used', b'{"type":"cost-state')
# What the host's conversations are made of. A chain with another link in it is not understood.
_DOUBTS = 5  # more tell nothing new
_LINKS = frozenset(("user", "assistant", "system", "attachment", "progress", "summary"))
_scan = json.JSONDecoder().scan_once


class Index:
    """What a transcript holds, without its contents.

    `chain`: Uuids of the active branch, compacted parts included · `calls`: tool_use ids of the branch · `result_ids`: ids of all results
    in the file, rewound ones included · `abandoned`: how many results stand on rewound branches of the main thread · `doubled`: ids of
    results that stand in several lines · `compactions`: boundaries in the file · `kept`: uuid of a boundary -> ids of the results that the
    host carried over it · `since`: where in the file the last compaction of the branch ends · `size`: bytes that were read · `bad`: lines
    that are no JSON object · `torn`: whether the last line is incomplete · `doubts`: what a rewrite must not touch the file for, in words ·
    `seen`: (device, inode) of the file · `telling`: a byte for each line, 0 where it can tell of no call, prompt, request or compaction
    (nor where the session is) · `version`: of the host that wrote last, (0,) where no line tells.
    """

    __slots__ = (
        "abandoned", "bad", "calls", "chain", "compactions", "doubled", "doubts", "kept", "result_ids", "seen", "since", "size", "telling",
        "torn", "version",
    )  # fmt: skip
    bad: int
    kept: dict
    size: int
    telling: bytearray


class Uuids:
    """Some of a transcript's uuids, to be asked `uuid in uuids`. Kept as sorted hashes, which take a twentieth of the texts' memory."""

    __slots__ = ("_keys",)

    def __init__(self, keys):
        self._keys = array("q", sorted(keys))

    def __contains__(self, uuid: object) -> bool:
        key = hash(uuid)
        at = bisect_left(self._keys, key)
        return at < len(self._keys) and self._keys[at] == key

    def __len__(self) -> int:
        return len(self._keys)


class _Chain:
    """The links of one chain in the order of their lines. Uuids and messages are kept as their hashes."""

    __slots__ = ("boundaries", "keys", "late", "links", "messages", "orphans", "parents", "place", "use_messages", "uses")

    def __init__(self):
        self.keys = array("q")
        self.parents = array("q")  # place of the link before, -1 at the root
        self.place: dict = {}  # key -> place
        self.messages = array("q")  # of an assistant's link its message, 0 of another
        self.uses: list = []  # tool_use ids
        self.use_messages = array("q")  # and of each its message
        self.boundaries: dict = {}  # place of a compaction -> where in the file its line ends
        self.links: dict = {}  # place -> doubt about that link
        self.orphans: dict = {}  # place -> key of its parent, which did not stand before it
        self.late: set = set()  # places of links that stand behind one that follows them

    def add(self, entry: dict, end: int) -> bool:
        """Takes the next link in; returns whether its uuid was there before."""
        here, uuid, kind = len(self.keys), entry["uuid"], entry.get("type")
        key = hash(uuid)
        again = key in self.place
        self.keys.append(key)
        self.place[key] = here
        parent = entry.get("parentUuid")
        if entry.get("subtype") == "compact_boundary":
            self.boundaries[here] = end
            parent = parent or entry.get("logicalParentUuid") or ""
        before = None if parent is None or parent == uuid else self.place.get(hash(parent))
        # A parent that is not in the file (a lost line; a compaction in print mode) is taken to be the entry before.
        self.parents.append(-1 if parent is None else here - 1 if before is None else before)
        if parent and parent != uuid and before is None and here not in self.boundaries:
            self.orphans[here] = hash(parent)
        if kind not in _LINKS:
            self.links[here] = "an entry of a type that is not known: " + str(kind)[:40]
        message = 0
        if kind == "assistant" and isinstance(entry.get("message"), dict):
            message = hash(entry["message"].get("id") or uuid)
            for block in blocks_of(entry):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                    self.uses.append(block["id"])
                    self.use_messages.append(message)
        self.messages.append(message)
        return again

    def branch(self):
        """The places of the active branch, newest first."""
        here = len(self.keys) - 1
        while here in self.late:
            here -= 1
        for _ in self.keys:  # a forged file could lead in a circle
            if here < 0:
                break
            yield here
            here = self.parents[here]

    def find_late(self) -> None:
        """A line that the host was writing while the file was rewritten may stand behind those that follow it."""
        for here, parent in self.orphans.items():
            there = self.place.get(parent)
            if there is None:
                self.links.setdefault(here, "the entry that it follows is not in the file")
            else:
                self.parents[here] = there
                self.late.add(there)


def index(path: str) -> Index:
    """Reads what a transcript holds; OSError when it cannot be read. A truncated or foreign line is counted and passed over."""
    found = Index()
    found.bad = found.compactions = found.size = 0
    found.torn = False
    found.doubts, found.doubled, found.telling = [], set(), bytearray()
    results = (set(), set())  # of the main thread, of subagents
    chains = (_Chain(), _Chain())
    carried = _Carried()
    with files.open_regular(path) as file:
        status = os.fstat(file.fileno())
        found.seen = (status.st_dev, status.st_ino)
        number, version, cwd = 0, "", None
        for line in file:
            number += 1
            found.size += len(line)
            found.torn = not line.endswith(b"\n") and not _is_whole(line)
            entry = _entry(line)
            _doubt_line(line, entry, number, found.torn, found.doubts)
            found.telling.append(entry is not None and (not cwd or _tells(entry)))
            if entry is None:
                found.bad += line != b"\n" and not line.startswith(_SKIPPED)
                continue
            cwd = cwd or entry.get("cwd")
            version = entry.get("version") or version
            _learn(entry, found, results[bool(entry.get("isSidechain"))], carried)
            if isinstance(entry.get("uuid"), str) and chains[bool(entry.get("isSidechain"))].add(entry, found.size):
                _doubt(found.doubts, f"line {number}: an entry stands in it twice")
    # A subagent's file holds nothing but a side chain.
    _follow(chains[not chains[0].keys], found)
    found.version = _version(version)
    found.result_ids = results[0] | results[1]
    found.abandoned = len(results[0] - found.calls)
    found.kept = {uuid: carried.over(metadata) for uuid, metadata in carried.boundaries.items() if uuid in found.chain}
    return found


def _version(value: object) -> tuple:
    numbers = [part for part in value.split(".") if part.isdigit()] if isinstance(value, str) else []
    return tuple(map(int, numbers[:3])) or (0,)


def _entry(line: bytes) -> dict | None:
    """The entry of a line; None for one that is none or says nothing of the conversation."""
    if line.startswith(_SKIPPED) or line == b"\n":
        return None
    try:
        entry = _value(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return _tidy(entry) if isinstance(entry, dict) else None


def _value(text: str) -> object:
    """As json.loads, without its searches for blanks around the value, which cost a third of it."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = 0
    return value if end and text[end:] in ("\n", "") else json.loads(text)


def _tells(entry: dict) -> bool:
    """Whether an entry can tell of a call, a prompt, a request or a compaction."""
    return entry.get("type") in ("user", "assistant") or entry.get("subtype") == "compact_boundary"


def _tidy(entry: dict) -> dict:
    """The entry, with a type and every id that is no text taken out: they are looked up, and a foreign file may hold anything."""
    for name in ("type", "uuid", "parentUuid", "logicalParentUuid"):
        if not isinstance(entry.get(name, ""), str):
            entry[name] = None
    message = entry.get("message")
    if isinstance(message, dict):
        if not isinstance(message.get("id"), (str, type(None))):
            message["id"] = None
        for block in blocks_of(entry):
            if not isinstance(block.get("tool_use_id"), (str, type(None))):
                del block["tool_use_id"]
    return entry


def _doubt(doubts: list, said: str) -> None:
    if len(doubts) < _DOUBTS:
        doubts.append(said)


def _is_whole(line: bytes) -> bool:
    """Whether a last line without its newline is an entry of the host's all the same: a client was killed there."""
    try:
        entry = _value(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and isinstance(entry.get("type"), str)


def _doubt_line(line: bytes, entry: dict | None, number: int, torn: bool, doubts: list) -> None:
    if len(doubts) >= _DOUBTS:
        return
    if torn:
        doubts.append(f"line {number}, the last one, is incomplete")
    elif line.endswith(b"\r\n"):
        doubts.append(f"line {number} ends in CR LF")
    elif entry is None and line != b"\n" and not line.startswith(_SKIPPED):
        doubts.append(f"line {number} is no JSON object")
    if not line.isascii():
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            doubts.append(f"line {number} is no UTF-8")


def _learn(entry: dict, found: Index, results: set, carried: _Carried) -> None:
    if entry.get("type") == "user":
        ids = [block["tool_use_id"] for block in blocks_of(entry) if isinstance(block.get("tool_use_id"), str)]
        for id in ids:
            if id in results:
                found.doubled.add(id)
            results.add(id)
            if isinstance(entry.get("uuid"), str):
                carried.keys.append(hash(entry["uuid"]))
                carried.ids.append(id)
    elif entry.get("subtype") == "compact_boundary":
        found.compactions += 1
        if isinstance(entry.get("uuid"), str):
            carried.boundaries[entry["uuid"]] = entry.get("compactMetadata")


def _follow(chain: _Chain, found: Index) -> None:
    chain.find_late()
    chain.place.clear()  # what follows may have its memory
    found.chain = Uuids(chain.keys[here] for here in chain.branch())
    found.since = 0
    for here in chain.branch():
        if here in chain.links:
            _doubt(found.doubts, chain.links[here])
        if here in chain.boundaries:
            found.since = chain.boundaries[here]
            break
    messages = {chain.messages[here] for here in chain.branch()}
    found.calls = {id for id, message in zip(chain.uses, chain.use_messages) if message in messages}


class _Carried:
    """What of the file says which results the host carried over compactions."""

    __slots__ = ("boundaries", "ids", "keys")

    def __init__(self):
        self.boundaries: dict = {}  # uuid -> its metadata
        self.ids: list = []  # of the results so far
        self.keys = array("q")  # and of each the hash of its entry's uuid

    def over(self, metadata: object) -> tuple:
        """Ids of the results that were carried over the boundary of this metadata."""
        preserved = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
        uuids = preserved.get("allUuids") or preserved.get("uuids") if isinstance(preserved, dict) else None
        if not isinstance(uuids, list):
            return ()
        wanted = {hash(uuid) for uuid in uuids if isinstance(uuid, str) and uuid}
        return tuple(id for id, key in zip(self.ids, self.keys) if key in wanted)


def lines(path: str, size: int):
    """(where it begins, the bytes) of each line in the first `size` bytes of a transcript; OSError when it cannot be read."""
    begin = 0
    with files.open_regular(path) as file:
        for line in file:
            if begin + len(line) > size:
                return
            yield begin, line
            begin += len(line)


def entries(path: str, size: int, telling=None):
    """The entries of the first `size` bytes of a transcript, in order, only the telling ones where an index says which these are;
    OSError when it cannot be read."""
    for number, (_, line) in enumerate(lines(path, size)):
        entry = _entry(line) if telling is None or telling[number] else None
        if entry is not None:
            yield entry


def blocks_of(entry: dict) -> list:
    """The content blocks of an entry's message that are objects."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def is_prompt(entry: dict) -> bool:
    """Whether an entry is something that the user said (and not the host on the user's behalf)."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isVisibleInTranscriptOnly"):
        return False
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return not content.startswith(("<local-command", "<command-name>", "<bash-", "<task-notification>", "Caveat:"))
    return any(block.get("type") in ("text", "image") for block in blocks_of(entry))


class Reader:
    """Turns entries into what happened on the active branch. Feed it every entry of `entries`, in order.

    `original(handle)` gives the content that a placeholder stands for, as JSON text, or None where it is not known; `cleared` fills
    with id -> handle of the results that placeholders stand for.
    """

    __slots__ = ("cleared", "commits", "index", "original", "pending", "seen")

    def __init__(self, index: Index, original=None):
        self.commits = Commits()
        self.index = index
        self.original = original
        self.pending: dict = {}  # tool_use id -> (tool, input) of calls whose result has not come yet
        self.seen: set = set()  # ids of calls whose result has come: a repeated one counts once
        self.cleared: dict = {}

    def events(self, entry: dict) -> list:
        """What an entry tells of: calls, a prompt, a compaction."""
        kind = entry.get("type")
        if kind == "assistant":
            for block in blocks_of(entry):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str) and block["id"] in self.index.calls:
                    tool_input = block.get("input")
                    self.pending[block["id"]] = (str(block.get("name") or ""), tool_input if isinstance(tool_input, dict) else {})
            return []
        told: list = []
        if kind == "user":
            for block in blocks_of(entry):
                id = block.get("tool_use_id")
                if block.get("type") == "tool_result" and id in self.pending and id not in self.seen:
                    self.seen.add(id)
                    told.append(self.call_of(entry, block, self.pending.pop(id)))
            if entry.get("uuid") in self.index.chain and is_prompt(entry):
                told.append(Prompted(seconds_of(entry.get("timestamp"))))
        elif entry.get("subtype") == "compact_boundary" and entry.get("uuid") in self.index.chain:
            told.append(Compacted(seconds_of(entry.get("timestamp")), self.index.kept.get(entry["uuid"], ())))
        return told

    def call_of(self, entry: dict, block: dict, call: tuple) -> Call:
        """The completed call that a result block tells of; `call` is its (tool, input)."""
        tool, tool_input = call
        structure = entry.get("toolUseResult")
        text, images = responses.text_of_blocks(self._content(block))
        if block.get("is_error") is True:
            outcome = responses.outcome_of_error(structure if isinstance(structure, str) and structure.startswith("Error: ") else text)
        elif isinstance(structure, (dict, list)):
            outcome = responses.outcome_of(tool, tool_input, structure)
        else:
            outcome = responses.outcome_of_text(tool, tool_input, text)
            outcome.image_tokens += images
        prompt, cwd = entry.get("promptId"), entry.get("cwd")
        made = Call(
            block["tool_use_id"], tool, tool_input, outcome, seconds_of(entry.get("timestamp")), cwd if isinstance(cwd, str) else "",
            prompt if isinstance(prompt, str) else None,
        )  # fmt: skip
        made.committed = self.commits.files_of(made, text)
        return made

    def _content(self, block: dict) -> object:
        """The content of a result, or what stood there before a placeholder took its place."""
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


def events_of(path: str, found: Index | None = None) -> list:
    """Everything that happened on the active branch of a transcript, as events in the order of the lines."""
    found = found or index(path)
    reader = Reader(found)
    return [event for entry in entries(path, found.size) for event in reader.events(entry)]
