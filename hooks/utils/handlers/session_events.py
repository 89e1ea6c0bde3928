"""Follow a session as it begins, is compacted, ends, or is left for another one."""

from __future__ import annotations

from .. import retention_tracker
from ..config import GONE
from ..config.cached import sweep_cached
from ..io import files
from ..io.codec import text_in_field
from ..io.system import now as time_of_day
from ..io.system import os
from ..policy import engine, events
from ..policy.ruleset import DEFAULT_HINTS
from ..state import memory, store
from ..state.site import Site, site_at_start, site_of
from ..state.told_once import is_news

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..policy.ruleset import Ruleset

HINT = "Send look-ups that do not depend on one another together in one message. Update the todo list along with other calls, never alone."
# Told in the first session with PopKit, and never again; the name under which that is noted.
FIRST_LINE = "PopKit is at work in this session. /popkit shows what the context holds and what to do about it."
_FIRST = "first-line"
# Sources of an empty context.
_EMPTY = ("startup", "clear", "compact")
# The hook runs at most this long after a compaction that PopKit answered (seconds).
_JUST_NOW_S = 60.0


def start(payload: dict[str, object], environ: Mapping[str, str]) -> dict[str, object] | None:
    """Remember what only this event tells (model, project, folder) and make the state follow the transcript where there is one. Give the
    model what memory holds and the hint, once for each context, and after a compaction the index of what can be restored."""
    source, transcript_path = text_in_field(payload, "source"), text_in_field(payload, "transcript_path")
    compacted = source == "compact"
    site = site_at_start(payload, environ, is_new_client=not compacted)
    if site is None:
        return None
    if source in ("startup", "resume"):
        _end_others(site, source, time_of_day(environ))
    if site.awaits_rules:
        return _answer(site, source, time_of_day(environ))
    facts = {"model": text_in_field(payload, "model"), "compacted": compacted}
    site.remember(project=site.project, transcript=transcript_path, **{name: fact for name, fact in facts.items() if fact})
    paths = site.paths()
    before = store.read_unlocked(paths)
    from ..state import reconciling  # an end does without it

    reconciling.rebuild_if_small(site, paths, transcript_path)

    def begin(stored: store.StoredState, rules: Ruleset) -> None:
        if stored.state.index == 0:
            stored.state.cwd = text_in_field(payload, "cwd")
        if compacted and before is not None and stored.state.epoch == before.state.epoch:
            engine.observe(stored.state, events.Compacted(time_of_day(environ)), rules)

    try:
        retention_tracker.change(site, paths, "", begin)
    except files.LockTimeout:
        pass  # the first prompt makes the state follow the transcript
    now = time_of_day(environ)
    if not compacted:
        from ..state import sweeping

        sweep_cached(site.lasting_home, now)
        sweeping.sweep(site, now)
        sweeping.sweep_memory(site)
    return _answer(site, source, now)


def _end_others(site: Site, source: str, now: float) -> None:
    """As a new session of a project begins, the ended ones of that project are over; one that goes on is no longer among those."""
    from ..state import closed

    if closed.is_any(site.lasting_home):
        retention_tracker.end_others(site, now) if source == "startup" else closed.remove(site.lasting_home, site.session_id)


def _answer(site: Site, source: str, now: float) -> dict[str, object] | None:
    """Return what the model and the person are told as a context begins; None for nothing."""
    parts = [_hint(site, now), _memory_text(site, now)] if source in _EMPTY else []
    if source == "compact" and site.enabled:
        parts.append(_index(site, now))
    context = "\n\n".join(filter(None, parts))
    answer: dict[str, object] = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}} if context else {}
    notices = [_first_line(site, source), _question(site) if source in _EMPTY else "", _gone(site)]
    message = "\n".join(filter(None, notices))
    return {**answer, **({"systemMessage": message} if message else {})} or None


def _first_line(site: Site, source: str) -> str:
    """Return that PopKit works and how to see it, once for a home, where somebody reads it."""
    return FIRST_LINE if source != "compact" and _is_attended(site.environ) and is_news(site.lasting_home, _FIRST) else ""


