"""Do the hooks' part for the services, and keep what services publish for hooks.

Hooks give a session its MEMORY.md, and start what works in the background after it, in a process of its own: the child that learns for
memory, or `popkit retention gc --auto`, which collects while a retention policy wants it (`auto_gc`). What tools and the hourly collection
have marked for deletion is in a small file that services write and hooks read, so that the user sees it. No error of memory's fails a hook:
it goes to the log.
"""

from __future__ import annotations

from ..io import files, processes
from ..io.codec import dumps, loads, number
from ..io.system import join
from ..policy.estimate import estimate_tokens
from . import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypedDict

    from .live import Site

    class Marked(TypedDict):
        """How many things of a project are marked (`by` whom), the ids of the first MARKED_NAMED, when (seconds) the first is deleted."""

        project: str
        by: str
        count: int
        ids: list[str]
        first: float


# Hooks, as the log names them.
MEMORY_HOOK, COLLECTION_HOOK = "memory", "retention"
DATA_FOLDER = "data/state"  # in our folder
ALERTS = "alerts.json"  # in the folder of a project's memory
POLICIES, NOTE = "retention-policies.json", "retention-hourly.json"
COLLECT_EVERY_S = 3600.0
COLLECT = ("retention", "gc", "--auto", "--quiet")


# --- memory ---------------------------------------------------------------------------------------------------------------------------


def deliver_memory(site: Site, now: float) -> str:
    """Return the MEMORY.md for the empty context of a session, and book it; "" where memory is off or knows nothing, where this context has
    it already, and where a trial leaves the session without. `note_emptied` says when a compaction or a clear has emptied the context."""
    delivered = ""

    def work(project: memory.Project) -> None:
        nonlocal delivered
        text = project.document()
        if not text or not _is_given(site) or not site.claim("memory", now):
            return
        text = _current(project, text, site.environ)
        if text:
            from . import journal, store

            store.journal(site.paths(), journal.remembered(text, estimate_tokens(text, memory.CONTENT), now))
            delivered = text

    _where_on(site, work)
    return delivered


def _is_given(site: Site) -> bool:
    """Return whether a trial, if there is one, lets the session have it. Call it only where there is something to give."""
    if not site.tries:
        return True
    from . import trials

    return trials.is_given(site)


def _current(project: memory.Project, text: str, environ: Mapping[str, str]) -> str:
    """Return a MEMORY.md without the entries that no longer hold in the current checkout or that the host's own memory has too; one that
    was edited by hand as it is."""
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
    return memory_text.render(entry for entry in memory_checks.current(root, entries) if not theirs.contains(entry.wording)).strip()


def memory_question(site: Site) -> str:
    """Return what to ask the user, once, about a checkout that claims to belong to a project with a memory; "" for nothing. Call it after
    `deliver_memory`, which has logged what cannot be read."""
    try:
        question = memory.project_of(site.home, site.project).asks() if memory.is_used(site.home) else ""
    except (OSError, ValueError):
        return ""
    return "PopKit: " + question.replace("popkit memory", "/popkit:context memory") if question else ""


def note_emptied(site: Site) -> None:
    """Note that the context is about to lose all it holds, MEMORY.md too."""
    if site.session.get("memory") is not None:
        site.remember(memory=None)


def start_learning(site: Site, transcript_path: str, now: float) -> bool:
    """Start a child that learns what the session has taught so far; return whether one was started. A child that dies leaves a note for
    the next."""
    started = False

    def work(project: memory.Project) -> None:
        nonlocal started
        project.note_ended(site.session_id, transcript_path, now)
        processes.start_popkit(["memory", "learn", transcript_path, "--if-on", "--quiet"], site.environ)
        started = True

    from .store import file_stamp

    if file_stamp(transcript_path):  # the host writes none for a session without a word
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
        from ..io import storage  # seldom

        storage.log_failure(site.environ, MEMORY_HOOK, error)


# --- what works in the background -----------------------------------------------------------------------------------------------------


def start_jobs(site: Site, transcript_path: str, now: float) -> None:
    """Start the child that learns what the session has taught so far, if memory is on for the project; else the one that collects, if that
    is due. The one that learns also collects."""
    if memory.is_used(site.home) and start_learning(site, transcript_path, now):
        return
    processes.start_popkit_if(
        lambda: is_collection_wanted(site.home) and is_collection_due(site.home, now), COLLECT, site.environ, COLLECTION_HOOK
    )


def is_collection_wanted(popkit_home: str) -> bool:
    """Return whether any policy has `auto_gc`: the user's of a domain, or one of a project. OSError, ValueError where the file cannot be
    read."""
    text = files.read_text(join(popkit_home, DATA_FOLDER, POLICIES))
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
    return join(popkit_home, DATA_FOLDER, NOTE)


