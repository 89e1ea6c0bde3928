"""Claude Code as a host, as `hosts/protocol.py` asks of one."""

from __future__ import annotations

from ...policy.calls import Call, Outcome
from .. import CLAUDE_CODE
from . import TOOLS
from .calls import call_of, input_of
from .projects import every as transcripts
from .spans import content_spans as spans_of
from .transcript import events_of
from .usage import newest_usage as usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["NAME", "REWRITES", "TOOLS", "arriving_call", "call_of", "events_of", "spans_of", "transcripts", "usage_of"]

NAME = CLAUDE_CODE
# With a mod the first two, without one the file.
REWRITES = frozenset(("arriving", "compaction", "transcript"))


def arriving_call(id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
    """Return the call of a result that is about to enter, from the tool and input that the mod tells of it."""
    tool = call.get("tool")
    arguments = input_of(call.get("input"))
    return Call(id, TOOLS.of(tool if isinstance(tool, str) else ""), arguments, Outcome(error=error), now, cwd)
