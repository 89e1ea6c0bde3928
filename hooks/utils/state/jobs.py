"""Start the background work after a session in a process of its own: learning for memory, which also collects, or else collection alone."""

from __future__ import annotations

from ..io import processes
from . import delivery, memory
from .collection import is_collection_due, is_collection_wanted
from .watched_files import file_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .site import Site

COLLECTION_HOOK = "retention"  # as the log names it
COLLECT = ("retention", "gc", "--auto", "--quiet")


def start(site: Site, transcript_path: str, now: float) -> None:
    """Start the child that learns what the session has taught so far, if memory is on for the project; else the one that collects, if that
    is due. The one that learns also collects. Fails open."""
    if memory.is_used(site.home) and start_learning(site, transcript_path, now):
        return
    try:
        if is_collection_wanted(site.home) and is_collection_due(site.home, now):
            processes.start_popkit(COLLECT, site.environ)
    except (OSError, ValueError) as error:
        from ..io import hook_log

        hook_log.log_failure(site.environ, COLLECTION_HOOK, error)


def start_learning(site: Site, transcript_path: str, now: float) -> bool:
    """Start a child that learns what the session has taught so far; return whether one was started. A child that dies leaves a note for
    the next."""
    started = False

    def work(project: memory.Project) -> None:
        nonlocal started
        project.note_ended(site.session_id, transcript_path, now)
        processes.start_popkit(["memory", "admin", "learn", transcript_path, "--if-on", "--quiet"], site.environ)
        started = True

    if file_stamp(transcript_path):  # the host writes none for a session without a word
        delivery.with_memory(site, work)
    return started
