"""Refuse a call that would write one of our lines into a file, where it would stand for nothing, or the mark that we put before
lookalikes: the model has copied it from its context.

Only a line that refers to something really left out of this session counts, and only a mark that really was put into one of its results, so
that a text about PopKit may be written.
"""

from __future__ import annotations

from ..hosts.transcripts import entries, projects
from ..hosts.transcripts.blocks import text_of_blocks
from ..io.codec import text_in_field
from ..policy import own_lines
from ..policy.messages import texts_in
from ..policy.tools import EDITS, EDITS_OF_FILE, SHELLS, edits_of
from ..state import journal
from . import restoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..policy.own_lines import OwnLine
    from ..policy.tools import Tool
    from ..state.site import Site

# How a command line writes a text into a file: by a redirection or a here-document, or by one of these programs.
_WRITING = (">", "<<", "tee ", "tee\t", "sed -i", "-Content ", "Out-File ")
# Redirections that write nothing anywhere.
_NOWHERE = ("2>&1", ">&2", "2>/dev/null", "2> /dev/null", "&>/dev/null", "&> /dev/null", ">/dev/null", "> /dev/null")
_NAMED, _LINE_CHARS = 4, 240


def may_write_one(tool: Tool, tool_input: dict[str, Any]) -> bool:
    """Return whether a call writes a text that deserves a closer look."""
    return any(map(own_lines.may_hold, _written(tool, tool_input)))


def refusal(site: Site, tool: Tool, tool_input: dict[str, Any], transcript_path: str, agent_id: str = "") -> str:
    """Return why a call of a context may not run, for the model; "" where it may. `transcript_path`: of the main thread."""
    written, kept = _written(tool, tool_input), [text for field, text in _fields(tool, tool_input) if _is_replaced(field)]
    found = {one.line: one for text in written for one in own_lines.found_in(text)}
    wanted = [one for one in found.values() if not any(one.line in text for text in kept)]
    entered = _ShortResults(site, projects.transcript_of_agent(transcript_path, agent_id) if agent_id else transcript_path, agent_id)
    stands = [(one, *meant) for one in wanted if (meant := _meaning(site, one, transcript_path, entered))]
    if stands:
        return _words(stands)
    # A file that has the mark itself may keep it: such a part has it twice when it enters.
    marked = [line for text in written for line in own_lines.marked_in(text) if entered.has_line(line)]
    return _words_of_mark(marked[0]) if marked else ""


def _written(tool: Tool, tool_input: dict[str, Any]) -> list[str]:
    """Return the texts that a call may write into a file."""
    if tool.operation in SHELLS:
        command = text_in_field(tool_input, tool.line)
        writing = command
        for redirect in _NOWHERE:
            writing = writing.replace(redirect, "")
        return [command] if any(sign in writing for sign in _WRITING) else []
    return [text for field, text in _fields(tool, tool_input) if not _is_replaced(field)] if tool.operation in EDITS else []


def _fields(tool: Tool, tool_input: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, text) of an input, of the edits within it, too."""
    lists = tool.asks.get(EDITS_OF_FILE, ())
    for each in edits_of(tool, tool_input):
        yield from ((field, text) for field, value in each.items() if field not in lists for text in texts_in(value))


def _is_replaced(field: str) -> bool:
    """Return whether a field holds what a file has already: what was there before may stay."""
    return field.startswith("old")


class _ShortResults:
    """The results of a context that have entered shorter than they were, which its transcript shows as they did."""

    def __init__(self, site: Site, transcript_path: str, agent_id: str) -> None:
        self.site = site
        self.transcript_path = transcript_path
        self.agent_id = agent_id
        self._texts: list[tuple[str, list[str]]] | None = None

    def handle_of(self, one: OwnLine) -> str:
        """Return the handle of the archived whole of the newest of these results that has a line; "" where none has."""
        return next((handle for handle, lines in reversed(self._all()) if own_lines.holds(lines, one)), "")

    def has_line(self, line: str) -> bool:
        """Return whether one of these results has a line that begins with our mark, whatever a Read or a search puts before it."""
        return any(shown.endswith(line) and not shown.endswith(own_lines.MARK + line) for _, lines in self._all() for shown in lines)

    def _all(self) -> list[tuple[str, list[str]]]:
        if self._texts is None:
            try:
                self._texts = list(self._shown())
            except OSError:  # there is no transcript to read
                self._texts = []
        return self._texts

    def _shown(self) -> Iterator[tuple[str, list[str]]]:
        entered = journal.SortedEntries(journal.read(self.site.paths(self.agent_id)), set()).entered
        if not entered:
            return
        for _, line in entries.lines(self.transcript_path):
            entry = entries.entry_of(line) if b"tool_result" in line else None
            for block in entries.blocks_of(entry or {}):
                event = entered.get(block.get("tool_use_id") or "") if block.get("type") == "tool_result" else None
                if event is not None:
                    yield event.handle, text_of_blocks(block.get("content"))[0].split("\n")


def _meaning(site: Site, one: OwnLine, transcript_path: str, entered: _ShortResults) -> tuple[str, str] | None:
    """Return (what a line stands for, the handle of that); None where it refers to nothing that left this session."""
    handle = one.handle or entered.handle_of(one)
    record = restoring.record_of(site, handle, transcript_path) if handle else None
    if record is None:
        return None
    return (f"{one.what} of {record.label}" if one.of_result and record.label else one.what), handle


def _words(stands: list[tuple[OwnLine, str, str]]) -> str:
    """Return the refusal. Lines stand in it without their brackets, so that nothing takes them for what they quote."""
    lines = ["PopKit stopped this call before it wrote anything: it has text that PopKit put in the place of something it left out."]
    for one, what, handle in stands[:_NAMED]:
        shown = one.says if len(one.says) <= _LINE_CHARS else one.says[:_LINE_CHARS] + "…"
        lines += [f"- {shown}", f"  This line stands for {what}: `popkit restore {handle}`"]
    more = len(stands) - _NAMED
    lines += [f"So do {more} more lines." if more > 1 else "So does 1 more line."] if more > 0 else []
    lines.append("Run that command to see the text itself, and write the text instead of the line.")
    return "\n".join(lines)


def _words_of_mark(line: str) -> str:
    """Return the refusal of a text that has our mark. The line stands in it behind its first bracket, so that nothing takes it for one."""
    said = line[line.index(own_lines.MARK) + len(own_lines.MARK) :].lstrip("[")
    shown = said if len(said) <= _LINE_CHARS else said[:_LINE_CHARS] + "…"
    return (
        f"PopKit stopped this call before it wrote anything: it has the words «{own_lines.MARK.strip('[] :')}», which PopKit put in"
        " brackets before a part of a result that looks like one of its own lines. The file does not have them.\n"
        f"- {shown}\n"
        "Write this without the words and their brackets."
    )
