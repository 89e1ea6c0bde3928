"""What hooks do for memory: they give a session its MEMORY.md and start the child that learns from it. Fails open: no error of memory's
fails a hook; it goes to the log."""

from __future__ import annotations

from ..policy.estimate import estimate_tokens
from . import journal, memory, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .site import Site

_HOOK = "memory"  # in the log


def deliver(site: Site, now: float) -> str:
    """Return the MEMORY.md for the empty context of a session, and book it; "" where memory is off or knows nothing, where this context has
    it already, and where a trial leaves the session without. `emptied` says when a compaction or a clear has emptied the context."""
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
    from . import trials

    return trials.is_given(site)


def _current(project: memory.Project, text: str, environ: Mapping[str, str]) -> str:
    """Return what of a MEMORY.md is still so in the checkout at hand, without what the host's own memory says; a text that somebody has
    edited as it is."""
    from ..hosts.claude_code import projects
    from . import memory_checks, memory_text

    try:
        entries = memory_checks.from_json(project.entries_of(text))
    except ValueError:
        return text
    if not entries:
        return text
    root = project.repository.root
    theirs = projects.own_memory(environ, root)
    return memory_text.render(entry for entry in memory_checks.current(root, entries) if not theirs.contains(entry.said)).strip()


def question(site: Site) -> str:
    """Return what to ask the user, once, about a checkout that claims to belong to a project with a memory; "" for nothing. Call it after
    `deliver`, which has logged what cannot be read."""
    try:
        asked = memory.project_of(site.home, site.project).asks() if memory.is_used(site.home) else ""
    except (OSError, ValueError):
        return ""
    return "PopKit: " + asked.replace("popkit memory", "/popkit:context memory") if asked else ""


def emptied(site: Site) -> None:
    """Note that the context is about to lose all it holds, MEMORY.md too."""
    if site.session.get("memory") is not None:
        site.remember(memory=None)


def learn(site: Site, transcript_path: str, now: float) -> bool:
    """Start a child that learns what the session has taught so far; return whether one was started. A child that dies leaves a note for
    the next."""
    started = False

    def work(project: memory.Project) -> None:
        nonlocal started
        from ..io import children

        project.note_ended(site.session_id, transcript_path, now)
        children.start(["memory", "learn", transcript_path, "--if-on", "--quiet"], site.environ)
        started = True

    if store.file_stamp(transcript_path):  # the host writes none for a session in which nobody said anything
        _where_on(site, work)
    return started


def _where_on(site: Site, work: Callable[[memory.Project], None]) -> None:
    """Call `work` with the memory of the site's project, if it is on."""
    try:
        if memory.is_used(site.home):
            project = memory.project_of(site.home, site.project)
            if project.is_on():
                work(project)
    except (OSError, ValueError) as error:
        from ..io import failures  # seldom

        failures.record(site.environ, _HOOK, error)
