"""Hosts that run no hooks of ours: their extension reports to the helper, which does the hooks' work."""

from __future__ import annotations

from ..io.codec import as_text
from ..policy.calls import Call, Outcome
from .own_memory import OwnMemory
from .transcripts.blocks import text_of_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..policy.tools import Tool, Tools


class ReportedResult:
    """A result that an extension reports: the `id` of its call, the `tool`, its `input`, the `output` (a text or blocks), what the host
    notes beside it (`metadata`), whether the call `failed`, where it ran (`cwd`), and the subagent that it is of ("" for none)."""

    __slots__ = ("agent_id", "cwd", "failed", "id", "input", "metadata", "output", "text", "tool")

    def __init__(
        self, id: str, tool: str, input: dict[str, object], output: object, metadata: object, failed: bool, cwd: str, agent_id: str
    ) -> None:  # fmt: skip
        self.id = id
        self.tool = tool
        self.input = input
        self.output = output
        self.text = text_of_blocks(output)[0]
        self.metadata = metadata
        self.failed = failed
        self.cwd = cwd
        self.agent_id = agent_id


def completed_call(reported: ReportedResult, tools: Tools, outcome_of: Callable[[Tool], Outcome], now: float) -> Call | None:
    """Return the call of a result; None where it names none. `outcome_of` takes the tool."""
    if not reported.id or not reported.tool:
        return None
    tool = tools.of(reported.tool)
    cwd = reported.input.get("workdir") or reported.cwd
    return Call(reported.id, tool, reported.input, outcome_of(tool), now, as_text(cwd))


def call_of(payload: dict[str, object], now: float) -> Call | None:
    """Return None: no hook of ours runs there."""
    return None


def output_of(payload: dict[str, object]) -> str:
    """Return "": no hook of ours runs there."""
    return ""


def run_as_ours(command: str) -> str:
    """Return "": an extension changes no command before it runs."""
    return ""


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return an empty memory: none of these hosts keeps one of its own."""
    return OwnMemory("")


def compaction_told(environ: Mapping[str, str], folder: str, model: str) -> dict[str, object] | None:
    """Return None: what the host compacts by is not read."""
    return None


def compaction_reported(breakdown: object) -> int | None:
    """Return None: an extension reports no breakdown."""
    return None
