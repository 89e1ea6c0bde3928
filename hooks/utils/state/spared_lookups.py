"""Count the look-ups that memory spared a session: files listed in its MEMORY.md whose paths the assistant wrote before any result or
prompt held their names. Pure.

A look-up that was not made leaves no trace, so this is an estimate. Files of one answer would have been found by one look-up, and each is
worth what the session's own look-ups cost on average; nothing where it made none. Commands, folders and names in files count for nothing,
although memory tells them too: sessions that had no memory write those unaided as well, from a CLAUDE.md, or because every project has them
(`benchmarks/memory.py spared`). The first answer of a session that names such a file counts for nothing either: one in four sessions
without memory has one.
"""

from __future__ import annotations

from ..hosts.transcripts.blocks import dumps_or_nothing, text_of_blocks
from ..hosts.transcripts.entries import blocks_of, message_of
from ..hosts.transcripts.stamps import seconds_of
from ..io.codec import text_in_field
from ..policy import kinds
from ..policy.bookings import Spared
from ..policy.placeholder import handle_in
from .memory_reading import paths_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..hosts.transcripts.entries import Entry
    from ..policy.context import Result

# Attachments that hooks add, MEMORY.md among them.
_OF_HOOKS = "hook_"
# Shorter paths are guessed as often as they are known.
LEAST_CHARS = 12
# This many answers of a session name a file of MEMORY.md that they need not have learnt from there.
UNAIDED = 1
# What separates paths, and the names in them.
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_.+@~-/"}
_NAME_SEPARATORS = {**_SEPARATORS, ord("/"): " "}


class Listener:
    """Reads the entries of a transcript for `Recall`; takes every entry and every result, in order. `deliveries`: (seconds, text) of each
    MEMORY.md that it was given; `original(handle)`: the content behind a placeholder, as JSON text, or None."""

    __slots__ = ("_answers", "_deliveries", "_original", "_recall")

    def __init__(self, deliveries: Sequence[tuple[float, str]], original: Callable[[str], str | None] | None) -> None:
        self._deliveries = deliveries
        self._original = original
        self._recall: Recall | None = None
        self._answers: dict[str, str] = {}  # id of a call -> the answer that made it

    def listen(self, entry: Entry, on_branch: bool) -> None:
        """Take an entry; `on_branch`: on the branch that goes on."""
        if self._recall is None:
            self._recall = Recall(self._deliveries, text_in_field(entry, "cwd"))
        kind = entry.get("type")
        if kind == "assistant":
            if on_branch:
                answer = text_in_field(message_of(entry), "id")
                blocks = blocks_of(entry)
                self._answers.update({block["id"]: answer for block in blocks if isinstance(block.get("id"), str)})
                self._recall.wrote([text for block in blocks for text in _written(block)], seconds_of(entry.get("timestamp")), answer)
        elif not self._recall.is_over:
            for text in self._texts_of(entry, kind):
                self._recall.note_mentions(text)

    def looked_up(self, result: Result) -> None:
        """Take a result."""
        if kinds.of(result.kind).is_lookup and not result.error and self._recall is not None:
            self._recall.looked_up(result.tokens, self._answers.get(result.id))

    def bookings(self, calibration: float) -> list[Spared]:
        """Return the look-ups that memory has spared."""
        return self._recall.bookings(calibration) if self._recall is not None else []

    def _texts_of(self, entry: Entry, kind: object) -> Iterator[str]:
        attached = entry.get("attachment")
        if kind == "attachment" and isinstance(attached, dict) and not str(attached.get("type")).startswith(_OF_HOOKS):
            yield dumps_or_nothing(attached)
        if kind != "user":
            return
        text = message_of(entry).get("content")
        if isinstance(text, str):
            yield text
        for block in blocks_of(entry):
            content = block.get("content")
            handle = handle_in(content)
            yield (self._original(handle) or "") if handle and self._original else text_of_blocks(content)[0]
            yield text_in_field(block, "text")


class Recall:
    """Takes everything that a conversation holds, in order. `deliveries`: (seconds, text) of each MEMORY.md that it was given, in order of
    time; `root`: the folder that its paths are relative to."""

    __slots__ = ("_asking", "_deliveries", "_known", "_lookups", "_root", "_spared", "_tokens", "_unmentioned", "_wrote")

    def __init__(self, deliveries: Sequence[tuple[float, str]], root: str) -> None:
        self._deliveries = list(reversed(deliveries))
        self._known: frozenset[str] = frozenset()  # the words of the last delivery
        self._root = root.rstrip("/") + "/"
        # Names of files that have not been mentioned since the session began.
        self._unmentioned = {name for _, text in deliveries for name in map(_last, _words(text)) if "." in name}
        self._spared: list[float] = []  # when
        self._wrote: str | None = None  # the answer that the newest of them was in
        self._lookups = self._tokens = 0
        self._asking: set[str | None] = set()  # answers that asked for look-ups

    @property
    def is_over(self) -> bool:
        """Return whether everything delivered has been mentioned."""
        return not self._unmentioned

    def note_mentions(self, text: str) -> None:
        """Take a result, or a text of the user or the host: from now on the assistant knows these names from there."""
        if self._unmentioned:
            self._unmentioned -= {name.strip(".") for name in text.translate(_NAME_SEPARATORS).split()}

    def wrote(self, texts: Sequence[str], at: float, answer: str) -> None:
        """Take what the assistant said or asked for in an answer (its id) at a time (seconds)."""
        while self._deliveries and self._deliveries[-1][0] <= at:
            self._known = frozenset(_words(self._deliveries.pop()[1]))
        if not self._unmentioned:
            return
        if self._known and answer != self._wrote and any(map(self._is_unaided, texts)):
            self._spared.append(at)
            self._wrote = answer
        for text in texts:
            self.note_mentions(text)

    def looked_up(self, tokens: int, answer: str | None) -> None:
        """Take a look-up that an answer asked for, and the tokens of its result."""
        self._lookups += 1
        self._tokens += tokens
        self._asking.add(answer)

    def bookings(self, calibration: float) -> list[Spared]:
        """Return a booking for each look-up that was spared."""
        if not self._lookups:
            return []
        tokens, share = round(self._tokens * calibration / self._lookups), len(self._asking) / self._lookups
        return [Spared(at, tokens, share) for at in self._spared[UNAIDED:]]

    def _is_unaided(self, text: str) -> bool:
        return any(map(self._is_known, text.translate(_SEPARATORS).split()))

    def _is_known(self, word: str) -> bool:
        """Return whether the path of a file, as it was written, was delivered, and its name has not been mentioned since."""
        path = word.removeprefix(self._root).strip("./")
        folder, _, name = path.rpartition("/")
        if not folder or len(path) < LEAST_CHARS or name.strip(".") not in self._unmentioned:
            return False
        return path in self._known


def _written(block: dict[str, Any]) -> Iterator[str]:
    """Yield what the assistant has written in a block: a text, or all texts in the input of a call."""
    if isinstance(block.get("text"), str):
        yield block["text"]
    if block.get("type") == "tool_use":
        yield from _texts(block.get("input"))


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _words(text: str) -> set[str]:
    return {word.strip("./") for word in text.translate(_SEPARATORS).split()} | set(paths_in(text))


def _last(path: str) -> str:
    return path.rpartition("/")[2].strip(".")
