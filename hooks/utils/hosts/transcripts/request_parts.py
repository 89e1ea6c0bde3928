"""Read what the entries of a transcript put into the conversation of a request. Reads only.

Most of a transcript are results, and most of a result's line is what the host keeps beside what the model got. So of such a line only the
message is parsed.
"""

from __future__ import annotations

import json  # noqa: TID253  as in entries

from ...io.codec import as_object, as_objects
from ...policy.composition import ADDED, CALLED, RESULT, SAID, SUMMARY, THOUGHT, WROTE, Composition
from ...policy.estimate import IMAGE_TOKENS, RESULT_TOKENS, content_of_path, estimate_tokens
from ...policy.messages import call_tokens, thinking_tokens
from ...policy.tools import FIND, LIST, READ, SEARCH, SHELL
from ..tools import tool as tool_named
from . import entries
from .blocks import dumps_or_nothing, text_of_blocks
from .boundaries import kept_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.tools import Tool
    from .entries import Entry


_LONGEST_TOOL = 200
_MESSAGE, _BEHIND = b'"message":', b',"uuid":"'
# What of an attachment the model gets, of kinds that it gets at all.
_SHOWN = ("content", "snippet", "prompt", "addedLines", "addedBlocks", "files", "text", "response", "skills")
_FOR_PEOPLE = ("hook_system_message", "command_permissions")
# No addition of the host's: what somebody said, and a copy of the system prompt.
_NO_ADDITION = ("queued_command", "prompt_snapshot")
_WITH_WORDS = ("file", "queued_command")  # what comes with what the user says
_HOLDS = {SEARCH: "matches", FIND: "log", LIST: "log", SHELL: "log"}  # operation of a tool -> what its results hold
_decode = json.JSONDecoder().raw_decode


class Contents:
    """The conversation of one context as its entries tell of it, in order."""

    def __init__(self) -> None:
        self.composition = Composition()
        self._calls: dict[str, tuple[str, str]] = {}  # id -> (kind of its result, what that holds)
        self._tools: dict[str, Tool] = {}
        self._known: set[str] = set()  # uuids of entries since the last compaction
        self._ends: dict[str, int] = {}  # uuid -> length of the conversation behind it
        # What the host has added since this was last emptied: (type, tokens, whether the same stood there).
        self.added: list[tuple[str, int, bool]] = []
        self._stands: set[int] = set()  # hashes of what it has added since the last compaction

    def result_line(self, line: bytes, uuid: str) -> None:
        """Take in the line of a result, as the client writes it: without blanks."""
        at = line.find(_MESSAGE) + len(_MESSAGE)
        end = line.find(_BEHIND, at)
        try:
            message = _decode(line[at : end if end > 0 else None].decode("utf-8", "replace"))[0]
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):  # what is called so elsewhere came first
            entry = entries.entry_of(line) or {}
            message = entry.get("message") if entry.get("type") == "user" else None
        self._results(entries.blocks_of({"message": message}), uuid)

    def _results(self, blocks: list[dict[str, object]], uuid: str) -> None:
        for block in blocks:
            id = block.get("tool_use_id")
            if block.get("type") == "tool_result" and isinstance(id, str) and id not in self._known:
                self._known.add(id)
                kind, holds = self._calls.get(id, (RESULT, "dialogue"))
                text, images = text_of_blocks(block.get("content"))
                self.composition.add(kind, RESULT_TOKENS + estimate_tokens(text, holds) + images, uuid)

    def entry(self, entry: Entry, began: bool) -> None:
        """Take in any other entry. `began`: whether a request has been sent; what the host says before the first one comes before the
        first word."""
        uuid, attached = entry["uuid"], entry.get("attachment")
        if uuid in self._known:  # a conversation that is taken up again may be written once more
            return
        self._known.add(uuid)
        if entries.is_compaction(entry):
            self._compacted(entry.get("compactMetadata"))
        elif entry.get("type") == "assistant":
            for block in entries.blocks_of(entry):
                self._answer(block, uuid)
        elif isinstance(attached, dict):
            text = _attached_text(attached, entry.get("rendered"))
            self._attached(attached, text, uuid, began)
            self._note_added(str(attached.get("type")), text)
        elif entry.get("type") == "user":
            self._add_user_text(entry, uuid)
            self._results(entries.blocks_of(entry), uuid)
        self._ends[uuid] = len(self.composition)

    def _compacted(self, metadata: object) -> None:
        """Leave out what a compaction took; the client names what it carried over."""
        self.composition.keep(set(kept_in(metadata)))
        self._known.clear()
        self._ends.clear()
        self._stands.clear()

    def rewound(self, uuid: str) -> None:
        """Leave out what came behind an entry."""
        self.composition.cut(self._ends.get(uuid, len(self.composition)))

    def _answer(self, block: dict[str, object], uuid: str) -> None:
        if block.get("type") != "tool_use":
            self.composition.add(THOUGHT, thinking_tokens(block), uuid)
            self.composition.add(WROTE, entries.text_tokens(block), uuid)
            return
        id, name, arguments = block.get("id"), block.get("name"), block.get("input")
        arguments = as_object(arguments)
        self.composition.add(CALLED, call_tokens(arguments), uuid)
        if isinstance(id, str) and isinstance(name, str):
            tool = self._tools.get(name) or self._tools.setdefault(name, tool_named(name))
            path = next((arguments[key] for key in tool.paths if isinstance(arguments.get(key), str)), "")
            holds = content_of_path(path) if tool.operation == READ else _HOLDS.get(tool.operation, "dialogue")
            self._calls[id] = RESULT + name[:_LONGEST_TOOL], holds

    def _add_user_text(self, entry: Entry, uuid: str) -> None:
        kind = SUMMARY if entries.is_summary(entry) else SAID if entries.is_prompt(entry) else ADDED
        content = entries.message_of(entry).get("content")
        if isinstance(content, str):
            self.composition.add(kind, estimate_tokens(content), uuid)
        for block in entries.blocks_of(entry):
            self.composition.add(kind, IMAGE_TOKENS if block.get("type") == "image" else entries.text_tokens(block), uuid)

    def _attached(self, attached: dict[str, object], text: str, uuid: str, began: bool) -> None:
        kind = SAID if attached.get("type") in _WITH_WORDS else ADDED
        if attached.get("type") not in _FOR_PEOPLE and (began or kind == SAID):
            self.composition.add(kind, estimate_tokens(text), uuid)

    def _note_added(self, name: str, text: str) -> None:
        if name in _FOR_PEOPLE or name in _NO_ADDITION:
            return
        key = hash((name, text))
        if text:
            self.added.append((name[:_LONGEST_TOOL], estimate_tokens(text), key in self._stands))
            self._stands.add(key)


def _attached_text(attached: dict[str, object], rendered: object) -> str:
    """Return what of an attachment the model gets: as the client says that it was sent, else what its kinds hold."""
    shown = [each.get("content") for each in as_objects(rendered)]
    values = shown or [value for value in map(attached.get, _SHOWN) if value]
    return "\n".join(value if isinstance(value, str) else dumps_or_nothing(value) for value in values)


REQUEST, SHAPE = b'{"type":"api-request",', b'{"type":"api-request-shape",'
