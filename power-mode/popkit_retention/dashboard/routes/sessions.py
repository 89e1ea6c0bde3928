"""The sessions: /api/sessions and what is below it."""

from typing import Annotated, Optional

from fastapi import APIRouter, Path, Query

from .. import deeds, detail
from ..desk import Desk
from ..series import MOST
from ..sessions import listed
from ..shapes import COLUMNS, Content, DeedAsked, DeedDone, ResultDetail, Series, SessionDetail, Sessions
from .common import ASKING, CHANGING, Id, failures


def router(desk: Desk) -> APIRouter:
    """Of all sessions that have a transcript here, or something stored."""
    made = APIRouter(tags=["sessions"], prefix="/api/sessions")

    @made.get("", response_model=Sessions, responses=failures(*ASKING), summary="Running ones first, then the newest")
    def all_of_them(
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        running: Optional[bool] = None,
        project: Annotated[str, Query(max_length=4_000)] = "",
        q: Annotated[str, Query(max_length=400, description="Words of title, project or id")] = "",
    ) -> Sessions:
        return listed(desk, limit, offset, running, project, q)

    @made.get("/{id}", response_model=SessionDetail, responses=failures(*ASKING, 503), summary="One session")
    def one(id: Id, columns: Annotated[int, Query(ge=60, le=110, description="Of the panel")] = COLUMNS) -> SessionDetail:
        row = desk.other(id)
        return detail.of_others(desk, row) if row else detail.detail(desk, desk.session(id), columns)

    @made.get("/{id}/series", response_model=Series, responses=failures(*ASKING, 503), summary="The context over time")
    def series(id: Id) -> Series:
        if desk.other(id):
            return desk.spending.series(id, MOST)
        with desk.looks.reading(desk.session(id)) as looked:
            made_of = looked.outlook.made
            return looked.sampler.series(made_of.conversation, looked.report) if made_of else Series(points=[])

    @made.get("/{id}/results/{number}", response_model=ResultDetail, responses=failures(*ASKING), summary="One result, and why")
    def result(id: Id, number: Annotated[int, Path(ge=1, le=999_999_999)]) -> ResultDetail:
        return detail.result(desk, desk.session(id), number)

    @made.get("/{id}/content/{handle}", response_model=Content, responses=failures(*ASKING), summary="What is archived")
    def content(id: Id, handle: Annotated[str, Path(min_length=1, max_length=100)]) -> Content:
        return detail.content(desk, desk.session(id), handle)

    @made.post("/{id}/deeds", response_model=DeedDone, responses=failures(*CHANGING, 503), summary="Do what was offered")
    def deed(id: Id, asked: DeedAsked) -> DeedDone:
        return deeds.do(desk, desk.session(id), asked.id, asked.why)

    return made
