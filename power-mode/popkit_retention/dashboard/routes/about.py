"""GET /api/me."""

from fastapi import APIRouter

from ..desk import Desk
from ..security import Access
from ..shapes import Me
from .common import ASKING, failures


def router(desk: Desk, access: Access, version: str) -> APIRouter:
    """What the page asks first."""
    made = APIRouter(tags=["server"])

    @made.get("/api/me", response_model=Me, responses=failures(*ASKING), summary="Version, places, the token that changes need")
    def me() -> Me:
        database, shared = desk.spending.place()
        return Me(version=version, home=desk.home, database=database, shared=shared, change_token=access.change_token)

    return made
