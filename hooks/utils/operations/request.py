"""One request for an operation on a context, and its answer: text for the hook and the pane, text or data for the shell and the page."""

from __future__ import annotations

from ..reclaim import outlook
from ..views import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from ..flag_parser import Parsed
    from ..state.site import Site
    from ..text import Line
    from ..views.report_shapes import Report

    class InPlace(Protocol):
        """Changes the conversation of a running session: what is asked for is done as soon as Claude is idle."""

        def clear(self, ids: Sequence[str]) -> None:
            """Takes these results out."""

        def put_back(self, handles: Sequence[str]) -> None:
            """Puts what is archived under these handles back."""

        def cancel(self) -> bool:
            """Lets go of a clear that was asked for and is not done yet; whether there was one."""


COMMAND = "/popkit:context"


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
        """The main context, reconciled with its transcript once."""
        if self._seen is None:
            self._seen = outlook.look(self.site, self.transcript_path, self.now)
        return self._seen

    def report(self) -> Report:
        """The report of it as it stands."""
        return report.build(self.look())

    def change(self, entries: list[dict[str, Any]]) -> Report:
        """Journals what the user changes; the report after it."""
        outlook.change(self.look(), self.site, entries)
        return self.report()
