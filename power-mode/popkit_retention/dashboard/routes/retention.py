"""What stored data may be deleted: /api/retention."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..desk import Desk
from ..shapes import DeedDone, RetentionDeedAsked, RetentionLog, RetentionOverview
from .common import ASKING, CHANGING, failures


def router(desk: Desk) -> APIRouter:
    """Of this home."""
    made = APIRouter(tags=["retention"], prefix="/api/retention")
    retention = desk.retention

    @made.get("", response_model=RetentionOverview, responses=failures(*ASKING, 503), summary="Policies, marks, holds, zones, sizes")
    def overview() -> RetentionOverview:
        return retention.overview()

    @made.get("/log", response_model=RetentionLog, responses=failures(*ASKING, 503), summary="What was done, newest first")
    def log(limit: Annotated[int, Query(ge=1, le=1_000)] = 50) -> RetentionLog:
        return retention.log(limit)

    @made.post("/deeds", response_model=DeedDone, responses=failures(*CHANGING, 503), summary="Do what was offered, or hold a session")
    def deed(asked: RetentionDeedAsked) -> DeedDone:
        return retention.do(asked.id, asked.session, asked.why, asked.until)

    return made
