"""A transcript as what memory learns from: what the user asked, what the assistant wrote, and how its calls ended. Reads only.

The main thread (or a subagent's own file) is gone through line by line. A conversation that is taken up again may be written once more:
each message and each result counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hooks.utils.hosts.claude_code import calls, entries, transcript
from hooks.utils.hosts.claude_code.moments import is_answer
from hooks.utils.hosts.claude_code.stamps import seconds_of
from hooks.utils.hosts.claude_code.tools import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.utils.hosts.claude_code.entries import Entry
    from hooks.utils.policy.calls import Call


# Inputs that choose among what a tool offers: the words there are the tool's.
_CHOICES = frozenset(("output_mode", "subagent_type", "type", "model", "action", "status", "mode", "activeForm"))


@dataclass(frozen=True)
class Asked:
    """Text that reached the assistant and no tool returned. `by_user`: whether a person typed it, and not the host on their behalf."""

    at: float
    text: str
    by_user: bool


@dataclass(frozen=True)
class Wrote:
    """A text of the assistant's, or the input of a call (`operation`: what it does, "" for a text), made in the folder `cwd`."""

    at: float
    cwd: str
    operation: str
    given: dict
    text: str


@dataclass(frozen=True)
class Returned:
    """A completed call, the text that it returned, and the folder that it was made in (`call.cwd` is the one that it left behind)."""

    call: Call
    text: str
    cwd: str


def conversation(path: str) -> Iterator[Asked | Wrote | Returned]:
    """What happened in a session, in order; OSError when its transcript cannot be read. Lines that are not understood are left out."""
    side = None  # a subagent's own file holds nothing but a side chain
    reading = _Reading()
    for entry in entries.read(path, Path(path).stat().st_size):
        if isinstance(entry.get("uuid"), str):
            side = entries.is_side(entry) if side is None else side
            if entries.is_side(entry) == side:
                try:
                    yield from reading.see(entry)
                except RecursionError:  # an input that is nested a thousand deep is nobody's
                    continue


class _Reading:
    def __init__(self) -> None:
        self.reader = transcript.Reader(transcript.Index((0, 0)))
        self.pending: dict[str, tuple[str, dict, str]] = {}
        self.answered: set[str] = set()
        self.messages: set[str] = set()
        self.current = ""
        self.again = False  # whether earlier messages are being written once more

    def see(self, entry: Entry) -> Iterator[Asked | Wrote | Returned]:
        at, kind = seconds_of(entry.get("timestamp")), entry.get("type")
        if kind == "user":
            yield from self._user(entry, at)
        elif kind == "assistant" and is_answer(entry):
            yield from self._assistant(entry, at)

    def _user(self, entry: Entry, at: float) -> Iterator[Asked | Returned]:
        by_user = entries.is_prompt(entry)
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            yield Asked(at, content, by_user)
        for block in entries.blocks_of(entry):
            id = block.get("tool_use_id")
            if block.get("type") != "tool_result":
                if isinstance(block.get("text"), str):
                    yield Asked(at, block["text"], by_user)
            elif id in self.pending and id not in self.answered:
                self.answered.add(id)
                text, _ = calls.text_of_blocks(block.get("content"))
                tool, given, cwd = self.pending.pop(id)
                yield Returned(self.reader.call_of(entry, block, (tool, given)), text, cwd)

    def _assistant(self, entry: Entry, at: float) -> Iterator[Wrote]:
        name = entry["message"].get("id") or entry["uuid"]
        if name not in self.messages:
            self.messages.add(name)
            self.current, self.again = name, False
        elif self.again or name != self.current:
            self.again = True
            return
        cwd = entry["cwd"] if isinstance(entry.get("cwd"), str) else ""
        for block in entries.blocks_of(entry):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield Wrote(at, cwd, "", {}, block["text"])
            elif block.get("type") == "tool_use":
                given = block["input"] if isinstance(block.get("input"), dict) else {}
                tool = str(block.get("name") or "")
                if isinstance(block.get("id"), str):
                    self.pending[block["id"]] = (tool, given, cwd)
                yield Wrote(at, cwd, TOOLS.of(tool).operation, given, "\n".join(_texts(_said_once(given))))


def _said_once(given: dict) -> dict:
    """The input of an edit, without the lines that it leaves as they were."""
    old, new = given.get("old_string"), given.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return given
    lines = set(new.split("\n"))
    return {**given, "old_string": "\n".join([line for line in old.split("\n") if line not in lines])}


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [each for name, each in value.items() if name not in _CHOICES]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []
