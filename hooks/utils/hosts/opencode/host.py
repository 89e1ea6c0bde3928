"""OpenCode as a host, as `hosts/protocol.py` asks of one.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited.
"""

from __future__ import annotations

from ...policy.messages import MessagesNotUnderstood
from .. import guests
from ..guests import call_of, compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from . import TOOLS
from .kept_transcripts import kept, path_of
from .results import exit_of, outcome_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ...policy.calls import Call
    from ..guests import ReportedResult


__all__ = [
    "NAME", "TOOLS", "call_of", "compaction_reported", "compaction_told", "completed_call", "handover", "kept", "output_of", "own_memory",
    "path_of", "run_as_ours",
]  # fmt: skip


def completed_call(reported: ReportedResult, now: float) -> Call | None:
    """Return the call of a result that the plugin reports, with OpenCode's metadata; None where it names none."""
    failed = reported.failed or bool(exit_of(reported.metadata))
    return guests.completed_call(
        reported, TOOLS, lambda tool: outcome_of(tool, reported.input, reported.text, reported.metadata, failed), now
    )  # fmt: skip


def handover(entries: object, thinking: str) -> NoReturn:
    """MessagesNotUnderstood: OpenCode hands no conversation over to be compacted."""
    raise MessagesNotUnderstood("OpenCode compacts its conversations itself")
