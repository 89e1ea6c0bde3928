"""The protocol of a host, and the host of each session.

To add one, make a folder with a module `host` that has what `Host` lists, and name it in `ALL`. Policy knows no host: it is given events,
with the rows of the tools that were called.
"""

from __future__ import annotations

from . import OPENCODE
from .claude_code import host as claude_code
from .opencode import host as opencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from ..policy.calls import Call
    from ..policy.events import Compacted, Prompted
    from ..policy.tools import Tools
    from ..policy.usage import Usage

    class Host(Protocol):
        """The functions that a host offers. Times are seconds; payloads, rows and lines come from outside and may be anything.

        Models and prices are no host's: `usage` names the model, and `policy/models.py` says what it costs and how its provider
        caches."""

        NAME: str  # as people call it
        TOOLS: Tools  # what each of its tools does, and which fields of an input hold what
        # What it lets us change: results that are "arriving", what a "compaction" keeps, the "transcript" that it loads again.
        REWRITES: frozenset[str]

        def call_of(self, payload: dict[str, Any], now: float) -> Call | None:
            """Return the completed call that a hook's payload tells of; None for another payload."""

        def arriving_call(self, id: str, call: dict[str, Any], error: bool, now: float, cwd: str) -> Call:
            """Return the call of a result that is about to enter, from its {tool, input}."""

        def events_of(self, path: str) -> list[Call | Prompted | Compacted]:
            """Return what happened on the active branch of a transcript, in order; OSError when it cannot be read."""

        def usage_of(self, path: str) -> Usage | None:
            """Return the newest request's usage: the size of its prompt, its model, the life of its cache; None where there is none."""

        def spans_of(self, line: bytes) -> dict[str, tuple[int, int]]:
            """Return the place of each result's content in a line of a transcript: tool use id -> (first byte, byte behind it).
            ValueError for a line that is not to be touched."""

        def transcripts(self, environ: Mapping[str, str]) -> list[str]:
            """Return the transcripts of all main threads."""


ALL: tuple[Host, ...] = (claude_code, opencode)


def of(session_id: str) -> Host:
    """Return the host of a session."""
    return opencode if session_id.startswith(OPENCODE) else claude_code
