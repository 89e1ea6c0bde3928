"""The routes of the API, a router for each part of it."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Path, Query
from pydantic import BeforeValidator

from . import session_details, session_operations
from .changes import ChangeFeed
from .failures import ASKING, CHANGING, failures
from .request_samples import MOST
from .session_list import listed
from .session_shapes import Content, Lost, ResultDetail, Series, SessionDetail, Sessions
from .shapes import COLUMNS, Changes, Me, OperationRequest, OperationResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app_state import AppState
    from .security import Access

# In a path, it replaces a slash that was written %2F, which is part of an id and does not end it. No id of ours can have this character.
WITHIN = "\0"
Id = Annotated[
    str,
    BeforeValidator(lambda written: written.replace(WITHIN, "/")),
    Path(min_length=1, max_length=400, description="A session's id, whole"),
]
OWN_VIEW = "sessions"  # of the page itself; all others are views of tiles


def routers(state: AppState, access: Access, version: str) -> list[APIRouter]:
    """Return the routers of all parts."""
    return [_server(state, access, version), _sessions(state), *(tile.router() for tile in state.tiles)]


_SINCE = "The token of an earlier answer; without one, or with one of another start, everything may have changed"


def _server(app_state: AppState, access: Access, version: str) -> APIRouter:
    """Return the routes of the server itself: what the page requests first, and what it asks every second while it is visible."""
    router = APIRouter(tags=["server"])
    feed = ChangeFeed(app_state)

    @router.get("/api/me", response_model=Me, responses=failures(*ASKING), summary="Version, places, the token that changes need")
    def me() -> Me:
        database, shared = app_state.database()
        views = [OWN_VIEW, *(tile.view for tile in app_state.tiles if tile.view)]
        return Me(version=version, home=app_state.home, database=database, shared=shared, change_token=access.change_token, views=views)

    @router.get("/api/changes", response_model=Changes, responses=failures(*ASKING), summary="What has changed since a token was given")
    def changes(since: Annotated[str, Query(max_length=100, description=_SINCE)] = "") -> Changes:
        return feed.since(since)

    return router


def _sessions(app_state: AppState) -> APIRouter:
    """Return the routes of sessions: those with a transcript here, and those with stored data."""
    router = APIRouter(tags=["sessions"], prefix="/api/sessions")

    @router.get("", response_model=Sessions, responses=failures(*ASKING), summary="Running ones first, then the newest")
    def all_of_them(
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        running: Optional[bool] = None,
        project: Annotated[str, Query(max_length=4_000)] = "",
        q: Annotated[str, Query(max_length=400, description="Words of title, project or id")] = "",
    ) -> Sessions:
        return listed(app_state, limit, offset, running, project, q)

    @router.get("/{id}", response_model=SessionDetail, responses=failures(*ASKING, 503), summary="One session")
    def one(id: Id, columns: Annotated[int, Query(ge=60, le=110, description="Of the panel")] = COLUMNS) -> SessionDetail:
        other = app_state.other(id)
        return session_details.of_other(app_state, *other) if other else session_details.detail(app_state, app_state.session(id), columns)

    @router.get("/{id}/series", response_model=Series, responses=failures(*ASKING, 503), summary="The context over time")
    def series(id: Id) -> Series:
        if other := app_state.other(id):
            return other[0].series(id, MOST)
        with app_state.contexts.reading(app_state.session(id)) as cached:
            rebuilt = cached.outlook.rebuilt
            return cached.sampler.series(rebuilt.conversation, cached.report) if rebuilt else Series(points=[])

    @router.get("/{id}/results/{number}", response_model=ResultDetail, responses=failures(*ASKING), summary="One result, and why")
    def result(id: Id, number: Annotated[int, Path(ge=1, le=999_999_999)]) -> ResultDetail:
        return session_details.result(app_state, app_state.session(id), number)

    @router.get("/{id}/lost", response_model=Lost, responses=failures(*ASKING, 503), summary="What the newest compaction lost")
    def lost(id: Id) -> Lost:
        return Lost() if app_state.other(id) else session_details.lost(app_state, app_state.session(id))

    @router.get("/{id}/content/{handle}", response_model=Content, responses=failures(*ASKING), summary="An archived content")
    def content(id: Id, handle: Annotated[str, Path(min_length=1, max_length=100)]) -> Content:
        return session_details.content(app_state, app_state.session(id), handle)

    @router.post(
        "/{id}/operations", response_model=OperationResult, responses=failures(*CHANGING, 503), summary="Run an operation that was offered"
    )
    def operate(id: Id, request: OperationRequest) -> OperationResult:
        return session_operations.do(app_state, app_state.session(id), request.id, request.why)

    return router
