"""The shapes of the dashboard's API for savings. See `shapes.py`."""

from typing import Optional

from .shapes import Figures, Shape


class WorthDay(Figures):
    day: str


class WorthProject(Shape):
    project: str
    sessions: int
    figures: Figures


class Stats(Shape):
    """`headline` and `lines`: what `popkit context stats` says. `figures`: of all sessions ever · `saved_by_usd` by gain and
    `cost_by_usd` by cause, in dollars, None where no price is known; `gains` and `causes`: what people call each."""

    headline: str
    lines: list[str]
    days: list[WorthDay]
    projects: list[WorthProject]
    figures: Figures
    saved_by_usd: dict[str, Optional[float]]
    cost_by_usd: dict[str, Optional[float]]
    gains: dict[str, str]
    causes: dict[str, str]
