"""GET /api/changes."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..changes import Lookout
from ..desk import Desk
from ..shapes import Changes
from .common import ASKING, failures

_SINCE = "The token of an earlier answer; without one, or with that of another start, everything may have changed"


def router(desk: Desk) -> APIRouter:
    """What a page that is looked at asks once a second."""
    made = APIRouter(tags=["server"])
    lookout = Lookout(desk)

    @made.get("/api/changes", response_model=Changes, responses=failures(*ASKING), summary="What has changed since a token was given")
    def changes(since: Annotated[str, Query(max_length=100, description=_SINCE)] = "") -> Changes:
        return lookout.since(since)

    return made
