"""The ASGI application: the API with its routes, one function for each part, its OpenAPI document, the page. Every error is answered as
{"error": …}, never with a traceback."""

from __future__ import annotations

import os
from typing import Annotated, Any, Optional
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Path, Query
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from popkit_retention.core.reclaim.access import ClearRefused

from . import session_details, session_operations
from .changes import ChangeFeed
from .failures import ASKING, CHANGING, REFERENCES, failures
from .request_samples import MOST
from .savings import SavingsReport
from .security import CHANGE_HEADER, UNFORESEEN, Guard
from .session_list import listed
from .shapes import (
    COLUMNS,
    Changes,
    Content,
    Failure,
    Me,
    OperationRequest,
    OperationResult,
    Problem,
    ResultDetail,
    Series,
    SessionDetail,
    Sessions,
)
from .stored_shapes import Budgets, Stats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from .app_state import AppState
    from .security import Access, Receive, Scope, Send

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
_MESSAGES = {
    404: "there is nothing at this address. GET /api/openapi.json lists what there is",
    405: "this address does not take that method",
}


def application(app_state: AppState, access: Access, version: str, page: str = PAGE) -> Guard:
    """Return the ASGI application, with its guard before it."""
    api, files = _api(app_state, access, version), _files(page)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope.get("path", "").startswith("/api/")
        await (api({**scope, "path": _in_parts(scope)}, receive, send) if is_api else files(scope, receive, send))

    return Guard(either, access, app_state.failure)


def _in_parts(scope: Scope) -> str:
    """Return the path of a request, with only those slashes that were written as slashes."""
    return "/".join(unquote(part).replace("/", WITHIN) for part in scope["raw_path"].decode("latin-1").split("/"))


def _files(page: str) -> FastAPI:
    """Return the files of the page, apart from the API: a missing file is not an unsupported method."""
    files = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    if os.path.isdir(page):
        files.mount("/", StaticFiles(directory=page, html=True))
    _handle_errors(files)
    return files


def _api(app_state: AppState, access: Access, version: str) -> FastAPI:
    api = FastAPI(
        title="PopKit dashboard", version=version, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", redirect_slashes=False
    )
    for router in routers(app_state, access, version):
        api.include_router(router)
    _handle_errors(api)
    api.openapi = lambda: _document(api)  # type: ignore[method-assign]
    return api


def _handle_errors(api: FastAPI) -> None:
    async def problem(_request: Request, error: Any) -> JSONResponse:
        return _failure(error.status, str(error))

    async def refused(_request: Request, error: Any) -> JSONResponse:
        return _failure(409, str(error))

    async def invalid(_request: Request, error: Any) -> JSONResponse:
        return _failure(400, _message_of(error))

    async def of_http(_request: Request, error: Any) -> JSONResponse:
        return _failure(error.status_code, _MESSAGES.get(error.status_code, str(error.detail)), error.headers)

    async def unforeseen(_request: Request, _error: Exception) -> JSONResponse:
        return _failure(500, UNFORESEEN)  # the guard notes it

    api.add_exception_handler(Problem, problem)
    api.add_exception_handler(ClearRefused, refused)
    api.add_exception_handler(RequestValidationError, invalid)
    api.add_exception_handler(HTTPException, of_http)
    api.add_exception_handler(Exception, unforeseen)


def _failure(status: int, message: str, headers: Any = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)


def _message_of(error: RequestValidationError) -> str:
    """Return the first fault of a request: the part, and what it should be."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"] == "json_invalid":
        return "the body is not JSON"
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _document(api: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the authorisation, and without answers that we never give."""
    if api.openapi_schema:
        return api.openapi_schema
    document = get_openapi(title=api.title, version=api.version, routes=api.routes, description="What PopKit knows, on this machine only.")
    for path in document["paths"].values():
        for method, operation in path.items():
            operation["responses"].pop("422", None)
            operation["security"] = [{"token": []}]
            if method == "post":
                operation.setdefault("parameters", []).append(
                    {
                        "name": CHANGE_HEADER,
                        "in": "header",
                        "required": True,
                        "schema": {"type": "string"},
                        "description": "From GET /api/me",
                    }
                )
    schemas = document["components"]["schemas"]
    schemas[Failure.__name__] = Failure.model_json_schema(ref_template=REFERENCES)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    api.openapi_schema = document
    return document


