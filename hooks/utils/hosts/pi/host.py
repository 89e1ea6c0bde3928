"""pi as a host, as `hosts/protocol.py` asks of one.

Its extension changes a result before it is stored, and what the model is shown of the past by edits that pi keeps beside it.
"""

from __future__ import annotations

from .. import guests
from ..guests import compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from . import TOOLS
from .handover import edits, handover
from .kept_transcripts import kept, path_of
from .results import outcome_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...policy.calls import Call


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "edits", "handover", "kept", "output_of",
    "own_memory", "path_of", "row_of", "run_as_ours",
]  # fmt: skip


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call that the extension reports, with `failed`; None where it names none."""
    failed = payload.get("failed") is True
    return guests.reported_call(payload, TOOLS, lambda tool, given, text: outcome_of(tool, given, text, failed), now)


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the extension reports."""
    return guests.arriving_call(TOOLS, id, call, error, now, cwd)


def row_of(id: str, output: object, failed: bool) -> dict[str, Any]:
    """Return the row that a result would be in a conversation of Claude Code's; `output`: a text, or blocks."""
    block = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}
    return {"message": {"role": "user", "content": [block]}}
