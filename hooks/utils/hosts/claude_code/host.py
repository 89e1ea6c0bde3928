"""Claude Code as a host, as `hosts/protocol.py` asks of one."""

from __future__ import annotations

from .. import CLAUDE_CODE
from . import TOOLS
from .calls import call_of, output_of, run_as_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..own_memory import OwnMemory

__all__ = [
    "NAME", "TOOLS", "call_of", "compaction_reported", "compaction_told", "output_of", "own_memory", "run_as_ours",
]  # fmt: skip

NAME = CLAUDE_CODE

# The functions below load what few hooks need.


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return what Claude Code itself remembers of the project whose checkout is at `root`."""
    from .memory_files import own_memory

    return own_memory(environ, root)


def compaction_told(environ: Mapping[str, str], folder: str, model: str) -> dict[str, object] | None:
    """Return what a person has told Claude Code about compactions by itself."""
    from .compaction_settings import told

    return told(environ, folder, model)


def compaction_reported(breakdown: object) -> int | None:
    """Return the tokens at which Claude Code says that it compacts; 0 for never, None where it says nothing."""
    from .compaction_settings import reported

    return reported(breakdown)
