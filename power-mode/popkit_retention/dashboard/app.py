"""The ASGI application: the API, its OpenAPI document, the files of the page. Every error is answered as {"error": …}, never with a
traceback."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from popkit_retention.core.reclaim.access import ClearRefused

from .failures import REFERENCES
from .page_files import PageFiles
from .routes import WITHIN, routers
from .security import CHANGE_HEADER, UNFORESEEN, Guard
from .shapes import Failure, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from .app_state import AppState
    from .security import Access, Receive, Scope, Send
    from .tile import Tile

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
_MESSAGES = {
    404: "there is nothing at this address. GET /api/openapi.json lists what there is",
    405: "this address does not take that method",
}

_CHANGE = {"name": CHANGE_HEADER, "in": "header", "required": True, "schema": {"type": "string"}, "description": "From GET /api/me"}


def application(app_state: AppState, access: Access, version: str, page: str = PAGE) -> Guard:
    """Return the ASGI application, with its guard before it."""
    api, files = _api(app_state, access, version), _files(page, app_state.tiles)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope.get("path", "").startswith("/api/")
        await (api({**scope, "path": _in_parts(scope)}, receive, send) if is_api else files(scope, receive, send))

    return Guard(either, access, app_state.failure)


def _in_parts(scope: Scope) -> str:
    """Return the path of a request, with only those slashes that were written as slashes."""
    return "/".join(unquote(part).replace("/", WITHIN) for part in scope["raw_path"].decode("latin-1").split("/"))


def _files(page: str, tiles: list[Tile]) -> FastAPI:
    """Return the files of the page, apart from the API: a missing file is not an unsupported method."""
    files = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    if os.path.isdir(page):
        files.mount("/", PageFiles(page, tiles))
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


def _document(api: FastAPI) -> dict[str, object]:
    """Return the OpenAPI document, with the authorisation, and without answers that we never give."""
    if api.openapi_schema:
        return api.openapi_schema
    document = get_openapi(title=api.title, version=api.version, routes=api.routes, description="What PopKit knows, on this machine only.")
    for path in document["paths"].values():
        for method, operation in path.items():
            operation["responses"].pop("422", None)
            operation["security"] = [{"token": []}]
            if method == "post":
                operation.setdefault("parameters", []).append(_CHANGE)
    schemas = document["components"]["schemas"]
    schemas[Failure.__name__] = Failure.model_json_schema(ref_template=REFERENCES)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    api.openapi_schema = document
    return document
