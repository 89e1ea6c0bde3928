"""GET /api/events."""

from typing import Any

from fastapi import APIRouter, Response

from ..stream import EventStream, Streams
from .common import ASKING, failures

_SAID: dict[Any, dict[str, Any]] = {
    200: {
        "description": "Each Event as the `data` of an event of its type's name.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def router(streams: Streams) -> APIRouter:
    """The stream of what changes."""
    made = APIRouter(tags=["server"])

    @made.get("/api/events", response_class=Response, responses={**_SAID, **failures(*ASKING)}, summary="What changes, as it does")
    async def events() -> Response:
        return EventStream(streams)

    return made
