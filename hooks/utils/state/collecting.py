"""Whether the hourly collection is to be started: a retention policy wants it (`auto_gc`), and the last one is an hour ago.

Collecting itself is `popkit retention gc --auto`'s, in a process of its own."""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps, loads
from ..io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "data/state"  # in our folder: governance's
POLICIES, NOTE = "retention-policies.json", "retention-hourly.json"
EVERY_S = 3600.0
WORDS = ("retention", "gc", "--auto", "--quiet")
HOOK = "retention"  # in the log


def wanted(popkit_home: str) -> bool:
    """Whether any policy has `auto_gc`: the user's of a domain, or one that a project has of its own. OSError, ValueError for a file that
    cannot be read."""
    said = files.read_text(join(popkit_home, FOLDER, POLICIES))
    policies = loads(said) if said else None
    if not isinstance(policies, dict):
        return False
    own = [each.get("config") for domain in _objects(policies.get("projects")) for each in _objects(domain)]
    return any(each.get("auto_gc") is True for each in (*_objects(policies), *_objects(own)))


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects among the values of an object, or in a list."""
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in found if isinstance(each, dict)]


def is_due(popkit_home: str, now: float) -> bool:
    """Whether an hour has passed since the last one began (seconds); also when the clock has leapt back behind it."""
    try:
        note = loads(files.read_text(note_path(popkit_home)) or "")
    except (OSError, ValueError):
        return True
    at = note.get("at") if isinstance(note, dict) else None
    return not isinstance(at, (int, float)) or not 0 <= now - at < EVERY_S


def note_path(popkit_home: str) -> str:
    """Where it stands when the last one began."""
    return join(popkit_home, FOLDER, NOTE)


def note(now: float) -> str:
    """The note of one that begins now (seconds)."""
    return dumps({"at": now})


def start(popkit_home: str, environ: Mapping[str, str], now: float) -> None:
    """Starts a child that collects, if one is to be. Fails open: what goes wrong stands in the log."""
    try:
        if wanted(popkit_home) and is_due(popkit_home, now):
            from ..io import children

            children.start(WORDS, environ)
    except (OSError, ValueError) as error:
        from ..io import failures  # seldom

        failures.record(environ, HOOK, error)
