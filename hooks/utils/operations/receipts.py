"""Look up the receipts of what has left a context, call by call."""

from __future__ import annotations

from ..state import archived, journal, receipts, store, stored_contexts
from .names import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.receipts import Call, Receipt
    from ..state.site import Site
    from ..views.shapes import Report


def receipts_of(site: Site, report: Report) -> list[Receipt]:
    """Return the receipts of the main thread (views/receipt.py), the newest first. `report`: of the same context; it completes what an
    older version wrote."""
    receipts = _read_receipts(site.paths())
    rows = {row["id"]: row for row in report["results"]}
    for call in (call for receipt in receipts for call in receipt["calls"]):
        row = rows.get(call["id"])
        if row is not None and not call["label"]:
            call["number"], call["label"], call["tokens"] = row["number"], row["label"], row["tokens"]
            for part in call["left"]:
                part["handle"] = part["handle"] or row.get("handle", "")
    _add_states(site, receipts)
    return receipts


def receipts_of_agents(site: Site) -> list[Receipt]:
    """Return the receipts of the session's subagents, the newest first, each with the id of its `agent`."""
    receipts = []
    for paths in stored_contexts.contexts_of(site.home, site.session_id):
        for receipt in _read_receipts(paths) if paths.agent_id else ():
            receipt["agent"] = paths.agent_id
            receipts.append(receipt)
    _add_states(site, receipts)
    return sorted(receipts, key=lambda receipt: -receipt["at"])


def _read_receipts(paths: store.ContextFiles) -> list[Receipt]:
    return receipts.receipts(journal.read(paths), store.read_lines(paths.receipts))


def _add_states(site: Site, receipts: list[Receipt]) -> None:
    """Set for each call whether what left of it can be restored."""
    calls = [call for receipt in receipts for call in receipt["calls"]]
    handles = {part["handle"] for call in calls if not call["back"] for part in call["left"] if part["handle"]}
    held = archived.restorable(site.home, handles) if handles else None
    for call in calls:
        call["state"] = _state_of_call(call, held)


def _state_of_call(call: Call, held: set[str] | None) -> str:
    if call["back"]:
        return "back"
    handles = {part["handle"] for part in call["left"]}
    if held is None or "" in handles:
        return "unknown"
    return "archived" if handles <= held else "gone"


def find_receipt(receipts: list[Receipt], word: str) -> tuple[Receipt, Call] | None:
    """Return the newest receipt with a call, by its number or id, and its row; None where no receipt has it."""
    number = number_of(word)
    for receipt in receipts:
        for call in receipt["calls"]:
            if call["id"] == word or (number is not None and call["number"] == number):
                return receipt, call
    return None


def handles_of_receipt(site: Site, word: str) -> list[str]:
    """Return the handles under which a call that has left is archived, by number or id; [] where none has."""
    match = find_receipt(_read_receipts(site.paths()), word)
    return list(dict.fromkeys(part["handle"] for part in match[1]["left"] if part["handle"])) if match else []
