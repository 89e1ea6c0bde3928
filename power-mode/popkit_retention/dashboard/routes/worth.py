"""What PopKit was worth: /api/stats."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..desk import Desk
from ..shapes import Stats
from ..worth import Worth
from .common import ASKING, failures


def router(desk: Desk) -> APIRouter:
    """Over all sessions of this home."""
    made = APIRouter(tags=["worth"])
    worth = Worth(desk)

    @made.get("/api/stats", response_model=Stats, responses=failures(*ASKING), summary="By day, project and cause")
    def stats(days: Annotated[int, Query(ge=1, le=366)] = 8) -> Stats:
        return worth.stats(days)

    return made
