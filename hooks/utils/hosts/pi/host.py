"""pi as a host, as `hosts/protocol.py` asks of one.

Its extension changes a result before it is stored, and what the model is shown of the past by edits that pi keeps beside it.
"""

from __future__ import annotations

from ...policy.calls import Call, Outcome
from ..guests import compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from ..transcripts.blocks import text_of_blocks
from . import TOOLS, tool_named
from .handover import edits, handover
from .kept_transcripts import kept, path_of
from .results import outcome_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "edits", "handover", "kept", "output_of",
    "own_memory", "path_of", "row_of", "run_as_ours",
]  # fmt: skip


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call that the extension reports: {id, tool, input, output, failed, cwd}; None where it names none."""
    id, name, arguments = payload.get("id"), payload.get("tool"), payload.get("input")
    if not (isinstance(id, str) and id and isinstance(name, str) and name):
        return None
    tool, tool_input = tool_named(name), arguments if isinstance(arguments, dict) else {}
    output, cwd = payload.get("output"), payload.get("cwd")
    text = output if isinstance(output, str) else text_of_blocks(output)[0]
    outcome = outcome_of(tool, tool_input, text, payload.get("failed") is True)
    return Call(id, tool, tool_input, outcome, now, cwd if isinstance(cwd, str) else "")


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the extension reports."""
    arguments = call.get("input")
    return Call(id, tool_named(call.get("tool")), arguments if isinstance(arguments, dict) else {}, Outcome(error=error), now, cwd)


def row_of(id: str, output: object, failed: bool) -> dict[str, Any]:
    """Return the row that a result would be in a conversation of Claude Code's; `output`: a text, or blocks."""
    block = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}
    return {"message": {"role": "user", "content": [block]}}
