"""OpenCode as a host, as `hosts/protocol.py` asks of one, and the transcripts that the helper keeps of its sessions, in our folder.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited. What it records is read in
those transcripts, which have the form of Claude Code's. What OpenCode took back stays in the file, on a branch that nothing follows.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook loads this
import os

from ...io import files, home
from ...io.codec import text_in_field
from ...io.storage import Storage
from ...policy.calls import Call, Outcome
from ..own_memory import OwnMemory
from ..transcripts import entries, projects
from ..transcripts.blocks import text_of_blocks
from . import TOOLS, exit_of, outcome_of, row_of, tool_named
from .translation import MESSAGE, NAME, SESSION, Translator, is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "kept", "output_of",
    "own_memory", "path_of", "row_of", "run_as_ours",
]  # fmt: skip


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call that the plugin reports: {id, tool, input, output, metadata, failed, cwd}; None where it names none."""
    id, name, arguments = payload.get("id"), payload.get("tool"), payload.get("input")
    if not (isinstance(id, str) and id and isinstance(name, str) and name):
        return None
    tool, tool_input = tool_named(name), arguments if isinstance(arguments, dict) else {}
    output, metadata = payload.get("output"), payload.get("metadata")
    text = output if isinstance(output, str) else text_of_blocks(output)[0]
    failed = payload.get("failed") is True or bool(exit_of(metadata))
    outcome = outcome_of(tool, tool_input, text, metadata, failed)
    cwd = tool_input.get("workdir") or payload.get("cwd")
    return Call(id, tool, tool_input, outcome, now, cwd if isinstance(cwd, str) else "")


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the plugin reports."""
    arguments = call.get("input")
    return Call(id, tool_named(call.get("tool")), arguments if isinstance(arguments, dict) else {}, Outcome(error=error), now, cwd)


def output_of(payload: dict[str, Any]) -> str:
    """Return what the command of a completed call has printed; "" for another call."""
    return text_in_field(payload, "output")


def run_as_ours(command: str) -> str:
    """Return "": the plugin changes no command before it runs."""
    return ""


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return an empty memory: OpenCode keeps none of its own."""
    return OwnMemory("")


def compaction_told(environ: Mapping[str, str], folder: str, model: str) -> dict[str, Any] | None:
    """Return None: what OpenCode compacts by is not read."""
    return None


def compaction_reported(breakdown: object) -> int | None:
    """Return None: the plugin reports no breakdown."""
    return None


# --- transcripts that the helper keeps ---

STORAGE = (Storage("transcripts of OpenCode", {home.TRANSCRIPTS: rf"[^/]+/{SESSION}[^/]+(/subagents/agent-[^/]+)?\.jsonl"}),)


def root_of(popkit_home: str) -> str:
    """Return the folder of the kept transcripts, with a folder for each project."""
    return os.path.join(popkit_home, home.TRANSCRIPTS)


def path_of(popkit_home: str, project: str, session_id: str) -> str:
    """Return where the transcript of a session is kept."""
    return os.path.join(root_of(popkit_home), projects.folder_name(project), home.safe_name(session_id) + projects.SUFFIX)


def kept(path: str, session_id: str, cwd: str, agent_id: str) -> Kept:
    """Return the transcript of one context, at a path."""
    return Kept(path, session_id, cwd, agent_id)


class Kept:
    """The transcript of one context. Not for several threads at once; what another process has appended is seen before anything is."""

    def __init__(self, path: str, session_id: str, cwd: str, agent_id: str = "") -> None:
        self.path = path
        self.translator = Translator(session_id, cwd, agent_id)
        self.last_entries: dict[str, str | None] = {}  # message of the conversation -> uuid of its last entry
        self.results: dict[str, list[str]] = {}  # message -> ids of the calls whose results it brought
        self.size = 0  # bytes that are known
        self._look()

    def take(self, messages: list[Any], is_all: bool = False) -> int:
        """Append what is new among these messages; return how many entries that is. `is_all`: they are all of the session, so what is not
        among them was taken back, and what is behind an unfinished one has made it final."""
        self._look()
        ids = [_id_of(message) for message in messages]
        if is_all:
            self.take_back([id for id in self.last_entries if id not in set(ids)])
        new: list[dict[str, Any]] = []
        for at, (id, message) in enumerate(zip(ids, messages)):
            if id and id not in self.last_entries and (is_whole(message) or at + 1 < len(messages)):
                translated = list(self.translator.entries(message))
                self.last_entries[id] = translated[-1]["uuid"] if translated else self.translator.before
                for entry in translated:
                    self._note(id, entry)
                new += translated
        if new:
            self._append("".join(json.dumps({**entry, "host": NAME}, separators=(",", ":")) + "\n" for entry in new))
        return len(new)

    def take_back(self, ids: list[str]) -> None:
        """Take back messages: the next one follows those before them."""
        for id in ids:
            self.last_entries.pop(id, None)
            self.results.pop(id, None)
        if ids:
            self.translator.before = next(reversed(self.last_entries.values()), None) if self.last_entries else None

    def ids(self) -> list[str]:
        """Return the ids of the calls whose results are in the conversation."""
        return [id for message in self.last_entries for id in self.results.get(message, ())]

    def _note(self, message: str, entry: dict[str, Any]) -> None:
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
        if size == self.size:
            return
        self.size, self.last_entries, self.results, self.translator.before = size, {}, {}, None
        for entry in _branch(entries.read(self.path, size)):
            if isinstance(entry.get(MESSAGE), str):
                self.last_entries.pop(entry[MESSAGE], None)
                self.last_entries[entry[MESSAGE]] = self.translator.before = entry["uuid"]
                self._note(entry[MESSAGE], entry)


def _branch(stored: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries that the last one follows, in order, those before a compaction included."""
    known = {entry["uuid"]: entry for entry in stored if isinstance(entry.get("uuid"), str)}
    branch: list[dict[str, Any]] = []
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


def _id_of(message: object) -> str:
    info = message.get("info") if isinstance(message, dict) else None
    id = info.get("id") if isinstance(info, dict) else None
    return id if isinstance(id, str) else ""
