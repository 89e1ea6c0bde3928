"""The chain of a conversation's entries by parentUuid, whose end is the active branch. Knows no contents and reads no file.

A rewound branch stays in the file and belongs to nothing. At a compaction the chain goes on with what came before the boundary. The lines
of a `/compact` command come behind its boundary, although the host may hang them on what came before it (2.1.217).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from .entries import blocks_of, is_compaction
from .stamps import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .entries import Entry

# What the host's conversations are made of. A chain with another link in it is not understood.
_LINKS = frozenset(("user", "assistant", "system", "attachment", "progress", "summary"))


class Uuids:
    """Some of a transcript's uuids, to be asked `uuid in uuids`. Kept as sorted hashes, which take a twentieth of the texts' memory."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[int]) -> None:
        self._keys = array("q", sorted(keys))

    def __contains__(self, uuid: object) -> bool:
        key = hash(uuid)
        at = bisect_left(self._keys, key)
        return at < len(self._keys) and self._keys[at] == key

    def __len__(self) -> int:
        return len(self._keys)


class Chain:
    """The links of one chain in the order of their lines. Uuids and messages are kept as their hashes."""

    __slots__ = (
        "boundaries", "compacted", "keys", "late", "links", "messages", "orphans", "parents", "place", "tail", "use_messages", "uses",
    )  # fmt: skip

    def __init__(self) -> None:
        self.keys = array("q")
        self.parents = array("q")  # place of the link before, -1 at the root
        self.place: dict = {}  # key -> place
        self.messages = array("q")  # of an assistant's link its message, 0 of another
        self.uses: list = []  # tool_use ids
        self.use_messages = array("q")  # and of each its message
        self.boundaries: dict = {}  # place of a compaction -> where in the file its line ends
        self.links: dict = {}  # place -> doubt about that link
        self.orphans: dict = {}  # place -> key of its parent, which did not come before it
        self.late: set = set()  # places of links that come behind one that follows them
        self.compacted: tuple = ("", 0.0)  # of the last compaction: the uuid of the entry before it, and when it was over
        self.tail = -1  # place of the last link so far that follows its boundary

    def add(self, entry: Entry, end: int) -> bool:
        """Add the next link, whose line ends at the byte `end`; return whether its uuid was there before."""
        here, uuid = len(self.keys), entry["uuid"]
        key = hash(uuid)
        again = key in self.place
        self.keys.append(key)
        self.place[key] = here
        self._hang(here, entry, end)
        if entry.get("type") not in _LINKS:
            self.links[here] = "an entry of an unknown type: " + str(entry.get("type"))[:40]
        self.messages.append(self._message(entry))
        return again

    def _hang(self, here: int, entry: Entry, end: int) -> None:
        """Find the link before."""
        uuid, parent = entry["uuid"], entry.get("parentUuid")
        if is_compaction(entry):
            self.boundaries[here] = end
            parent = parent or entry.get("logicalParentUuid") or ""
            self.compacted, self.tail = (parent, seconds_of(entry.get("timestamp"))), here
        before = None if parent is None or parent == uuid else self.place.get(hash(parent))
        if parent and parent == self.compacted[0] and 0 < seconds_of(entry.get("timestamp")) < self.compacted[1]:
            before = self.tail  # written before the compaction was over: what follows a rewind is not
        # A parent that is not in the file (a lost line; a compaction in print mode) is taken to be the entry before.
        self.parents.append(-1 if parent is None else here - 1 if before is None else before)
        if self.parents[here] == self.tail >= 0:
            self.tail = here
        if parent and parent != uuid and before is None and here not in self.boundaries:
            self.orphans[here] = hash(parent)

    def _message(self, entry: Entry) -> int:
        """Return the message of an assistant's entry, its tool_uses noted; 0 for another."""
        if entry.get("type") != "assistant" or not isinstance(entry.get("message"), dict):
            return 0
        message = hash(entry["message"].get("id") or entry["uuid"])
        for block in blocks_of(entry):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self.uses.append(block["id"])
                self.use_messages.append(message)
        return message

    def close(self) -> None:
        """Find the links of the orphans, now that all are in: a line that the host was writing while the file was rewritten may come
        behind those that follow it."""
        for here, parent in self.orphans.items():
            there = self.place.get(parent)
            if there is None:
                self.links.setdefault(here, "the entry that it follows is not in the file")
            else:
                self.parents[here] = there
                self.late.add(there)
        self.place.clear()  # what follows may have its memory

    def branch(self) -> Iterator[int]:
        """Return the places of the active branch, newest first."""
        here = len(self.keys) - 1
        while here in self.late:
            here -= 1
        for _ in self.keys:  # a forged file could lead in a circle
            if here < 0:
                break
            yield here
            here = self.parents[here]

    def uuids(self) -> Uuids:
        """Return the uuids of the active branch."""
        return Uuids(self.keys[here] for here in self.branch())

    def calls(self) -> set[str]:
        """Return the tool_use ids of the active branch: parallel calls hang off it, so those of every message on it."""
        messages = {self.messages[here] for here in self.branch()}
        return {id for id, message in zip(self.uses, self.use_messages) if message in messages}

    def since(self) -> int:
        """Return where in the file the last compaction of the active branch ends, 0 for none."""
        return next((self.boundaries[here] for here in self.branch() if here in self.boundaries), 0)

    def doubts(self) -> Iterator[str]:
        """Return what is not understood of the active branch since then, newest first."""
        for here in self.branch():
            if here in self.links:
                yield self.links[here]
            if here in self.boundaries:
                return
