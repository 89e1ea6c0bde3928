"""OpenCode as a host, as `hosts/protocol.py` asks of one.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited.
"""

from __future__ import annotations

from ...policy.calls import Call, Outcome
from ...policy.messages import MessagesNotUnderstood
from ..guests import compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from ..transcripts.blocks import text_of_blocks
from . import TOOLS, tool_named
from .kept_transcripts import kept, path_of
from .results import exit_of, outcome_of, row_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "edits", "handover", "kept", "output_of",
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


def handover(request: dict[str, Any]) -> dict[str, Any]:
    """MessagesNotUnderstood: OpenCode hands no conversation over to be compacted."""
    raise MessagesNotUnderstood("OpenCode compacts its conversations itself")


def edits(request: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """MessagesNotUnderstood: a plugin of OpenCode's edits nothing that was sent."""
    raise MessagesNotUnderstood("OpenCode compacts its conversations itself")
