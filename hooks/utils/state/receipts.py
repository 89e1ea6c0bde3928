"""Receipts of removals: the calls that left a conversation at one time, with reasons, as lines beside the journal. Pure."""

from __future__ import annotations

from ..io.codec import as_list, as_objects, as_text, whole
from ..policy.messages import call_tokens, result_tokens
from .journal import LATEST, bounded_time, seconds, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypedDict

    from ..policy.compacting import Removal
    from ..policy.context import ContextState, Result
    from .journal import Entry

    class NotedCall(TypedDict):
        """A call as a line has it. `left`: [kind, handle, why] of each part."""

        id: str
        number: int | None
        label: str
        tokens: int
        left: list[list[str]]

    class Part(TypedDict):
        """A part of a call that left: its `kind` (result, input, calls, shown, reminders), its handle, and why."""

        kind: str
        handle: str
        why: str

    class Call(TypedDict, total=False):
        """A call on a receipt; `back`: all of it was put back. Of what older versions wrote, only ids and reasons are known. `state`: see
        `views/receipt.py`."""

        id: str
        number: int | None
        label: str
        tokens: int | None
        left: list[Part]
        back: bool
        state: str

    class Receipt(TypedDict, total=False):
        """`why`: asked, manual, auto, cold, long; clear: of a transcript · tokens `before` and `after` · `tokens` that left, the sum of all
        calls · `thinking`: tokens that left beside them · `summarised`: the rest went to the host's summariser · `calls` in their order ·
        `agent`: of a subagent."""

        at: float
        why: str
        before: int | None
        after: int | None
        tokens: int | None
        thinking: int
        summarised: bool
        calls: list[Call]
        agent: str


CLEAR = "clear"
RESULT = "result"
# What leaves beside calls: pictures of the person's, and what the host has said anew.
SHOWN, REMINDERS = BESIDE = ("shown", "reminders")
_CHARS = 200  # of a label or a reason in a journal


def noted(calls: list[NotedCall], at: float) -> dict[str, object]:
    """Return the stored line of a compaction or a clear: its calls, under the time of its entry in the journal."""
    return {"at": at, "calls": calls}


def calls_of(left: Sequence[Removal], state: ContextState, tokens: int) -> list[NotedCall]:
    """Return one row for each call of which something left, by all of them so many `tokens`: each has its part of what left less what took
    its place, by its own size. A result that left, and its call with it, counts once."""
    known = {**state.expired, **state.live}
    rows: dict[str, NotedCall] = {}
    whole: set[str] = set()  # ids of the calls whose results are counted
    for removal in left:
        for id, label, shown, size in _calls_in(removal):
            row = rows.setdefault(id, _row(id, label, known.get(id)))
            row["left"].append([removal.kind, removal.handle, removal.why])
            result = known.get(id)
            if shown is not None and id not in whole:
                whole.add(id)
                size += result.tokens if result is not None and not result.cleared else result_tokens(shown)
            row["tokens"] += size
    for row, part in zip(rows.values(), shared(max(0, tokens), [row["tokens"] for row in rows.values()])):
        row["tokens"] = part
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


def _row(id: str, label: str, result: Result | None) -> NotedCall:
    number, label = (result.index, result.label) if result else (None, label)
    return {"id": id, "number": number, "label": label, "tokens": 0, "left": []}


def _calls_in(removal: Removal) -> Iterator[tuple[str, str, str | None, int]]:
    """Return (id, label, the text of the result where that left, estimated tokens of the input where that did) of each call that something
    left of."""
    if isinstance(removal.content, str):
        yield removal.id, removal.label, removal.content, 0
    elif isinstance(removal.content, dict):
        yield removal.id, removal.label, None, call_tokens(removal.content)
    else:
        shown = {shown["tool_use_id"]: shown["text"] for message in removal.content for shown in message["toolResults"]}
        for use in (use for message in removal.content for use in message["toolUses"]):
            id = use["tool_use_id"]
            yield id, use["tool"], shown.get(id, ""), call_tokens(use["input"])


