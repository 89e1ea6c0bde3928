"""The projects of long-term memory, as the page finds them by key."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import NamedTuple

from popkit_retention.core import text
from popkit_retention.core.io.codec import loads
from popkit_retention.core.io.files import names, read_text
from popkit_retention.core.io.repository import Repository
from popkit_retention.core.state import memory as memory_state

from ..dashboard.shapes import NotFound, StoreUnusable
from .memory import Memory
from .stores.protocol import StoreUnavailable
from .tile_shapes import MemoryProject, MemoryProjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dashboard.app_state import AppState

_SETTINGS_BYTES = 64 * 1024


class KnownProject(NamedTuple):
    """A project that memory knows: its key, its name, and the top folder of a checkout of it ("" where that is not known)."""

    key: str
    name: str
    root: str


def projects(app_state: AppState) -> MemoryProjects:
    """Return all projects that memory was ever on for, or that it has items of."""
    places = known_projects(app_state)
    items: dict[str, int] = {}
    with opened_memory(app_state, KnownProject("", "", "")) as memory:
        for total in memory.store.totals():
            items[total.project] = items.get(total.project, 0) + total.items
    for key in items:
        places.setdefault(key, KnownProject(key, key, ""))
    rows = [
        MemoryProject(project=place.key, name=text.clean(place.name), on=is_on(app_state, place), items=items.get(place.key, 0))
        for place in places.values()
        if place.key
    ]
    return MemoryProjects(projects=sorted(rows, key=lambda row: (-row.items, row.name, row.project)))


def known_projects(app_state: AppState) -> dict[str, KnownProject]:
    """Return key -> the project, for all projects that memory was ever switched on for."""
    folder = os.path.join(app_state.home, memory_state.FOLDER)
    places: dict[str, KnownProject] = {}
    for name in names(folder):
        try:
            settings = loads(read_text(os.path.join(folder, name, memory_state.SETTINGS), _SETTINGS_BYTES) or "")
        except (OSError, ValueError):
            continue  # none, or corrupt: `popkit memory on` writes it again
        if isinstance(settings, dict):
            texts = {key: value for key, value in settings.items() if isinstance(value, str)}
            places[name] = KnownProject(name, texts.get("name") or name, texts.get("root", ""))
    return places


def project_of_key(app_state: AppState, key: str) -> KnownProject:
    """Return the project of exactly this key; NotFound if there is none."""
    place = known_projects(app_state).get(key)
    if place is None:
        known = {row.project: row.name for row in projects(app_state).projects}
        if key not in known:
            raise NotFound("there is no memory of that project. GET /api/memory/projects lists all projects")
        place = KnownProject(key, known[key], "")
    return place


def project_state(app_state: AppState, place: KnownProject) -> memory_state.Project:
    return memory_state.Project(app_state.home, Repository(place.key, place.root, place.name))


def is_on(app_state: AppState, place: KnownProject) -> bool:
    try:
        return project_state(app_state, place).is_on()
    except OSError:
        return False


@contextmanager
def opened_memory(app_state: AppState, place: KnownProject) -> Iterator[Memory]:
    """Return the memory of a project; StoreUnusable where its store cannot be used."""
    try:
        memory = Memory.of(app_state.environ, place.root or os.sep, create=False)
        memory.project, memory.root = place.key, place.root
        memory.now = app_state.now
        try:
            yield memory
        finally:
            memory.close()
    except StoreUnavailable as error:
        raise StoreUnusable(str(error)) from None
