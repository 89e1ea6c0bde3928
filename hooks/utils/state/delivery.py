"""Give each context of a session its MEMORY.md once, without what no longer holds in the checkout.

The user waits for this at a session's start, so it loads neither `os` nor `re` nor `typing`, which take longer than all the rest. No error
of memory's fails a hook: it goes to the log.
"""

from __future__ import annotations

from ..policy.estimate import estimate_tokens
from . import memory
from .memory_records import CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .site import Site

_HOOK = "memory"  # as the log names it


def deliver(site: Site, now: float) -> str:
    """Return the MEMORY.md for the empty context of a session, and book it; "" where memory is off or knows nothing, where this context has
    it already. `note_emptied` says when a compaction or a clear has emptied the context."""
    delivered = ""

    def work(project: memory.Project) -> None:
        nonlocal delivered
        if site.session.memory is not None:
            return
        text = _current(project, project.document(), site.environ)
        if text:
            from . import journal

            if site.give_once("memory", now, journal.remembered(text, estimate_tokens(text, CONTENT), now)):
                delivered = text

    with_memory(site, work)
    return delivered


def _current(project: memory.Project, text: str, environ: Mapping[str, str]) -> str:
    """Return a MEMORY.md without the entries that no longer hold in the current checkout or that the host's own memory has too; one that
    was edited by hand as it is."""
    written, stamps = project.entries_of(text)
    if not written:
        return text
    from ..hosts import protocol
    from . import memory_checks, memory_json, memory_text

    try:
        entries = memory_json.from_json(written)
    except ValueError:
        return text
    root = project.repository.root
    theirs = protocol.of("").own_memory(environ, root)
    return memory_text.render(entry for entry in memory_checks.current(root, entries, stamps) if not theirs.contains(entry.wording)).strip()


def question(site: Site) -> str:
    """Return what to ask the user, once, about a checkout that claims to belong to a project with a memory; "" for nothing. Call it after
    `deliver`, which has logged what cannot be read."""
    try:
        words = memory.project_of(site.home, site.project).asks() if memory.is_used(site.home) else ""
    except (OSError, ValueError):
        return ""
    return "PopKit: " + words.replace("popkit memory", "/popkit:context memory") if words else ""


def note_emptied(site: Site) -> None:
    """Note that the context is about to lose all it holds, MEMORY.md too."""
    if site.session.memory is not None:
        site.remember(memory=None)


def with_memory(site: Site, work: Callable[[memory.Project], None]) -> None:
    """Call `work` with the memory of the site's project, if it is on."""
    try:
        if memory.is_used(site.home):
            project = memory.project_of(site.home, site.project)
            if project.is_on():
                work(project)
    except (OSError, ValueError) as error:
        from ..io import hook_log

        hook_log.log_failure(site.environ, _HOOK, error)