def receipts(journal: Sequence[Entry], noted: list[Any]) -> list[Receipt]:
    """Return the receipts of a journal and of the lines beside it, the newest first. Lines that cannot be understood are skipped."""
    receipts: list[Receipt] = []
    calls = {bounded_time(seconds(line.get("at"))): _calls(line.get("calls")) for line in as_objects(noted)}
    out: list[tuple[Call, list[Part]]] = []  # of each call on a receipt, what is not back
    for entry in journal:
        kind = entry["event"]
        if kind == "compact":
            receipts.append(_compaction(entry, calls.pop(time_of(entry), [])))
            out += [(call, call["left"]) for call in receipts[-1]["calls"]]
        elif kind == "clear":
            out += [(call, call["left"]) for call in _clear(entry, receipts, calls)]
        elif kind in ("back", "undo") or (kind == "restore" and entry.get("in_place") is True):
            out = _put_back(entry, kind == "back", out)
    return [receipt for receipt in reversed(receipts) if receipt["calls"]]


def _compaction(entry: Entry, calls: list[Call]) -> Receipt:
    before, after, beside, tokens = entry.get("before"), entry.get("after"), entry.get("beside") or 0, None
    if before is None or after is None:
        before = after = None
    else:
        before, after, tokens = before + beside, after + beside, max(0, before - after)
    return {"at": time_of(entry), "why": _text(entry.get("why")), "before": before, "after": after, "tokens": tokens, "thinking": 0,
            "summarised": entry.get("summarised") is True, "calls": calls}  # fmt: skip


def _clear(entry: Entry, receipts: list[Receipt], calls: dict[float, list[Call]]) -> list[Call]:
    """Add a clear, or complete the compaction that took the same results out; return the calls that were on no receipt before."""
    at, tokens, newest = time_of(entry), whole(entry.get("tokens"), LATEST), receipts[-1] if receipts else None
    added: list[Call] = []
    if newest is None or newest["why"] == CLEAR or newest["at"] != at:
        added = calls.pop(at, [])
        newest = {"at": at, "why": CLEAR, "before": None, "after": None, "tokens": tokens, "thinking": 0, "summarised": False,
                  "calls": added}  # fmt: skip
        receipts.append(newest)
    elif newest["tokens"] is not None:
        by_calls = min(newest["tokens"], tokens or 0)
        newest["tokens"], newest["thinking"] = by_calls, newest["tokens"] - by_calls
    if not newest["calls"]:
        known = entry.get("reasons") or {}
        added = [_call(id, None, "", None, [_part(RESULT, "", known.get(id))]) for id in entry.get("ids") or ()]
        newest["calls"] = added
    return added


def _calls(listed: object) -> list[Call]:
    """Return the calls of a line that can be understood."""
    calls = []
    for call in as_objects(listed):
        parts = [_part(*each) for each in as_list(call.get("left")) if len(as_list(each)) == 3]
        if parts:
            number, tokens = whole(call.get("number"), LATEST), whole(call.get("tokens"), LATEST)
            calls.append(_call(_text(call.get("id")), number, _text(call.get("label")), tokens, parts))
    return calls


def _call(id: str, number: int | None, label: str, tokens: int | None, left: list[Part]) -> Call:
    return {"id": id, "number": number, "label": label, "tokens": tokens, "left": left, "back": False}


def _part(kind: object, handle: object, why: object) -> Part:
    return {"kind": _text(kind), "handle": _text(handle), "why": _text(why)}


def _put_back(entry: Entry, by_handle: bool, out: list[tuple[Call, list[Part]]]) -> list[tuple[Call, list[Part]]]:
    """Note the calls of which everything that had left is back; return the others with what is still out of them."""
    names = {*(entry.get("handles") or ())} if by_handle else {*(entry.get("ids") or ()), _text(entry.get("id"))}
    remaining = []
    for call, parts in out:
        if by_handle or call["id"] in names:
            parts = [part for part in parts if (part["handle"] not in names if by_handle else part["kind"] != RESULT)]
        call["back"] = not parts
        if parts:
            remaining.append((call, parts))
    return remaining


def _text(value: object) -> str:
    return as_text(value)[:_CHARS]
