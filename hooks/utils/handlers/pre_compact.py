"""Before a compaction: bring the state up to date, learn from the session, and advise the summariser."""

from __future__ import annotations

from ..hosts.claude_code import usage
from ..hosts.claude_code.calls import text
from ..io.system import now as time_of_day
from ..state import live, memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def handle(payload: dict[str, Any], environ: Mapping[str, str]) -> str | None:
    """Bring the state up to date with the transcript while all of it is still the context: calls that fired no hook are counted, a
    rewound branch is dropped. What is live ends later, when SessionStart(compact) says that the compaction happened.

    Return what the summariser should know, as plain text: JSON would be pasted into its instructions verbatim. None where the mod has just
    said it."""
    site = live.site_of(payload, environ)
    if site is None:
        return None
    from ..reclaim import compaction_advice

    now = time_of_day(environ)
    if site.session.get("hinted") is not None:
        site.remember(hinted=None)  # the context is about to lose the hint
    _memory(site, text(payload, "transcript_path"), now)
    if text(payload, "trigger") == "auto":
        _remember_size(site, text(payload, "transcript_path"))
    if compaction_advice.was_advised(site, now):
        return None
    return compaction_advice.before(site, text(payload, "transcript_path"), now, manual=text(payload, "trigger") == "manual")


def _remember_size(site: live.Site, transcript_path: str) -> None:
    """Keep the size at which Claude Code compacts, for hooks that read only the newest request."""
    newest = usage.newest_usage(transcript_path)
    if newest is not None:
        site.remember(compacted_tokens=newest.tokens)


def _memory(site: live.Site, transcript_path: str, now: float) -> None:
    """Learn from the session while all of it is still the context; have memory given to the context again afterwards."""
    if memory.is_used(site.home):
        from ..state import remembering

        remembering.emptied(site)
        remembering.learn(site, transcript_path, now)
