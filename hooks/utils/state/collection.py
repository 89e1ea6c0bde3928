"""Tell whether `popkit retention gc --auto` is due, which collects while a retention policy wants it (`auto_gc`)."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import as_object, as_objects, dumps, loads, seconds
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLICIES, NOTE = "retention-policies.json", "retention-hourly.json"  # in governance's folder
COLLECT_EVERY_S = 3600.0


def is_collection_wanted(popkit_home: str) -> bool:
    """Return whether any policy has `auto_gc`: the user's of a domain, or one of a project. OSError, ValueError where the file cannot be
    read."""
    text = files.read_text(join(popkit_home, home.GOVERNANCE, POLICIES))
    policies = as_object(loads(text)) if text else {}
    of_projects = [each.get("config") for domain in _objects(policies.get("projects")) for each in _objects(domain)]
    return any(each.get("auto_gc") is True for each in (*_objects(policies), *_objects(of_projects)))


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the objects among the values of an object, or in a list."""
    return as_objects([*value.values()] if isinstance(value, dict) else value)


def is_collection_due(popkit_home: str, now: float) -> bool:
    """Return whether an hour has passed since the last collection began (seconds), or the clock was set back behind it."""
    at = seconds(files.read_object(collection_note_path(popkit_home)).get("at"))
    return at is None or not 0 <= now - at < COLLECT_EVERY_S


def collection_note_path(popkit_home: str) -> str:
    """Return the path of the note that says when the last collection began."""
    return join(popkit_home, home.GOVERNANCE, NOTE)


def collection_note(now: float) -> str:
    """Return the note of a collection that begins now (seconds)."""
    return dumps({"at": now})
