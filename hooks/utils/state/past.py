"""Keep the counters of sessions whose folders are gone, for the statistics."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import as_object, as_objects, dumps, loads, text_in_field
from ..io.system import join
from . import session, stored_contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAST = "past.jsonl"


def note_past(popkit_home: str, name: str) -> None:
    """Keep the counters of a session that is about to go, and a digest of its project's name."""
    contexts = []
    for paths in stored_contexts.contexts_of(popkit_home, name):
        try:
            state = as_object(loads(files.read_text(paths.state) or "null"))
        except ValueError:
            continue
        if state:
            contexts.append({key: state.get(key) for key in ("agent_id", "calibration", "counts")})
    if contexts:
        project = session.read(popkit_home, name).project or ""
        entry = {"session": name, "project": project and home.safe_name(project), "contexts": contexts}
        files.append_text(join(popkit_home, PAST), dumps(entry) + "\n")


def past(popkit_home: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return (safe name of its project, the rest of its contexts' states) of each session whose folder was swept and has not come back
    since."""
    known: dict[str, tuple[str, list[dict[str, Any]]]] = {}
    for line in (files.read_text(join(popkit_home, PAST)) or "").splitlines():
        try:
            entry = as_object(loads(line))
        except ValueError:
            continue  # a line that a kill cut short
        contexts = entry.get("contexts")
        if text_in_field(entry, "session") and isinstance(contexts, list):
            known[entry["session"]] = text_in_field(entry, "project"), as_objects(contexts)
    here = set(stored_contexts.folders(popkit_home))
    return [each for name, each in known.items() if name not in here]
