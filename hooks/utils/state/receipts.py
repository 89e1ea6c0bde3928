"""Receipts of removals: the calls that left a conversation at one time, with reasons, as lines beside the journal. Pure.

A receipt: `at` (seconds) · `why` (asked, manual, auto, cold, long; clear: of a transcript) · tokens of the context `before` and `after`,
null where they are not known · `tokens` that left, the sum of all calls · `thinking`: tokens that left beside them · `summarised`: the rest
went to the host's summariser · `calls`, in their order: {`id`, `number` (null where unknown), `label`, `tokens`, `left`: [{`kind` (result,
input, calls), `handle`, `why`}], `back`: whether all of it was put back}. Of what older versions wrote, only ids and reasons are known.
"""

from __future__ import annotations

from ..io.codec import whole
from ..policy.messages import Use, result_tokens
from ..policy.tools import Tool
from .journal import LATEST, bounded_time, seconds, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..policy.compacting import Removal
    from ..policy.context import ContextState, Result
    from .journal import Entry

CLEAR = "clear"
RESULT = "result"
# What leaves beside calls: pictures of the person's, and what the host has said anew.
SHOWN, REMINDERS = BESIDE = ("shown", "reminders")
_CHARS = 200  # of a label or a reason in a journal


def noted(calls: list[dict[str, Any]], at: float) -> dict[str, Any]:
    """Return the stored line of a compaction or a clear: its calls, under the time of its entry in the journal."""
    return {"at": at, "calls": calls}


def calls_of(left: Sequence[Removal], state: ContextState, tokens: int) -> list[dict[str, Any]]:
    """Return one row for each call of which something left, by all of them so many `tokens`: each has its part of what left less what took
    its place, by its own size. A result that left, and its call with it, counts once."""
    known = {**state.expired, **state.live}
    rows: dict[str, dict[str, Any]] = {}
    sizes: dict[str, int] = {}
    whole: set[str] = set()  # ids of the calls whose results are counted
    for removal in left:
        for id, label, shown, size in _calls_in(removal):
            row = rows.setdefault(id, _row(id, label, known.get(id)))
            row["left"].append([removal.kind, removal.handle, removal.why])
            result = known.get(id)
            if shown is not None and id not in whole:
                whole.add(id)
                size += result.tokens if result is not None and not result.cleared else result_tokens(shown)
            sizes[id] = sizes.get(id, 0) + size
    for id, part in zip(sizes, shared(max(0, tokens), list(sizes.values()))):
        rows[id]["tokens"] = part
    return sorted(rows.values(), key=lambda row: row["number"] or 0)


def shared(amount: int, sizes: Sequence[int]) -> list[int]:
    """Return the parts of an amount by sizes, in whole numbers whose sum is the amount."""
    total, given, so_far = sum(sizes), 0, 0
    parts = []
    for size in sizes:
        so_far += size
        until = amount * so_far // total if total else 0
        parts.append(until - given)
        given = until
    return parts


def call_of(result: Result, handle: str, why: str, calibration: float) -> dict[str, Any]:
    """Return the row of a result that left a transcript."""
    row = _row(result.id, result.label, result)
    return {**row, "tokens": round(result.tokens * calibration), "left": [[RESULT, handle, why]]}


def _row(id: str, label: str, result: Result | None) -> dict[str, Any]:
    number, label = (result.index, result.label) if result else (None, label)
    return {"id": id, "number": number, "label": label, "tokens": 0, "left": []}


def _calls_in(removal: Removal) -> Iterator[tuple[str, str, str | None, int]]:
    """Return (id, label, the text of the result where that left, estimated tokens of the input where that did) of each call that something
    left of."""
    if isinstance(removal.content, str):
        yield removal.id, removal.label, removal.content, 0
    elif isinstance(removal.content, dict):
        yield removal.id, removal.label, None, Use(removal.id, Tool(""), removal.content).tokens
    else:
        shown = {shown["tool_use_id"]: shown["text"] for message in removal.content for shown in message["toolResults"]}
        for use in (use for message in removal.content for use in message["toolUses"]):
            id = use["tool_use_id"]
            yield id, use["tool"], shown.get(id, ""), Use(id, Tool(""), use["input"]).tokens


