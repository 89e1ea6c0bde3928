"""The transcripts that the helper keeps of sessions whose host has none that we read while it runs.

They have the form of Claude Code's, and everything else is read in them. What the host took back stays in the file, on a branch that
nothing follows.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook loads this
import os
from abc import ABC, abstractmethod

from ..io import files, home
from .recorded_values import MESSAGE
from .transcripts import entries, projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    class Translator(Protocol):
        """A translator of the messages of one session into entries, in order. `before`: uuid of the entry that the next one follows."""

        before: str | None

        def entries(self, message: Any, /) -> Iterator[dict[str, Any]]:
            """Yield the entries of a message."""


def root_of(popkit_home: str) -> str:
    """Return the folder of the kept transcripts, with a folder for each project."""
    return os.path.join(popkit_home, home.TRANSCRIPTS)


def path_of(popkit_home: str, project: str, session_id: str) -> str:
    """Return where the transcript of a session is kept."""
    return os.path.join(root_of(popkit_home), projects.folder_name(project), home.safe_name(session_id) + projects.SUFFIX)


class KeptTranscript(ABC):
    """The transcript of one context. `host`: its name, as people call it. Not for several threads at once; what another process has
    appended is seen before anything is."""

    def __init__(self, path: str, translator: Translator, host: str) -> None:
        self.path = path
        self.translator = translator
        self.host = host
        self.last_entries: dict[str, str | None] = {}  # message of the conversation -> uuid of its last entry
        self.results: dict[str, list[str]] = {}  # message -> ids of the calls whose results it brought
        self.size = 0  # bytes that are known
        self._look()

    @abstractmethod
    def id_of(self, message: Any) -> str:
        """Return the id of a message; "" for what is none."""

    @abstractmethod
    def is_whole(self, message: Any) -> bool:
        """Return whether a message will not change any more, as far as it says so itself."""

    def take(self, messages: list[Any], is_all: bool = False) -> int:
        """Append what is new among these messages; return how many entries that is. `is_all`: they are all of the session, so what is not
        among them was taken back, and what is behind an unfinished one has made it final."""
        self._look()
        ids = [self.id_of(message) for message in messages]
        if is_all:
            self.take_back([id for id in self.last_entries if id not in set(ids)])
        new: list[dict[str, object]] = []
        for at, (id, message) in enumerate(zip(ids, messages)):
            if id and id not in self.last_entries and (self.is_whole(message) or at + 1 < len(messages)):
                new += self.translate(id, message)
        if new:
            self._append("".join(json.dumps({**entry, "host": self.host}, separators=(",", ":")) + "\n" for entry in new))
        return len(new)

    def translate(self, id: str, message: Any) -> list[dict[str, Any]]:
        """Return the entries of a message that is not of the conversation yet, which it is from then on."""
        translated = list(self.translator.entries(message))
        self.last_entries[id] = translated[-1]["uuid"] if translated else self.translator.before
        for entry in translated:
            self._note(id, entry)
        return translated

    def take_back(self, ids: list[str]) -> None:
        for id in ids:
            self.last_entries.pop(id, None)
            self.results.pop(id, None)
        if ids:
            self.translator.before = next(reversed(self.last_entries.values()), None) if self.last_entries else None

    def ids(self) -> list[str]:
        return [id for message in self.last_entries for id in self.results.get(message, ())]

    def look_at(self, stored: list[dict[str, Any]]) -> None:
        """Take in the entries of the file."""
        self.last_entries, self.results, self.translator.before = {}, {}, None
        for entry in _branch(stored):
            if isinstance(entry.get(MESSAGE), str):
                self.last_entries.pop(entry[MESSAGE], None)
                self.last_entries[entry[MESSAGE]] = self.translator.before = entry["uuid"]
                self._note(entry[MESSAGE], entry)

    def _note(self, message: str, entry: dict[str, object]) -> None:
        ids = [block["tool_use_id"] for block in entries.blocks_of(entry) if isinstance(block.get("tool_use_id"), str)]
        self.results.setdefault(message, []).extend(ids)

    def _append(self, lines: str) -> None:
        files.make_private_folder(os.path.dirname(self.path))
        cut = "" if _ends_whole(self.path) else "\n"  # a kill has cut the last line short
        files.append_text(self.path, cut + lines)
        self.size = files.size_of(self.path)

    def _look(self) -> None:
        """Read the file, unless it is what was written last."""
        size = files.size_of(self.path)
        if size != self.size:
            self.size = size
            self.look_at(list(entries.read(self.path, size)))


def _branch(stored: Iterable[dict[str, object]]) -> list[dict[str, Any]]:
    """Return the entries that the last one follows, in order, those before a compaction included."""
    known = {entry["uuid"]: entry for entry in stored if isinstance(entry.get("uuid"), str)}
    branch: list[dict[str, object]] = []
    entry = next(reversed(known.values()), None)
    while entry is not None:
        branch.append(entry)
        known.pop(entry["uuid"])  # a file that anybody has changed may go round in circles
        before = entry.get("parentUuid") or entry.get("logicalParentUuid")
        entry = known.get(before) if isinstance(before, str) else None
    return branch[::-1]


def _ends_whole(path: str) -> bool:
    try:
        with files.open_regular(path) as file:
            if not file.seek(0, os.SEEK_END):
                return True
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"
    except FileNotFoundError:
        return True
