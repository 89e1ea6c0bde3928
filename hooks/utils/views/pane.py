"""The pane's first page: the verdict, what PopKit came to, what would leave, and then the tiers, for the columns and rows there are. A
report in, lines out."""

from __future__ import annotations

from .. import text
from ..policy.planning import CLEAR
from . import panel, phrases, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Columns below which the pane's tabs have no room for how long the cache stays warm.
TABS = 57
_LEAST_LEAVING = 3  # results that are named, however few rows there are
_TOKENS = 6


def head(report: dict[str, Any]) -> list[str]:
    """What to do now: stands above what can be done."""
    return text.wrap(verdict.in_words(report))


def lines(report: dict[str, Any], rows: int) -> list[str]:
    """All below that; what matters is in the first `rows` of them."""
    above = [*panel.context(report), *panel.came_to(report)]
    told = [*above, *_leaving(report, rows - len(above))]
    return [*told, "", *panel.table(report), *panel.expired(report), *panel.rest(report, text.WIDTH >= TABS), *panel.notes(report)]


def _leaving(report: dict[str, Any], rows: int) -> list[str]:
    """What a clear would take, the largest first, as many as there are rows for."""
    said = panel.reclaimable(report)
    now = report["reclaimable"]["now"]["items"]
    at = "action" if now else "cold"
    going = [row for row in report["results"] if row["plan"] and row["plan"][at] == CLEAR]
    if not report["reclaimable"]["now" if now else "cold"]["items"]:
        return said
    going.sort(key=lambda row: (-row["tokens"], row["number"]))
    room = max(_LEAST_LEAVING, rows - len(said))
    shown = going if len(going) <= room else going[: room - 1]
    for row in shown:
        start = f"{text.tokens(row['tokens']):>{_TOKENS}}  {phrases.number(row)} "
        said.append(start + phrases.label(row, text.WIDTH - len(start)))
    if len(shown) < len(going):
        rest = sum(row["tokens"] for row in going[len(shown) :])
        said.append(f"{text.tokens(rest):>{_TOKENS}}  in {len(going) - len(shown):,} more")
    return said
