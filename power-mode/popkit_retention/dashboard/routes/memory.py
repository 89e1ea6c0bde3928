"""Long-term memory: /api/memory."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from .. import memories
from ..desk import Desk
from ..shapes import DeedDone, MemoryDeedAsked, MemoryOverview, MemoryProjects
from .common import ASKING, CHANGING, failures

Tier = Literal["", "HOT", "WARM", "COLD", "ARCHIVE"]


def router(desk: Desk) -> APIRouter:
    """Of all projects that memory knows."""
    made = APIRouter(tags=["memory"], prefix="/api/memory")

    @made.get("/projects", response_model=MemoryProjects, responses=failures(*ASKING, 503), summary="Those that memory knows")
    def projects() -> MemoryProjects:
        return memories.projects(desk)

    @made.get("", response_model=MemoryOverview, responses=failures(*ASKING, 503), summary="What is remembered of one")
    def overview(
        project: Annotated[str, Query(min_length=1, max_length=4_000)],
        tier: Tier = "",
        q: Annotated[str, Query(max_length=400)] = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> MemoryOverview:
        return memories.overview(desk, project, tier, q, limit)

    @made.post("/deeds", response_model=DeedDone, responses=failures(*CHANGING, 503), summary="Do what was offered of an item")
    def deed(asked: MemoryDeedAsked) -> DeedDone:
        return memories.do(desk, asked.project, asked.id)

    return made
