"""The pages of the pane: what the context holds now, its results one by one, what was saved. Lines, choices and deeds. Pure."""

from __future__ import annotations

from .. import text
from ..operations import offers
from ..views import panel, phrases, results, timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..operations.offers import Offer
    from ..views.report_shapes import Report, ResultRow

NOW, RESULTS, SAVED, SETTINGS = "now", "results", "saved", "settings"
# id -> (label, the key that opens it).
TITLES = {NOW: ("Now", "1"), RESULTS: ("Results", "2"), SAVED: ("Saved", "3"), SETTINGS: ("Settings", "4")}
_LABEL = 48
TABS = 1  # rows above all else
_CLEARED = "archived first; undo brings it back"  # the verdict above it says what leaves
COMMAND = "/popkit"


def page(name: str, report: Report, chosen: str, width: int, rows: int, question: str = "") -> dict[str, Any]:
    """`pages`, the `page` that is shown, its `head` (lines above the deeds) and `lines`, `choices` (None for none) and `deeds`. `chosen`:
    the id of the result looked at; `width`, `rows`: columns and rows of the pane; `question`: about compacting when the cache is cold, ""
    for none. What was saved, and the settings, are not in a report: their pages are without lines here."""
    shown = name if name in TITLES else NOW
    row = next((row for row in report["results"] if row["id"] == chosen), None)
    offered: list[Offer] = offers.of_context(report)
    choices: dict[str, Any] | None = None
    head: list[str] = []
    if shown == RESULTS:
        lines, choices = _results(report, row, width)
        offered = offers.of_result(row, not report["doubt"]) if row else []
    elif shown in (SAVED, SETTINGS):
        lines, offered = [], [deed for deed in offered if deed.id == "undo" and shown == SAVED]
    else:
        head = text.laid_out(panel.pane_head(report), width)
        offered = [deed._replace(sum=_CLEARED) if deed.id == "clear" else deed for deed in offered] + offers.of_cold(question)
        lines = text.laid_out(panel.pane_lines(report, width, rows - TABS - len(head) - len(offered)), width)
    return {
        "pages": [{"id": id, "label": label, "key": key} for id, (label, key) in TITLES.items()],
        "page": shown,
        "head": head,
        "lines": lines[1:] if lines and not lines[0] else lines,
        "choices": choices,
        "deeds": offers.to_json(offered),
    }


def _results(report: Report, row: ResultRow | None, width: int) -> tuple[list[str], dict[str, Any] | None]:
    """(what is thought of the chosen result, and the timeline; what can be chosen: the newest first)."""
    lines = text.laid_out(timeline.timeline(report, folds=True), width)
    newest = report["results"][: -timeline.LAST - 1 : -1]
    if not newest:
        return lines, None
    options = [{"value": one["id"], "label": f"{phrases.number(one)} {phrases.label(one, _LABEL)}"} for one in newest]
    if row is None:
        return lines, {"options": options, "value": ""}
    if row not in newest:
        options.append({"value": row["id"], "label": f"{phrases.number(row)} {phrases.label(row, _LABEL)}"})
    return [*text.laid_out(results.why(report, row, command=COMMAND)[1:], width), *lines], {"options": options, "value": row["id"]}
