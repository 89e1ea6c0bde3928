"""The entries of a transcript as events of the active branch, in the order of completion.

A transcript is read twice, a line at a time: branch.py learns what belongs to the branch, and this goes through the contents.
"""

from __future__ import annotations

import json

from ..policy.events import Call, Compacted, Prompted
from ..policy.placeholder import handle_in
from . import branch, entries, responses, usage
from .commits import Commits
from .stamps import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .entries import Entry


class Reader:
    """Turns entries into what happened on the active branch. Feed it every entry of `entries.read`, in order.

    `original(handle)` gives the content that a placeholder stands for, as JSON text, or None where it is not known; `cleared` fills
    with id -> handle of the results that placeholders stand for.
    """

    __slots__ = ("cleared", "commits", "index", "original", "pending", "seen")

    def __init__(self, index: branch.Index, original: Callable[[str], str | None] | None = None) -> None:
        self.commits = Commits()
        self.index = index
        self.original = original
        self.pending: dict = {}  # tool_use id -> (tool, input) of calls whose result has not come yet
        self.seen: set = set()  # ids of calls whose result has come: a repeated one counts once
        self.cleared: dict = {}

    def events(self, entry: Entry) -> list[Call | Prompted | Compacted]:
        """What an entry tells of: calls, a prompt, a compaction."""
        kind = entry.get("type")
        if kind == "assistant":
            for block in entries.blocks_of(entry):
                if block.get("type") == "tool_use" and isinstance(block.get("id"), str) and block["id"] in self.index.calls:
                    tool_input = block.get("input")
                    self.pending[block["id"]] = (str(block.get("name") or ""), tool_input if isinstance(tool_input, dict) else {})
            return []
        told: list = []
        if kind == "user":
            for block in entries.blocks_of(entry):
                id = block.get("tool_use_id")
                if block.get("type") != "tool_result" or id is None or id not in self.pending:
                    continue
                if id in self.seen:
                    if entry.get("uuid") in self.index.chain:  # else on a branch that a rewind has left
                        self._again(id, block.get("content"))
                    continue
                self.seen.add(id)
                told.append(self.call_of(entry, block, self.pending.pop(id)))
            if entry.get("uuid") in self.index.chain and entries.is_prompt(entry):
                told.append(Prompted(seconds_of(entry.get("timestamp"))))
        elif entries.is_compaction(entry) and entry.get("uuid") in self.index.chain:
            kept, tokens = self.index.kept.get(entry["uuid"], ()), usage.compacted_at(entry.get("compactMetadata"))
            told.append(Compacted(seconds_of(entry.get("timestamp")), kept, tokens))
        return told

    def _again(self, id: str, content: object) -> None:
        """A result is written down anew, behind a compaction: as it was, or as a placeholder."""
        del self.pending[id]
        handle = handle_in(content)
        if handle:
            self.cleared[id] = handle
        else:
            self.cleared.pop(id, None)

    def call_of(self, entry: Entry, block: dict[str, Any], call: tuple[str, dict[str, Any]]) -> Call:
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

    def _content(self, block: dict[str, Any]) -> object:
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


def events_of(path: str, found: branch.Index | None = None) -> list[Call | Prompted | Compacted]:
    """Everything that happened on the active branch of a transcript, as events in the order of the lines."""
    found = found or branch.index(path)
    reader = Reader(found)
    return [event for entry in entries.read(path, found.size) for event in reader.events(entry)]
