"""OpenCode as a host, as `hosts/protocol.py` asks of one.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited. What it records is read
in the transcripts that the helper keeps (kept.py), which have the form of Claude Code's.
"""

from __future__ import annotations

from ...policy.tools import Call, Outcome
from ..claude_code.calls import text_of_blocks
from ..claude_code.spans import content_spans as spans_of
from ..claude_code.transcript import events_of
from ..claude_code.usage import newest_usage as usage_of
from .kept import every as transcripts
from .tools import TOOLS, exit_of, outcome_of, tool_named
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
__all__ = ["NAME", "REWRITES", "TOOLS", "arriving_call", "call_of", "events_of", "spans_of", "transcripts", "usage_of"]

REWRITES = frozenset(("arriving",))


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call that the plugin tells of: {id, tool, input, output, metadata, failed, cwd}; None where it names none."""
    id, name, given = payload.get("id"), payload.get("tool"), payload.get("input")
    if not (isinstance(id, str) and id and isinstance(name, str) and name):
        return None
    tool, tool_input = tool_named(name), given if isinstance(given, dict) else {}
    output, metadata = payload.get("output"), payload.get("metadata")
    text = output if isinstance(output, str) else text_of_blocks(output)[0]
    failed = payload.get("failed") is True or bool(exit_of(metadata))
    outcome = outcome_of(tool, tool_input, text, metadata, failed)
    cwd = tool_input.get("workdir") or payload.get("cwd")
    return Call(id, tool, tool_input, outcome, now, cwd if isinstance(cwd, str) else "")


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the plugin tells of it."""
    given = call.get("input")
    return Call(id, tool_named(call.get("tool")), given if isinstance(given, dict) else {}, Outcome(error=error), now, cwd)
