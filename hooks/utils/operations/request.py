"""One request for an operation on a context, and its answer: text for the hook and the pane, text or data for the shell and the page."""

from __future__ import annotations

from ..io.codec import dumps, loads
from ..reclaim import outlook
from ..reclaim.access import Refused
from ..state import sockets
from ..views import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from ..flag_parser import Parsed
    from ..state.site import Site
    from ..text import Line
    from ..views.shapes import Report

    class InPlace(Protocol):
        """Changes the conversation of a running session as soon as Claude is idle."""

        def clear(self, ids: Sequence[str]) -> None:
            """Take these results out."""

        def put_back(self, handles: Sequence[str]) -> None:
            """Put back what is archived under these handles."""

        def cancel(self) -> bool:
            """Withdraw a clear that was asked for and is not done yet; return whether there was one."""


COMMAND = "/popkit:context"
_HELPER_S = 5.0  # how long the helper may take to answer


class Answer:
    """Lines to show, the same as data, and the error when the user asked for what there is not."""

    __slots__ = ("data", "error", "lines")

    def __init__(self, lines: list[Line], data: object = None, error: str = ""):
        self.lines = lines
        self.data = data
        self.error = error


class Request:
    """The parsed words, and where they are asked. `command`: how the reader calls us; `in_place`: see `context.answer`."""

    __slots__ = ("_seen", "arguments", "command", "flags", "in_place", "now", "site", "transcript_path")

    def __init__(self, parsed: Parsed, site: Site, transcript_path: str, now: float, command: str, in_place: InPlace | None = None) -> None:
        self.arguments = parsed.arguments
        self.flags = parsed.flags
        self.site = site
        self.transcript_path = transcript_path
        self.now = now
        self.command = command
        self.in_place = in_place
        self._seen: outlook.Outlook | None = None

    def look(self) -> outlook.Outlook:
        """Return the main context, reconciled with its transcript once."""
        if self._seen is None:
            self._seen = outlook.look(self.site, self.transcript_path, self.now)
        return self._seen

    def report(self) -> Report:
        """Return the report of it."""
        return report.build(self.look())

    def change(self, entries: list[dict[str, Any]]) -> Report:
        """Journal what the user changes; return the report after it."""
        outlook.change(self.look(), self.site, entries)
        return self.report()


class ThroughHelper:
    """An InPlace for a shell or the page, outside the client: the mod does what its helper is asked for. Refused where the helper does not
    answer: the transcript of a session that runs with a mod is never rewritten."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def clear(self, ids: Sequence[str]) -> None:
        self._ask({"only": list(ids)})

    def put_back(self, handles: Sequence[str]) -> None:
        self._ask({"back": list(handles)})

    def cancel(self) -> bool:
        return self._ask({"cancel": True}).get("cancelled") is True

    def _ask(self, body: dict[str, object]) -> dict[str, object]:
        try:
            answer = loads(sockets.ask(self._socket, "/want", dumps(body).encode("ascii"), _HELPER_S).decode())
        except (OSError, ValueError):
            answer = {}
        if not isinstance(answer, dict) or answer.get("heard") is not True:
            raise Refused("the session is running, and PopKit in it does not answer now. Type the same as /popkit there")
        return answer


def in_place_of(popkit_home: str, session_id: str) -> InPlace | None:
    """Return what changes the running conversation of a session; None where it does not run with a mod."""
    found = sockets.of_session(popkit_home, session_id) if session_id else []
    return ThroughHelper(found[0]) if found else None
