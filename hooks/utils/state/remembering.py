"""What hooks do about memory: a session is given MEMORY.md, and what it taught is learnt by a child. Fails open: nothing of it may fail a
hook, and what went wrong stands in the log."""

from __future__ import annotations

from ..policy.estimate import estimate_tokens
from . import disk, journal, memory, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .site import Site

_HOOK = "memory"  # in the log


def deliver(site: Site, now: float) -> str:
    """The MEMORY.md that a session's empty context is given, booked; "" where memory is off, knows nothing, or this context has it, and
    where a trial has the session do without. What a compaction or a clear empties is told by `emptied`."""
    said = ""

    def work(project: memory.Project) -> None:
        nonlocal said
        text = project.document()
        if not text or not _is_given(site) or not site.claim("memory", now):
            return
        text = _current(project, text, site.environ)
        if text:
            store.journal(site.paths(), journal.remembered(text, estimate_tokens(text, memory.CONTENT), now))
            said = text

    _where_on(site, work)
    return said


def _is_given(site: Site) -> bool:
    """Return whether a trial, if there is one, lets the session have it; asked only where there is something to give."""
    if not site.tries:
        return True
    from . import on_trial

    return on_trial.is_given(site)


def _current(project: memory.Project, text: str, environ: Mapping[str, str]) -> str:
    """Return what of a MEMORY.md is still so in the checkout at hand, without what the host's own memory says; a text that was not
    rendered from the entries beside it as it is."""
    from ..hosts.claude_code import own_memory
    from . import memory_checks, memory_text

    try:
        entries = memory_checks.from_json(project.entries())
    except ValueError:
        return text
    if memory_text.render(entries).strip() != text:
        return text
    root = project.repository.root
    theirs = own_memory.read(environ, root)
    return memory_text.render(entry for entry in memory_checks.current(root, entries) if not theirs.says(entry.said)).strip()


def question(site: Site) -> str:
    """What the user is asked, once, about a checkout that says it is of a project with a memory; "" for nothing. Comes after `deliver`,
    which has told the log of what cannot be read."""
    try:
        asked = memory.project_of(site.home, site.project).asks() if memory.is_used(site.home) else ""
    except (OSError, ValueError):
        return ""
    return "PopKit: " + asked.replace("popkit memory", "/popkit:context memory") if asked else ""


def emptied(site: Site) -> None:
    """The context is about to lose all it holds, MEMORY.md too."""
    if site.session.get("memory") is not None:
        site.remember(memory=None)


def learn(site: Site, transcript_path: str, now: float) -> bool:
    """Lets a child learn what the session has taught so far; whether one was started. Should it die before, the next one finds a note of
    it."""
    started = False

    def work(project: memory.Project) -> None:
        nonlocal started
        from ..io import children

        project.note_ended(site.session_id, transcript_path, now)
        children.start(["memory", "learn", transcript_path, "--if-on", "--quiet"], site.environ)
        started = True

    if disk.stamp(transcript_path):  # the host writes none for a session in which nobody said anything
        _where_on(site, work)
    return started


def _where_on(site: Site, work: Callable[[memory.Project], None]) -> None:
    """Works on the memory of the site's project, if it is on."""
    try:
        if memory.is_used(site.home):
            project = memory.project_of(site.home, site.project)
            if project.is_on():
                work(project)
    except (OSError, ValueError) as error:
        from ..io import failures  # seldom

        failures.record(site.environ, _HOOK, error)
