"""Limits and what was used: /api/budgets. How an assembled context stands: /api/context/status."""

from typing import Annotated

from fastapi import APIRouter, Query

from ...context.build_types import ContextStatus
from ..desk import Desk
from ..shapes import Budgets
from .common import ASKING, failures


def router(desk: Desk) -> APIRouter:
    """From the database of the context builder."""
    made = APIRouter(tags=["spending"])

    @made.get("/api/budgets", response_model=Budgets, responses=failures(*ASKING, 503), summary="Limits, and usage by day")
    def budgets(user: Annotated[str, Query(max_length=400, description='Of whom; "" for all')] = "") -> Budgets:
        return desk.spending.budgets(user)

    @made.get(
        "/api/context/status", response_model=ContextStatus, responses=failures(*ASKING, 503), summary="The newest snapshot of a session"
    )
    def status(sessionId: Annotated[str, Query(min_length=1, max_length=400)]) -> ContextStatus:  # noqa: N803  the specification's name
        return desk.spending.status(sessionId)

    return made
