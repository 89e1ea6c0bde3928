"""Read the outcome of a call from its result in OpenCode."""

from __future__ import annotations

from ...io.codec import as_object
from ...policy.calls import Outcome
from ..transcripts import outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.tools import Tool


def exit_of(metadata: object) -> int | None:
    """Return the exit code that OpenCode notes of a command; None where it notes none."""
    code = as_object(metadata).get("exit")
    return code if type(code) is int and -1_000 < code < 100_000 else None


def outcome_of(tool: Tool, tool_input: dict[str, object], text: str, metadata: object, failed: bool) -> Outcome:
    """Return the outcome of a call from the text that the model got and what OpenCode notes beside it."""
    if failed:
        return outcomes.outcome_of_error(error_text(text, metadata))
    shown = shown_file(metadata)
    return outcomes.outcome_of(tool, tool_input, shown if shown is not None and tool.name == "read" else text)


def error_text(text: str, metadata: object) -> str:
    """Return the text of a failure, with the exit code where that is known."""
    code = exit_of(metadata)
    return text if not code else f"Exit code {code}\n{text}"


def shown_file(metadata: object) -> dict[str, object] | None:
    """Return which lines of a file a read has shown, in the form in which Claude Code says so; None where OpenCode does not say."""
    shown = as_object(metadata).get("display")
    if not isinstance(shown, dict) or shown.get("type") != "file" or not isinstance(shown.get("text"), str):
        return None
    first, last, total = (shown.get(name) for name in ("lineStart", "lineEnd", "totalLines"))
    if not (type(first) is int and type(last) is int and 0 < first <= last):
        return None
    file = {"content": shown["text"], "startLine": first, "numLines": last - first + 1}
    return {"type": "text", "file": {**file, "totalLines": total if type(total) is int else last + 1}}