def _is_attended(environ: Mapping[str, str]) -> bool:
    """Return whether a person sees the session, as far as its client says: runs of -p and of the Agent SDK show no notice."""
    attended = environ.get("CLAUDE_CODE_SESSION_ATTENDED", "")
    return attended != "0" and (attended == "1" or not environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"))


def _gone(site: Site) -> str:
    """Return the sentences on settings of the user's that do nothing, each once for a home."""
    if GONE not in site.config or site.data_rules:
        return ""
    from ..config import gone

    names = [name for name in site.config[GONE] if name in gone.SETTINGS and is_news(site.home, name)]
    return "\n".join(["PopKit: " + gone.SETTINGS[name] for name in names])


def _hint(site: Site, now: float) -> str:
    """Return the sentence that asks for fewer requests, where hints are on and this context does not have it; book its tokens as our own
    text."""
    if site.config.get("hints", DEFAULT_HINTS) != "on":
        return ""
    from ..policy.estimate import estimate_tokens
    from ..state import journal

    try:
        if not site.give_once("hinted", now, journal.advised(estimate_tokens(HINT), now)):
            return ""
    except (OSError, ValueError) as error:
        from ..io import hook_log

        hook_log.log_failure(site.environ, "hints", error)
        return ""
    return HINT


def _memory_text(site: Site, now: float) -> str:
    if not memory.is_used(site.home):
        return ""
    from ..state import delivery

    return delivery.deliver(site, now)


def _question(site: Site) -> str:
    if not memory.is_used(site.home):
        return ""
    from ..state import delivery

    return delivery.question(site)


def _index(site: Site, now: float) -> str:
    """Return the index of what a summary replaced; "" after a compaction of ours, whose placeholders are the index."""
    in_place = site.session.in_place
    if in_place is not None:
        site.remember(in_place=None)
        if 0 <= now - in_place < _JUST_NOW_S:
            return ""
    from ..reclaim import compaction_advice

    return compaction_advice.after(site, now) or ""


def _forget_hint(site: Site) -> None:
    """Note that the context has lost the hint, or is about to."""
    if site.session.hinted is not None:
        site.remember(hinted=None)


def before_compaction(payload: dict[str, object], environ: Mapping[str, str]) -> str | None:
    """Bring the state up to date with the transcript while all of it is still the context: calls that fired no hook are counted, a
    rewound branch is dropped. What is live ends later, when SessionStart(compact) says that the compaction happened.

    Return what the summariser should know, as plain text: JSON would be pasted into its instructions verbatim. None where the mod has just
    given it."""
    site = site_of(payload, environ)
    if site is None:
        return None
    from ..reclaim import compaction_advice

    now, transcript_path, trigger = time_of_day(environ), text_in_field(payload, "transcript_path"), payload.get("trigger")
    _forget_hint(site)
    _learn(site, transcript_path, now)
    if trigger == "auto":
        _remember_size(site, transcript_path)
    if compaction_advice.was_advised(site, now):
        return None
    return compaction_advice.before(site, transcript_path, now, manual=trigger == "manual")


def _remember_size(site: Site, transcript_path: str) -> None:
    """Keep the size at which Claude Code compacts, for hooks that read only the newest request."""
    from ..hosts.transcripts import usage

    newest = usage.newest_usage(transcript_path)
    if newest is not None:
        site.remember(compacted_tokens=newest.tokens)


def _learn(site: Site, transcript_path: str, now: float) -> None:
    """Learn from the session while all of it is still the context; have memory given to the context again afterwards."""
    if memory.is_used(site.home):
        from ..state import delivery, jobs

        delivery.note_emptied(site)
        jobs.start_learning(site, transcript_path, now)


def end(payload: dict[str, object], environ: Mapping[str, str]) -> None:
    """Note that the client has ended; under a data rule, end all that was kept of the session."""
    site = site_of(payload, environ)
    if site is None:
        return
    _sweep_sockets(site.lasting_home)
    if site.is_in_memory:
        site.end_in_memory()
        return
    now, why, transcript_path = time_of_day(environ), text_in_field(payload, "reason"), text_in_field(payload, "transcript_path")
    if why == "clear":
        _forget_hint(site)
    if store.read_unlocked(site.paths()) is None:
        return  # nothing was tracked
    retention_tracker.end_client(site, now, why)
    if why == "clear" and memory.is_used(site.home):
        from ..state import delivery

        delivery.note_emptied(site)
    from ..state import jobs, stale_ledgers, sweeping

    jobs.start(site, transcript_path, now)  # first: the host does not wait for long
    if stale_ledgers.is_due(site, transcript_path):
        _in_a_process_of_its_own(lambda: stale_ledgers.settle(site, transcript_path), environ)
    sweeping.sweep(site, now)


def _sweep_sockets(popkit_home: str) -> None:
    """Remove the sockets of killed helpers: another helper, which would do it, may never start."""
    try:
        os.stat(popkit_home + "/run")
    except OSError:
        return  # there are none
    from ..state import sockets

    sockets.sweep(popkit_home)


def _in_a_process_of_its_own(work: Callable[[], object], environ: Mapping[str, str]) -> None:
    """Do the work in a child and wait for it; it goes on if the host kills this process."""
    import os

    if not hasattr(os, "fork"):
        work()
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()  # signals of the host to this process do not reach it
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(nowhere, fd)  # the host waits for the end of our output
        work()
    except BaseException as error:  # noqa: BLE001  a child must not go on as the hook
        from ..io import hook_log

        hook_log.log_failure(environ, "session-end", error)
    finally:
        os._exit(0)
