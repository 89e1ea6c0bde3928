"""OpenCode as a host, as `hosts/protocol.py` asks of one.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited.
"""

from __future__ import annotations

from ...io.codec import text_in_field
from ...policy.calls import Call, Outcome
from ..own_memory import OwnMemory
from ..transcripts.blocks import text_of_blocks
from . import TOOLS, tool_named
from .kept_transcripts import kept, path_of
from .results import exit_of, outcome_of, row_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "kept", "output_of",
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


def output_of(payload: dict[str, Any]) -> str:
    """Return what the command of a completed call has printed; "" for another call."""
    return text_in_field(payload, "output")


def run_as_ours(command: str) -> str:
    """Return "": the plugin changes no command before it runs."""
    return ""


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return an empty memory: OpenCode keeps none of its own."""
    return OwnMemory("")


def compaction_told(environ: Mapping[str, str], folder: str, model: str) -> dict[str, Any] | None:
    """Return None: what OpenCode compacts by is not read."""
    return None


def compaction_reported(breakdown: object) -> int | None:
    """Return None: the plugin reports no breakdown."""
    return None
