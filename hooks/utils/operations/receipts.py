"""Receipts: what left the context by compactions and clears, each call with whether it can be restored."""

from __future__ import annotations

from ..hosts.claude_code.usage import newest_usage
from ..policy import limit_weights
from ..state import archived, limits, receipts, store
from . import arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.shapes import Share
    from ..state.site import Site
    from ..views.receipt import Receipt
    from ..views.report_shapes import Report


def look(site: Site, report: Report) -> list[Receipt]:
    """Return the receipts of the main thread (views/receipt.py), the newest first. `report`: of the same context; it completes what an
    older version has noted."""
    found = _read(site)
    rows = {row["id"]: row for row in report["results"]}
    calls = [call for receipt in found for call in receipt["calls"]]
    for call in calls:
        row = rows.get(call["id"])
        if row is not None and not call["label"]:
            call.update({name: row[name] for name in ("number", "label", "tokens")})
            call["left"] = [{**part, "handle": part["handle"] or row.get("handle", "")} for part in call["left"]]
    handles = {part["handle"] for call in calls if not call["back"] for part in call["left"] if part["handle"]}
    held = archived.held(site.home, handles) if handles else None
    for call in calls:
        call["state"] = _state(call, held)
    for receipt in found[:1]:
        receipt["share"] = share(site, report["transcript"], _gone(receipt), report["at"])
    return found


def share(site: Site, transcript_path: str, tokens: int, now: float) -> Share | None:
    """Return what so many tokens fewer in each prompt are of a window of the plan; None where nobody knows."""
    weights = limits.weights(site.home, now)
    newest = newest_usage(transcript_path) if weights and transcript_path else None
    if newest is None or tokens <= 0:
        return None
    return limit_weights.share_of_reads(weights, newest.model, newest.cache_ttl_s, tokens)


def _gone(receipt: Receipt) -> int:
    """Return how many tokens fewer a prompt had after it; 0 where that is not known."""
    if receipt["before"] is not None and not all(call["back"] for call in receipt["calls"]):
        return int(receipt["before"] - receipt["after"])
    return sum(call["tokens"] or 0 for call in receipt["calls"] if not call["back"])


def _read(site: Site) -> list[Receipt]:
    paths = site.paths()
    return receipts.receipts(store.read_lines(paths.journal), store.read_lines(paths.receipts))


def _state(call: dict[str, Any], held: set[str] | None) -> str:
    if call["back"]:
        return "back"
    handles = {part["handle"] for part in call["left"]}
    if held is None or "" in handles:
        return "unknown"
    return "archived" if handles <= held else "gone"


def find(found: list[Receipt], word: str) -> tuple[Receipt, dict[str, Any]] | None:
    """Return the newest receipt on which a call stands, and its row: by number or id."""
    number = arguments.number_of(word)
    for receipt in found:
        for call in receipt["calls"]:
            if call["id"] == word or (number is not None and call["number"] == number):
                return receipt, call
    return None


def handles_of(site: Site, word: str) -> list[str]:
    """Return the handles under which a call that has left is archived, by number or id; [] where none has."""
    gone = find(_read(site), word)
    return list(dict.fromkeys(part["handle"] for part in gone[1]["left"] if part["handle"])) if gone else []
