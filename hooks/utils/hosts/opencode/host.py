"""OpenCode as a host, as `hosts/protocol.py` asks of one.

Its plugins change a result before it is stored, and nothing that was: the past of its sessions is never edited.
"""

from __future__ import annotations

from ...policy.messages import MessagesNotUnderstood
from .. import guests
from ..guests import compaction_reported, compaction_told, output_of, own_memory, run_as_ours
from . import TOOLS
from .kept_transcripts import kept, path_of
from .results import exit_of, outcome_of, row_of
from .translation import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...policy.calls import Call


__all__ = [
    "NAME", "TOOLS", "arriving_call", "call_of", "compaction_reported", "compaction_told", "edits", "handover", "kept", "output_of",
    "own_memory", "path_of", "row_of", "run_as_ours",
]  # fmt: skip


def call_of(payload: dict[str, Any], now: float) -> Call | None:
    """Return the completed call that the plugin reports, with `failed` and OpenCode's `metadata`; None where it names none."""
    metadata = payload.get("metadata")
    failed = payload.get("failed") is True or bool(exit_of(metadata))
    return guests.reported_call(payload, TOOLS, lambda tool, given, text: outcome_of(tool, given, text, metadata, failed), now)


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the plugin reports."""
    return guests.arriving_call(TOOLS, id, call, error, now, cwd)


def handover(request: dict[str, Any]) -> dict[str, Any]:
    """MessagesNotUnderstood: OpenCode hands no conversation over to be compacted."""
    raise MessagesNotUnderstood("OpenCode compacts its conversations itself")


def edits(request: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """MessagesNotUnderstood: a plugin of OpenCode's edits nothing that was sent."""
    raise MessagesNotUnderstood("OpenCode compacts its conversations itself")
