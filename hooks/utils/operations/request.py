"""A request for an operation on a context, with its answer: text for the hook and the pane, text or data for the shell and the page."""

from __future__ import annotations

from ..reclaim import outlook
from ..views import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..flag_parser import Words
    from ..state.journal import Entry
    from ..state.site import Site
    from ..text import Line
    from ..views.shapes import Report
    from .changers import Changer


class Answer:
    """The lines to show, the same as data, and the error where the request cannot be met."""

    __slots__ = ("data", "error", "lines")

    def __init__(self, lines: list[Line], data: object = None, error: str = ""):
        self.lines = lines
        self.data = data
        self.error = error


class Request:
    """The parsed words, and the session that they are about. `command`: how the reader calls us; `in_place`: who changes the
    conversation."""

    __slots__ = ("_seen", "arguments", "command", "flags", "in_place", "now", "site", "transcript_path")

    def __init__(self, parsed: Words, site: Site, transcript_path: str, now: float, command: str, in_place: Changer) -> None:
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

    def change(self, entries: Sequence[Entry]) -> Report:
        """Journal what the user changes; return the report after it."""
        outlook.change(self.look(), self.site, entries)
        return self.report()
