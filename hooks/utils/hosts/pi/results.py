"""Read the outcome of a call from its result in pi."""

from __future__ import annotations

import re  # noqa: TID253  no hook on a tool call reads other hosts' records

from ...policy.tools import READ
from ..transcripts import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.calls import Outcome
    from ...policy.tools import Tool

# What pi says behind the output of a command that failed, and behind a part of a file.
_EXITED = re.compile(r"Command exited with code (\d{1,5})\Z")
_MORE = re.compile(
    r"\n\n\[(?:(?P<left>\d{1,9}) more lines in file|Showing lines \d+-\d+ of (?P<total>\d{1,9})[^\]\n]*)\. Use offset=\d+ to continue\.\]\Z"
)


def error_text(text: str) -> str:
    """Return the text of a failure; of a command, its exit code comes first, in the words of Claude Code."""
    match = _EXITED.search(text)
    return f"Exit code {match[1]}\n" + text[: match.start()].rstrip("\n") if match else text


def outcome_of(tool: Tool, tool_input: dict[str, object], text: str, failed: bool) -> Outcome:
    """Return the outcome of a call from the text that the model got."""
    if failed:
        return outcomes.outcome_of_error(error_text(text))
    shown = shown_file(tool_input, text) if tool.operation == READ else None
    return outcomes.outcome_of(tool, tool_input, text if shown is None else shown)


def shown_file(tool_input: dict[str, object], text: str) -> dict[str, object]:
    """Return which lines of a file a read has shown, in the form in which Claude Code says so."""
    match = _MORE.search(text)
    content = text[: match.start()] if match else text
    first = tool_input.get("offset")
    first = first if type(first) is int and first > 0 else 1
    count = content.rstrip("\n").count("\n") + 1
    last = first + count - 1
    total = last + int(match["left"]) if match and match["left"] else int(match["total"]) if match else last
    return {"type": "text", "file": {"content": content, "startLine": first, "numLines": count, "totalLines": total}}
