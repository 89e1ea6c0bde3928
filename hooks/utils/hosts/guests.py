"""What all hosts are alike in that run no hooks of ours: their extension reports to the helper, which does the hooks' work."""

from __future__ import annotations

from ..io.codec import text_in_field
from .own_memory import OwnMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


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
