"""Start what works in the background after a session, in a process of its own: the child that learns for memory, or
`popkit retention gc --auto`, which collects while a retention policy wants it (`auto_gc`).
"""

from __future__ import annotations

from ..io import files, home, processes
from ..io.codec import dumps, loads
from ..io.system import join
from . import delivery, memory
from .watched_files import file_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .site import Site

COLLECTION_HOOK = "retention"  # as the log names it
POLICIES, NOTE = "retention-policies.json", "retention-hourly.json"  # in governance's folder
COLLECT_EVERY_S = 3600.0
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
        from ..io import storage  # seldom

        storage.log_failure(site.environ, COLLECTION_HOOK, error)


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


# --- collection ---


def is_collection_wanted(popkit_home: str) -> bool:
    """Return whether any policy has `auto_gc`: the user's of a domain, or one of a project. OSError, ValueError where the file cannot be
    read."""
    text = files.read_text(join(popkit_home, home.GOVERNANCE, POLICIES))
    policies = loads(text) if text else None
    if not isinstance(policies, dict):
        return False
    of_projects = [each.get("config") for domain in _objects(policies.get("projects")) for each in _objects(domain)]
    return any(each.get("auto_gc") is True for each in (*_objects(policies), *_objects(of_projects)))


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the objects among the values of an object, or in a list."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in values if isinstance(each, dict)]


def is_collection_due(popkit_home: str, now: float) -> bool:
    """Return whether an hour has passed since the last collection began (seconds), or the clock was set back behind it."""
    at = files.read_object(collection_note_path(popkit_home)).get("at")
    return not isinstance(at, (int, float)) or not 0 <= now - at < COLLECT_EVERY_S


def collection_note_path(popkit_home: str) -> str:
    """Return the path of the note that says when the last collection began."""
    return join(popkit_home, home.GOVERNANCE, NOTE)


def collection_note(now: float) -> str:
    """Return the note of a collection that begins now (seconds)."""
    return dumps({"at": now})
