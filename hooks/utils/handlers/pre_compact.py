"""The conversation is about to be folded into a summary."""

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
    """Brings the state up to date with the transcript while all of it is still the context: calls that fired no hook are counted, a
    rewound branch is dropped. The compaction itself ends what is live when SessionStart(compact) says that it happened.

    Answers with what the summariser should know, in plain text: JSON would be pasted into its instructions as it stands. Where the code
    inside the client has just said it, there is nothing left to do."""
    site = live.site_of(payload, environ)
    if site is None:
        return None
    from ..reclaim import compaction_advice

    now = time_of_day(environ)
    _hint(site)
    _memory(site, text(payload, "transcript_path"), now)
    if text(payload, "trigger") == "auto":
        _remember_size(site, text(payload, "transcript_path"))
    if compaction_advice.was_advised(site, now):
        return None
    return compaction_advice.before(site, text(payload, "transcript_path"), now, manual=text(payload, "trigger") == "manual")


def _remember_size(site: live.Site, transcript_path: str) -> None:
    """What Claude Code takes for a full context, for hooks that read no further back than the newest request."""
    newest = usage.newest_usage(transcript_path)
    if newest is not None:
        site.remember(compacted_tokens=newest.tokens)


def _hint(site: live.Site) -> None:
    if site.session.get("hinted") is not None:
        from ..state import hints

        hints.emptied(site)


def _memory(site: live.Site, transcript_path: str, now: float) -> None:
    """What the session has taught is learnt while all of it is the context still; afterwards it is given what memory holds anew."""
    if memory.is_used(site.home):
        from ..state import remembering

        remembering.emptied(site)
        remembering.learn(site, transcript_path, now)
