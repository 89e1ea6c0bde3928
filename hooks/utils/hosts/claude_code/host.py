"""Claude Code as a host (`hosts/protocol.py`). Each part is loaded where it is asked for: a tool call reads no transcript."""

from __future__ import annotations

from ...policy.calls import Call, Outcome
from .tools import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...policy.conversation import Usage
    from ...policy.events import Compacted, Prompted

__all__ = ["NAME", "REWRITES", "TOOLS", "arriving_call", "call_of", "events_of", "spans_of", "transcripts", "usage_of"]

NAME = "Claude Code"
# With a mod the first two, without one the file.
REWRITES = frozenset(("arriving", "compaction", "transcript"))


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call of a PostToolUse or PostToolUseFailure payload; None when it names none."""
    from . import calls

    return calls.call_of(payload, now)


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the mod tells of it."""
    tool, tool_input = call.get("tool"), call.get("input")
    given = tool_input if isinstance(tool_input, dict) else {}
    return Call(id, TOOLS.of(tool if isinstance(tool, str) else ""), given, Outcome(error=error), now, cwd)


def events_of(path: str) -> list[Call | Prompted | Compacted]:
    """Return what happened on the active branch of a transcript; OSError when it cannot be read."""
    from . import transcript

    return transcript.events_of(path)


def usage_of(path: str) -> Usage | None:
    """Return the usage of the newest main-chain answer, read from the file's end; None where there is none."""
    from . import usage

    return usage.newest_usage(path)


def spans_of(line: bytes) -> dict[str, tuple[int, int]]:
    """Return where the content of each result stands in a line; NotUnderstood for a line that is not to be touched."""
    from . import spans

    return spans.content_spans(line)


def transcripts(environ: Mapping[str, str]) -> list[str]:
    """Return the transcripts of all main threads."""
    from . import projects

    return projects.every(environ)
