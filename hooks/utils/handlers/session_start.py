"""Begin, resume or clear a session; follow a compaction."""

from __future__ import annotations

from ..config import remembered
from ..hosts.claude_code.calls import text
from ..io import files
from ..io.system import now as time_of_day
from ..policy import engine, events
from ..policy.ruleset import DEFAULT_HINTS
from ..state import live, memory, store, sweeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..policy.ruleset import Ruleset

# Sources of a context in which nothing stands yet.
_NEW = ("startup", "clear")
_EMPTY = (*_NEW, "compact")
# The hook on a compaction of ours runs so soon after the answer.
_JUST_NOW_S = 60.0


def handle(payload: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Remembers what only this event tells (model, project, folder) and makes the state follow the transcript where there is one. The
    model is told what memory holds and given the hint, once for each context, and after a compaction what can be restored."""
    site = live.site_of(payload, environ)
    if site is None:
        return None
    facts: dict[str, object] = {"project": site.project, "transcript": text(payload, "transcript_path")}
    if text(payload, "model"):
        facts["model"] = text(payload, "model")
    source = text(payload, "source")
    compacted = source == "compact"
    if compacted:
        facts["compacted"] = True
    site.remember(**facts, **_trials(site, source))
    paths = site.paths()
    before = store.look(paths)
    live.follow(site, paths, text(payload, "transcript_path"))

    def begin(stored: store.Stored, rules: Ruleset) -> None:
        if stored.state.index == 0:
            stored.state.cwd = text(payload, "cwd")
        if compacted and before is not None and stored.state.epoch == before.state.epoch:
            engine.observe(stored.state, events.Compacted(time_of_day(environ)), rules)

    try:
        live.change(site, paths, "", begin)
    except files.LockTimeout:
        pass  # the first prompt makes the state follow the transcript
    now = time_of_day(environ)
    told = [_hint(site, now), _memory(site, now)] if source in _EMPTY else []
    if compacted:
        told.append(_index(site, now))
    else:
        remembered.sweep(site.home, now)
        sweeping.sweep(site, now)
    context = "\n\n".join(filter(None, told))
    said: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}} if context else {}
    asked = [_question(site) if source in _EMPTY else "", _news(site) if source in _NEW else ""]
    message = "\n".join(filter(None, asked))
    return {**said, **({"systemMessage": message} if message else {})} or None


def _trials(site: live.Site, source: str) -> dict[str, Any]:
    """Return the facts of what the session has on trial."""
    if not site.tries:
        return {}
    from ..state import on_trial

    if source == "resume":
        on_trial.mark(site, None)
    return on_trial.begun(site) if source in _NEW else on_trial.closed(site)


def _news(site: live.Site) -> str:
    if not site.tries:
        return ""
    from ..state import on_trial

    return on_trial.news(site)


def _hint(site: live.Site, now: float) -> str:
    if site.setting("hints", DEFAULT_HINTS) != "on":
        return ""
    from ..state import hints

    return hints.deliver(site, now)


def _memory(site: live.Site, now: float) -> str:
    if not memory.is_used(site.home):
        return ""
    from ..state import remembering

    return remembering.deliver(site, now)


def _question(site: live.Site) -> str:
    if not memory.is_used(site.home):
        return ""
    from ..state import remembering

    return remembering.question(site)


def _index(site: live.Site, now: float) -> str:
    """The index of what a summary has folded away; none behind a compaction of ours, whose placeholders are the index."""
    in_place = site.session.get("in_place")
    if in_place is not None:
        site.remember(in_place=None)
        if 0 <= now - in_place < _JUST_NOW_S:
            return ""
    from ..reclaim import compaction_advice

    return compaction_advice.after(site, now) or ""
