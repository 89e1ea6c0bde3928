"""Long-term memory by project: its items, what happens to each next, MEMORY.md as it would be now. Looking at an item does not count as an
access, or the page itself would preserve it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Query

from hooks.utils import text
from hooks.utils.io.codec import loads
from hooks.utils.io.files import names, read_text
from hooks.utils.io.repository import Repository
from hooks.utils.state import memory as memory_state
from hooks.utils.state.site import Site

from ..dashboard.failures import ASKING, CHANGING, failures
from ..dashboard.shapes import COLUMNS, NotFound, NotOffered, Offer, OperationResult, StoreUnusable
from ..dashboard.tile import Tile
from ..memory import item_views as memory_items
from ..memory.stores.protocol import StoreUnavailable
from ..views import ahead
from . import learning, transitions, valuation
from .holds import ItemOnHold
from .items import ARCHIVE, TIERS, BadItem, Item
from .memory import ItemNotFound as NoItem
from .memory import Memory
from .monitoring import PREVIEW, monitor
from .place import write_document
from .tile_shapes import (
    MemoryCandidate,
    MemoryItem,
    MemoryLevel,
    MemoryOperationRequest,
    MemoryOverview,
    MemoryProject,
    MemoryProjects,
    MemoryTierSum,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dashboard.app_state import AppState

_SETTINGS_BYTES = 64 * 1024
_TEXT = 2_000  # characters of an item
_ALERT = 80  # columns of an alert's text


class _Place(NamedTuple):
    """A project that memory knows: its key, its name, and the top folder of a checkout of it ("" where that is not known)."""

    key: str
    name: str
    root: str


def projects(app_state: AppState) -> MemoryProjects:
    """Return all projects that memory was ever on for, or that it has items of."""
    places = _places(app_state)
    items: dict[str, int] = {}
    with _opened(app_state, _Place("", "", "")) as memory:
        for total in memory.store.totals():
            items[total.project] = items.get(total.project, 0) + total.items
    for key in items:
        places.setdefault(key, _Place(key, key, ""))
    rows = [
        MemoryProject(project=each.key, name=text.clean(each.name), on=_is_on(app_state, each), items=items.get(each.key, 0))
        for each in places.values()
        if each.key
    ]
    return MemoryProjects(projects=sorted(rows, key=lambda each: (-each.items, each.name, each.project)))


def overview(app_state: AppState, key: str, tier: str, words: str, limit: int) -> MemoryOverview:
    """Return the memory of a project, with at most `limit` of the items that match, the most valuable first."""
    place = _place(app_state, key)
    budget = memory_state.tokens_of(Site(app_state.environ, "").config)
    with _opened(app_state, place) as memory:
        status: dict = memory.status()
        everything = memory.list((tier,) if tier else (), marked=None, most=None)
        wanted = [item for item in everything if all(word in item.text.lower() for word in words.lower().split())]
        rows = _Rows(memory)
        document = memory.document(budget)
        stored = monitor(memory.store, app_state.now(), key)
        return MemoryOverview(
            project=key,
            name=text.clean(place.name),
            folder=text.clean(place.root),
            on=_is_on(app_state, place),
            tiers=[MemoryTierSum.model_validate({"tier": name, **status["tiers"][name]}) for name in TIERS],
            levels=[MemoryLevel.model_validate(vars(level)) for level in stored.levels],
            demotion=[_candidate(item) for item in stored.demotion],
            archive=[_candidate(item) for item in stored.archive],
            items=[rows.of(item) for item in wanted[:limit]],
            total=len(wanted),
            alerts=[_alert(alert, app_state.now()) for alert in status["alerts"]],
            document=document.text,
            document_tokens=document.tokens,
            document_most=budget,
        )


def _candidate(item: Item) -> MemoryCandidate:
    return MemoryCandidate(id=item.id, text=text.cut(memory_items.label(item), PREVIEW), score=item.score, accesses=item.access_count)


def _alert(alert: dict, now: float) -> str:
    return f"{text.cut(text.clean(alert['text']), _ALERT)} (will be deleted {ahead(alert['at'], now)}; pin it to keep it)"


class _Rows:
    """Makes the row of each item; what all rows need is looked up once."""

    def __init__(self, memory: Memory) -> None:
        self._now = memory.now()
        self._session = learning.session_number(memory.store, memory.project)
        everything = sorted(memory.store.scan(memory.project, bare=True), key=lambda item: (item.created_at, item.id))
        self._newest = {item.id for item in everything[-transitions.NEWEST :]}

    def of(self, item: Item) -> MemoryItem:
        moment = transitions.Moment(self._now, self._session, item.id in self._newest)
        return MemoryItem(
            id=item.id,
            kind=item.kind,
            text=text.cut(memory_items.label(item), _TEXT),
            tier=item.tier,  # type: ignore[arg-type]  # a store holds no other
            score=item.score,
            retention=transitions.retention_of(item, moment),
            pinned=item.held,
            marked=item.marked_at is not None,
            waits=item.waits,
            written_at=item.created_at,
            accessed_at=item.last_accessed,
            next=self._next(item, moment),
            operations=_offered(item),
        )

    def _next(self, item: Item, moment: transitions.Moment) -> str:
        if item.marked_at is not None:
            return memory_items.standing(item, self._now)
        due = transitions.decide(transitions.standing_of(item, moment, valuation.score(item, self._now)))
        if due.marks or due.tier != item.tier:
            what = "will be forgotten" if due.marks else f"will move to {due.tier}"
            return f"{what} at the next run: {'; '.join(due.reasons)}"
        coming = transitions.foresee(item, moment, lambda at: valuation.score(item, at))
        decided = {**asdict(coming.decision), "at": coming.at} if coming else None
        return memory_items.following(item, decided, self._now)


# --- operations ---


def _offered(item: Item) -> list[Offer]:
    if item.marked_at is not None:
        return [Offer(id=f"undo {item.id}", label="Bring back", sum="it is kept, not deleted")]
    offered = [Offer(id=f"accept {item.id}", label="Accept", sum="MEMORY.md can include what an agent said here")] if item.waits else []
    if item.held:
        offered += [Offer(id=f"unpin {item.id}", label="Unpin", sum="its tier is chosen automatically again")]
    else:
        offered += [Offer(id=f"pin {item.id}", label="Pin", sum="it stays in its tier, neither compressed nor deleted, until you unpin it")]
    for word, label, neighbour in (("promote", "Move up", _above(item.tier)), ("demote", "Move down", _below(item.tier))):
        if neighbour and not (item.waits and neighbour == ARCHIVE):
            offered.append(Offer(id=f"{word} {item.id}", label=label, sum=f"from {item.tier} to {neighbour}"))
    consequence = "it is deleted for good in 24 h; until then you can bring it back"
    return [*offered, Offer(id=f"forget {item.id}", label="Forget", sum=consequence, danger=True)]


_ORDER = ("COLD", "WARM", "HOT", "ARCHIVE")  # each `promote` is one step to the right


def _above(tier: str) -> str:
    return _ORDER[_ORDER.index(tier) + 1] if tier != _ORDER[-1] else ""


def _below(tier: str) -> str:
    return _ORDER[_ORDER.index(tier) - 1] if tier != _ORDER[0] else ""


def do(app_state: AppState, key: str, id: str) -> OperationResult:
    """Run an operation that is offered on an item of a project; NotOffered for anything else."""
    place = _place(app_state, key)
    word, _, item_id = id.partition(" ")
    with app_state.changing, _opened(app_state, place) as memory:
        items = [item for item in memory.store.get([item_id]) if item.project == key] if item_id else []
        if not items or id not in {operation.id for operation in _offered(items[0])}:
            raise NotOffered("that is not offered now: the memory has changed, or the item has no such operation. Load it again")
        try:
            done = getattr(memory, word)([item_id])
        except (BadItem, NoItem, ItemOnHold) as error:
            return OperationResult(done=False, text=str(error))
        project = _project_of(app_state, place)
        if project.is_on():
            write_document(project, memory, Site(app_state.environ, "").config)
        lines = memory_items.changed(word, done, app_state.now(), "popkit memory")
    return OperationResult(done=True, text="\n".join(text.laid_out(lines, COLUMNS)))


# --- projects ---


def _places(app_state: AppState) -> dict[str, _Place]:
    """Return key -> the project, for all projects that memory was ever switched on for."""
    folder = os.path.join(app_state.home, memory_state.FOLDER)
    places: dict[str, _Place] = {}
    for name in names(folder):
        try:
            settings = loads(read_text(os.path.join(folder, name, memory_state.SETTINGS), _SETTINGS_BYTES) or "")
        except (OSError, ValueError):
            continue  # none, or corrupt: `popkit memory on` writes it again
        if isinstance(settings, dict):
            texts = {key: value for key, value in settings.items() if isinstance(value, str)}
            places[name] = _Place(name, texts.get("name") or name, texts.get("root", ""))
    return places


def _place(app_state: AppState, key: str) -> _Place:
    """Return the project of exactly this key; NotThere for none."""
    place = _places(app_state).get(key)
    if place is None:
        known = {each.project: each.name for each in projects(app_state).projects}
        if key not in known:
            raise NotFound("there is no memory of that project. GET /api/memory/projects lists all projects")
        place = _Place(key, known[key], "")
    return place


def _project_of(app_state: AppState, place: _Place) -> memory_state.Project:
    return memory_state.Project(app_state.home, Repository(place.key, place.root, place.name))


def _is_on(app_state: AppState, place: _Place) -> bool:
    try:
        return _project_of(app_state, place).is_on()
    except OSError:
        return False


@contextmanager
def _opened(app_state: AppState, place: _Place) -> Iterator[Memory]:
    """Return the memory of a project; Unusable where its store cannot be used."""
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


Tier = Literal["", "HOT", "WARM", "COLD", "ARCHIVE"]
_FILES = ("memory.sqlite", "memory.sqlite-wal", "memory")


class MemoryTile(Tile):
    """Long-term memory of all projects that it knows."""

    view = "memory"
    places = {"/api/memory": _FILES}

    def router(self) -> APIRouter:
        """Return the routes of long-term memory, of all projects that it knows."""
        router = APIRouter(tags=["memory"], prefix="/api/memory")

        @router.get("/projects", response_model=MemoryProjects, responses=failures(*ASKING, 503), summary="The projects that memory knows")
        def all_of_them() -> MemoryProjects:
            return projects(self.app_state)

        @router.get("", response_model=MemoryOverview, responses=failures(*ASKING, 503), summary="The memory of one")
        def one(
            project: Annotated[str, Query(min_length=1, max_length=4_000)],
            tier: Tier = "",
            q: Annotated[str, Query(max_length=400)] = "",
            limit: Annotated[int, Query(ge=1, le=500)] = 100,
        ) -> MemoryOverview:
            return overview(self.app_state, project, tier, q, limit)

        @router.post(
            "/operations",
            response_model=OperationResult,
            responses=failures(*CHANGING, 503),
            summary="Run an operation that was offered on an item",
        )
        def operate(request: MemoryOperationRequest) -> OperationResult:
            return do(self.app_state, request.project, request.id)

        return router