def collection_note(now: float) -> str:
    """Return the note of a collection that begins now (seconds)."""
    return dumps({"at": now})


# --- memories that go soon ------------------------------------------------------------------------------------------------------------


def set_alerts(project: memory.Project, due: dict[str, float]) -> None:
    """Set the items of value that will soon be forgotten: id -> when (seconds). Alerts that were shown stay so."""
    shown = [id for id in _alerts(project).get("told", ()) if id in due]
    files.replace_text(join(project.folder, ALERTS), dumps({"due": due, "told": shown}))


def unseen_alerts(project: memory.Project) -> dict[str, float]:
    """Return the alerts that were not shown yet."""
    known = _alerts(project)
    return {id: at for id, at in known["due"].items() if id not in known["told"]} if known else {}


def note_alerts_seen(project: memory.Project, ids: list[str]) -> None:
    """Note that these alerts were shown."""
    known = _alerts(project)
    if known:
        files.replace_text(join(project.folder, ALERTS), dumps({**known, "told": sorted({*known["told"], *ids})}))


def _alerts(project: memory.Project) -> dict[str, Any]:
    """Return {`due`: id -> seconds, `told`: ids}; {} where there are none that can be read."""
    value = files.read_object(join(project.folder, ALERTS))
    if not isinstance(value.get("due"), dict) or not isinstance(value.get("told"), list):
        return {}
    due = {id: at for id, at in value["due"].items() if isinstance(at, (int, float)) and not isinstance(at, bool)}
    return {"due": due, "told": [id for id in value["told"] if isinstance(id, str)]}


# --- marks ------------------------------------------------------------------------------------------------------------------------


MARKED_FILE = "marked.json"
PARTS = FORGOTTEN, MEMORY, RAG = ("forgotten", "memory", "rag")
BY_TOOL, BY_JOB = "tool", "job"
MARKED_NAMED = 5  # ids of a row
_MARKED_VERSION = 1
_LARGEST_S = 1e12  # seconds: in 30,000 years


def marked_rows(marks: Iterable[tuple[str, str, str, float]]) -> list[Marked]:
    """Return marks (project, who, id, when it is deleted in seconds) as rows, one for each project and who."""
    rows: dict[tuple[str, str], Marked] = {}
    for project, by, id, at in marks:
        row = rows.setdefault((project, by), {"project": project, "by": by, "count": 0, "ids": [], "first": at})
        row["count"] += 1
        row["first"] = min(row["first"], at)
        if len(row["ids"]) < MARKED_NAMED:
            row["ids"].append(id)
    return [rows[key] for key in sorted(rows)]


def replace_marked(popkit_home: str, part: str, rows: Callable[[], list[Marked]]) -> None:
    """Replace a part by the rows that `rows()` returns, called under the lock. OSError where that cannot be written."""
    path = join(popkit_home, DATA_FOLDER, MARKED_FILE)
    if not has_marked(popkit_home) and not rows():
        return
    files.make_private_folder(join(popkit_home, DATA_FOLDER))
    with files.Lock(path + ".lock"):
        parts, made = _marked_parts(path), rows()
        if parts.get(part, []) != made:
            files.replace_text(path, dumps({"version": _MARKED_VERSION, "parts": {**parts, part: made}}))


def has_marked(popkit_home: str) -> bool:
    """Return whether the file exists."""
    return files.is_there(join(popkit_home, DATA_FOLDER, MARKED_FILE))


def marked_of(popkit_home: str, project: str) -> list[tuple[str, Marked]]:
    """Return (part, row) of each mark of a project, by its key; nothing where the file cannot be read."""
    parts = _marked_parts(join(popkit_home, DATA_FOLDER, MARKED_FILE))
    return [(part, row) for part in PARTS for row in parts.get(part, ()) if row["project"] == project]


def _marked_parts(path: str) -> dict[str, list[Marked]]:
    value = files.read_object(path)
    parts = value.get("parts") if value.get("version") == _MARKED_VERSION else None
    if not isinstance(parts, dict):
        return {}
    return {part: [row for row in rows if _is_marked(row)] for part, rows in parts.items() if isinstance(rows, list)}


def _is_marked(row: object) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("project"), str)
        and row.get("by") in (BY_TOOL, BY_JOB)
        and all(number(row.get(name), _LARGEST_S) for name in ("count", "first"))
        and isinstance(row.get("ids"), list)
        and all(isinstance(id, str) for id in row["ids"])
    )
