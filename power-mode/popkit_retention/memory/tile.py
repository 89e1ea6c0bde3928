"""Long-term memory by project: its items, what happens to each next, MEMORY.md as it would be now. Looking at an item does not count as an
access, or the page itself would preserve it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from popkit_retention.core import text
from popkit_retention.core.state import memory as memory_state
from popkit_retention.core.state.site import Site

from ..dashboard.failures import ASKING, CHANGING, failures
from ..dashboard.shapes import OperationResult
from ..dashboard.tile import Tile
from ..views import ahead
from . import item_report, item_views, stored_lessons, transitions, valuation
from .items import TIERS, Item
from .memory import Memory
from .monitoring import PREVIEW, monitor
from .tile_operations import do, offered
from .tile_projects import is_on, opened_memory, project_of_key, projects
from .tile_shapes import (
    MemoryCandidate,
    MemoryItem,
    MemoryLevel,
    MemoryOperationRequest,
    MemoryOverview,
    MemoryProjects,
    MemoryTierSum,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..dashboard.app_state import AppState


_TEXT = 2_000  # characters of an item
_ALERT = 80  # columns of an alert's text


def overview(app_state: AppState, key: str, tier: str, words: str, limit: int) -> MemoryOverview:
    """Return the memory of a project, with at most `limit` of the items that match, the most valuable first."""
    place = project_of_key(app_state, key)
    budget = memory_state.tokens_of(Site(app_state.environ, "").config)
    with opened_memory(app_state, place) as memory:
        status: dict = memory.status()
        everything = memory.list((tier,) if tier else (), marked=None, most=None)
        wanted = [item for item in everything if all(word in item.text.lower() for word in words.lower().split())]
        rows = _Rows(memory)
        document = memory.document(budget)
        stored = monitor(memory.store, app_state.now(), key, memory.policies)
        return MemoryOverview(
            project=key,
            name=text.clean(place.name),
            folder=text.clean(place.root),
            on=is_on(app_state, place),
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
    return MemoryCandidate(id=item.id, text=text.cut(item_views.label(item), PREVIEW), score=item.score, accesses=item.access_count)


def _alert(alert: dict, now: float) -> str:
    return f"{text.cut(text.clean(alert['text']), _ALERT)} (will be deleted {ahead(alert['at'], now)}; pin it to keep it)"


class _Rows:
    """Makes the row of each item; what all rows need is looked up once."""

    def __init__(self, memory: Memory) -> None:
        self._now = memory.now()
        self._policies = memory.policies
        self._session = stored_lessons.session_number(memory.store, memory.project)
        everything = sorted(memory.store.scan(memory.project, bare=True), key=lambda item: (item.created_at, item.id))
        self._newest = {item.id for item in everything[-memory.policies.hot_newest :]}

    def of(self, item: Item) -> MemoryItem:
        moment = transitions.Moment(self._now, self._session, item.id in self._newest, self._policies)
        return MemoryItem(
            id=item.id,
            kind=item.kind,
            text=text.cut(item_views.label(item), _TEXT),
            tier=item.tier,  # type: ignore[arg-type]  # a store holds no other
            score=item.score,
            retention=transitions.retention_of(item, moment),
            pinned=item.held,
            marked=item.marked_at is not None,
            waits=item.waits,
            written_at=item.created_at,
            accessed_at=item.last_accessed,
            next=self._next(item, moment),
            operations=offered(item),
        )

    def _next(self, item: Item, moment: transitions.Moment) -> str:
        if item.marked_at is not None:
            return item_views.standing(item, self._now)
        due = transitions.decide(transitions.standing_of(item, moment, valuation.score(item, self._now)))
        if due.marks or due.tier != item.tier:
            what = "will be forgotten" if due.marks else f"will move to {due.tier}"
            return f"{what} at the next run: {'; '.join(due.reasons)}"
        coming = transitions.foresee(item, moment, lambda at: valuation.score(item, at))
        decided = {**asdict(coming.decision), "at": coming.at} if coming else None
        return item_report.following(item, decided, self._now)


Tier = Literal["", "HOT", "WARM", "COLD", "ARCHIVE"]
_FILES = ("memory.sqlite", "memory.sqlite-wal", "memory")


class MemoryTile(Tile):
    """Long-term memory of all projects that it knows."""

    view = "memory"
    title = "Memory"
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
