"""pi as a host, as `hosts/protocol.py` asks of one.

Its extension changes a result before it is stored, and what the model is shown of the past by edits that pi keeps beside it.
"""

from __future__ import annotations

from .. import guests
from ..guests import call_of, compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from . import TOOLS
from .handover import handover
from .kept_transcripts import kept, path_of
from .results import outcome_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...policy.calls import Call
    from ..guests import ReportedResult


__all__ = [
    "NAME", "TOOLS", "call_of", "compaction_reported", "compaction_told", "completed_call", "handover", "kept", "output_of", "own_memory",
    "path_of", "run_as_ours",
]  # fmt: skip


def completed_call(reported: ReportedResult, now: float) -> Call | None:
    """Return the call of a result that the extension reports; None where it names none."""
    return guests.completed_call(
        reported, TOOLS, lambda tool: outcome_of(tool, reported.input, reported.text, reported.failed), now
    )  # fmt: skip
