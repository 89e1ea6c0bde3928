"""Note the client's reports on its session: the size of the window, the costs, the use of the plan's limits, the owner of the line under
the prompt."""

from __future__ import annotations

from contextlib import suppress

from ..hosts import protocol
from ..state import limit_readings, status_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.site import Site

_MOST_TOKENS = 10**9


class ClientReports:
    """`usd`: what the session has cost so far, as the client counts; None where it has not said so."""

    def __init__(self) -> None:
        self.usd: float | None = None

    def note(self, site: Site, usage: object, now: float, fresh: bool) -> None:
        """Note what the client reports of the session: {`window`: tokens, `usd`, `limits`}. Anything else is ignored. `fresh`: an answer
        has just come."""
        if not isinstance(usage, dict):
            return
        window, usd = usage.get("window"), usage.get("usd")
        if type(window) is int and 0 < window < _MOST_TOKENS:
            self._note_window(site, window)
        if isinstance(usd, (int, float)) and not isinstance(usd, bool) and 0 <= usd < _MOST_TOKENS:
            self.usd = usd
        if site.enabled:
            with suppress(OSError):  # the next one is kept
                limit_readings.note_limits(site.home, usage.get("limits"), now, fresh)

    def _note_window(self, site: Site, window: int) -> None:
        """Note how large the window is, and what the host was told about where in it to compact."""
        known, told = site.session, site.session.compaction
        if known.model or told is None:  # else the hook on prompts knows more of it
            told = protocol.of(site.session_id).compaction_told(site.environ, site.session_project, known.model or "")
        if (known.window_tokens, known.compaction) != (window, told):
            site.remember(window_tokens=window, compaction=told)

    def note_status_line(self, site: Site) -> None:
        """Note that the client lets code of ours draw under the prompt."""
        if site.enabled:
            with suppress(OSError):  # the next request says so again
                status_line.note_site(site.lasting_home)