def receipts(journal: Sequence[Entry], noted: Sequence[object]) -> list[dict[str, Any]]:
    """Return the receipts of a journal and of the lines beside it, the newest first. Lines that cannot be understood are skipped."""
    receipts: list[dict[str, Any]] = []
    rows = {bounded_time(seconds(line.get("at"))): _rows(line) for line in noted if isinstance(line, dict)}
    for entry in journal:
        kind = entry["event"]
        if kind == "compact":
            receipts.append(_compaction(entry, rows))
        elif kind == "clear":
            _clear(entry, receipts, rows)
        elif kind in ("back", "undo") or (kind == "restore" and entry.get("in_place") is True):
            _put_back(entry, kind == "back", receipts)
    for receipt in receipts:
        for row in receipt["calls"]:
            came_back = [part.pop("back") for part in row["left"]]
            row["back"] = all(came_back)
    return [receipt for receipt in reversed(receipts) if receipt["calls"]]


def _compaction(entry: Entry, rows: dict[float, list[dict[str, Any]]]) -> dict[str, Any]:
    before, after, beside = entry.get("before"), entry.get("after"), entry.get("beside")
    receipt: dict[str, Any] = {"at": time_of(entry), "why": _text(entry.get("why")), "before": None, "after": None, "tokens": None}
    if before is not None and after is not None:
        receipt.update(before=before + (beside or 0), after=after + (beside or 0), tokens=max(0, before - after))
    return {**receipt, "thinking": 0, "summarised": entry.get("summarised") is True, "calls": rows.pop(time_of(entry), [])}


def _clear(entry: Entry, receipts: list[dict[str, Any]], rows: dict[float, list[dict[str, Any]]]) -> None:
    """Add a clear, or complete the compaction that took the same results out."""
    at, newest = time_of(entry), receipts[-1] if receipts else None
    if newest is None or newest["why"] == CLEAR or newest["at"] != at:
        newest = {"at": at, "why": CLEAR, "before": None, "after": None, "tokens": whole(entry.get("tokens"), LATEST), "thinking": 0,
                  "summarised": False, "calls": rows.pop(at, [])}  # fmt: skip
        receipts.append(newest)
    elif newest["tokens"] is not None:
        by_calls = min(newest["tokens"], whole(entry.get("tokens"), LATEST) or 0)
        newest.update(tokens=by_calls, thinking=newest["tokens"] - by_calls)
    if not newest["calls"]:
        known = entry.get("reasons") or {}
        unknown = {"number": None, "label": "", "tokens": None}
        newest["calls"] = [{"id": id, **unknown, "left": [_part(RESULT, "", known.get(id))]} for id in entry.get("ids") or ()]


def _rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    calls = entry.get("calls")
    rows = []
    for call in calls if isinstance(calls, list) else []:
        left = call.get("left") if isinstance(call, dict) else None
        parts = [_part(*each) for each in left if isinstance(each, list) and len(each) == 3] if isinstance(left, list) else []
        if parts:
            number, tokens = whole(call.get("number"), LATEST), whole(call.get("tokens"), LATEST)
            rows.append({"id": _text(call.get("id")), "number": number, "label": _text(call.get("label")), "tokens": tokens, "left": parts})
    return rows


def _part(kind: object, handle: object, why: object) -> dict[str, Any]:
    return {"kind": _text(kind), "handle": _text(handle), "why": _text(why), "back": False}


def _put_back(entry: Entry, by_handle: bool, receipts: list[dict[str, Any]]) -> None:
    """Mark the parts that came back, of everything that had left until then."""
    names = set(entry.get("handles") or () if by_handle else [*(entry.get("ids") or ()), _text(entry.get("id"))])
    for receipt in receipts:
        for row in receipt["calls"]:
            for part in row["left"]:
                part["back"] |= part["handle"] in names if by_handle else part["kind"] == RESULT and row["id"] in names


def _text(value: object) -> str:
    return value[:_CHARS] if isinstance(value, str) else ""