# --- routes ---


# In a path, it replaces a slash that was written %2F, which is part of an id and does not end it. No id of ours can have this character.
WITHIN = "\0"
Id = Annotated[
    str,
    BeforeValidator(lambda written: written.replace(WITHIN, "/")),
    Path(min_length=1, max_length=400, description="A session's id, whole"),
]


OWN_VIEWS = ("sessions", "budgets", "stats")  # of the page, beside those of tiles


def routers(state: AppState, access: Access, version: str) -> list[APIRouter]:
    """Return the routers of all parts."""
    return [
        _server(state, access, version),
        _sessions(state),
        *(tile.router() for tile in state.tiles),
        _spending(state),
    ]


_SINCE = "The token of an earlier answer; without one, or with one of another start, everything may have changed"


def _server(app_state: AppState, access: Access, version: str) -> APIRouter:
    """Return the routes of the server itself: what the page requests first, and what it asks every second while it is visible."""
    router = APIRouter(tags=["server"])
    feed = ChangeFeed(app_state)

    @router.get("/api/me", response_model=Me, responses=failures(*ASKING), summary="Version, places, the token that changes need")
    def me() -> Me:
        database, shared = app_state.spending.place()
        views = [*OWN_VIEWS, *(tile.view for tile in app_state.tiles if tile.view)]
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
        row = app_state.other(id)
        return session_details.of_others(app_state, row) if row else session_details.detail(app_state, app_state.session(id), columns)

    @router.get("/{id}/series", response_model=Series, responses=failures(*ASKING, 503), summary="The context over time")
    def series(id: Id) -> Series:
        if app_state.other(id):
            return app_state.spending.series(id, MOST)
        with app_state.contexts.reading(app_state.session(id)) as cached:
            rebuilt = cached.outlook.rebuilt
            return cached.sampler.series(rebuilt.conversation, cached.report) if rebuilt else Series(points=[])

    @router.get("/{id}/results/{number}", response_model=ResultDetail, responses=failures(*ASKING), summary="One result, and why")
    def result(id: Id, number: Annotated[int, Path(ge=1, le=999_999_999)]) -> ResultDetail:
        return session_details.result(app_state, app_state.session(id), number)

    @router.get("/{id}/content/{handle}", response_model=Content, responses=failures(*ASKING), summary="An archived content")
    def content(id: Id, handle: Annotated[str, Path(min_length=1, max_length=100)]) -> Content:
        return session_details.content(app_state, app_state.session(id), handle)

    @router.post(
        "/{id}/operations", response_model=OperationResult, responses=failures(*CHANGING, 503), summary="Run an operation that was offered"
    )
    def operate(id: Id, request: OperationRequest) -> OperationResult:
        return session_operations.do(app_state, app_state.session(id), request.id, request.why)

    return router


def _spending(app_state: AppState) -> APIRouter:
    """Return the routes of limits and usage, and of the savings over all sessions in this folder."""
    router = APIRouter()
    worth = SavingsReport(app_state)

    @router.get(
        "/api/budgets", tags=["spending"], response_model=Budgets, responses=failures(*ASKING, 503), summary="Limits, and usage by day"
    )
    def budgets(user: Annotated[str, Query(max_length=400, description='Whose usage; "" for that of all users')] = "") -> Budgets:
        return app_state.spending.budgets(user)

    @router.get("/api/stats", tags=["worth"], response_model=Stats, responses=failures(*ASKING), summary="By day, project and cause")
    def stats(days: Annotated[int, Query(ge=1, le=366)] = 8) -> Stats:
        return worth.stats(days)

    return router
