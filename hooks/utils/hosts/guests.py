"""What all hosts are alike in that run no hooks of ours: their extension reports to the helper, which does the hooks' work."""

from __future__ import annotations

from ..io.codec import text_in_field
from ..policy.calls import Call, Outcome
from .own_memory import OwnMemory
from .transcripts.blocks import text_of_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..policy.tools import Tool, Tools


def reported_call(
    payload: dict[str, Any], tools: Tools, outcome_of: Callable[[Tool, dict[str, Any], str], Outcome], now: float
) -> Call | None:  # fmt: skip
    """Return the completed call that an extension reports: {id, tool, input, output, cwd, …}; None where it names none. `outcome_of` takes
    the tool, its input and the text of the output."""
    id, name, arguments = payload.get("id"), payload.get("tool"), payload.get("input")
    if not (isinstance(id, str) and id and isinstance(name, str) and name):
        return None
    tool, tool_input = tools.of(name), arguments if isinstance(arguments, dict) else {}
    output, cwd = payload.get("output"), tool_input.get("workdir") or payload.get("cwd")
    text = output if isinstance(output, str) else text_of_blocks(output)[0]
    return Call(id, tool, tool_input, outcome_of(tool, tool_input, text), now, cwd if isinstance(cwd, str) else "")


def arriving_call(tools: Tools, id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that an extension reports."""
    name, arguments = call.get("tool"), call.get("input")
    tool = tools.of(name if isinstance(name, str) else "")
    return Call(id, tool, arguments if isinstance(arguments, dict) else {}, Outcome(error=error), now, cwd)


def output_of(payload: dict[str, Any]) -> str:
    """Return what the command of a completed call has printed; "" for another call."""
    return text_in_field(payload, "output")


def run_as_ours(command: str) -> str:
    """Return "": an extension changes no command before it runs."""
    return ""


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return an empty memory: none of these hosts keeps one of its own."""
    return OwnMemory("")


def compaction_told(environ: Mapping[str, str], folder: str, model: str) -> dict[str, Any] | None:
    """Return None: what the host compacts by is not read."""
    return None


def compaction_reported(breakdown: object) -> int | None:
    """Return None: an extension reports no breakdown."""
    return None
