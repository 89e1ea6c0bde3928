"""What left the context by compactions and clears: each result with its reason, and whether it can be restored. Data in, lines out.

The data: receipts, the newest first, as state/receipts.py has them; each of their `calls` with a `state` too: `archived` (can be restored),
`back` (was put back), `gone` (for good) or `unknown` (the archive does not tell now); the newest with the `share` of a window of the plan
that it saves, None where nobody knows.
"""

from __future__ import annotations

from .. import text
from ..state import receipts
from . import limits, phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Receipt = dict[str, Any]

LEAST = 3  # results of the newest receipt that are named, however few rows there are
_EARLIER = 3  # earlier receipts in the pane
_TOKENS = 6
_JUST_S = 60.0
_BY = {
    "asked": "by a clear",
    receipts.CLEAR: "by a clear",
    "manual": "by /compact",
    "auto": "because the context was nearly full",
    "cold": "because the prompt cache was cold",
}
_KINDS = {"input": "its input was taken out: {}", "calls": "the whole call was taken out {}"}
# What is said of one result, and of so many.
_STATES = {"archived": "can be restored", "back": "put back", "gone": "gone for good", "unknown": "may be restorable"}
_ALL = {"archived": "all can be restored", "back": "all were put back", "gone": "all are gone for good", "unknown": "all may be restorable"}
_NOTHING = "No clear or compaction of PopKit has taken anything out of this context."


def lines(found: list[Receipt], now: float, everything: bool, command: str) -> list[text.Line]:
    """The newest receipt whole, the earlier ones in a line each, or whole as well."""
    shown = text.title("What left the context")
    if not found:
        return [*shown, *text.wrap(_NOTHING)]
    whole, brief = (found, []) if everything else (found[:1], found[1:])
    for receipt in whole:
        shown += [*([""] if receipt is not found[0] else []), *_head(receipt, now), *_results(receipt, None, "")]
    shown += _earlier(brief, now, len(brief), " --all shows each", command) if brief else []
    shown += ["", *text.wrap("To put one result back, or all that the last one took:")]
    return [*shown, *phrases.command_lines(f"{command} restore T12 --in-place"), *phrases.command_lines(f"{command} undo")]


def pane_head(found: list[Receipt], now: float) -> list[text.Line]:
    """The newest receipt in a sentence or two; [] where nothing has left."""
    return _head(found[0], now) if found else []


def pane_lines(found: list[Receipt], now: float, width: int, rows: int, command: str) -> list[text.Line]:
    """What stands below that: its results in about so many `rows` of `width` columns, and the earlier receipts in a line each."""
    if not found:
        return []
    earlier = _earlier(found[1:], now, _EARLIER, "", command) if found[1:] else []
    return [*_results(found[0], (width, rows - len(text.laid_out(earlier, width))), f": {command} why"), *earlier]


def why_lines(receipt: Receipt, call: dict[str, Any], now: float, command: str) -> list[text.Line]:
    """Why a call left of which nothing stands in the context any more."""
    number = _number(call)
    shown: list[text.Line] = ["", lambda columns: text.heading(f"{number}  {phrases.shortened(call['label'], columns - 8)}", columns)]
    shown += text.pair("Left", f"{when(receipt, now)}, {text.long_tokens(call['tokens'] or 0)}")
    shown += text.pair("Because", _why(call))
    if call["state"] == "archived":
        handles = " ".join(dict.fromkeys(part["handle"] for part in call["left"]))
        command += f" restore {number} --in-place"
        return [*shown, *text.pair("Back", f"popkit restore {handles} or"), *phrases.command_lines(command)]
    return [*shown, *text.pair("Back", _STATES[call["state"]])]


def when(receipt: Receipt, now: float) -> str:
    """`5 min ago, by /compact`."""
    ago = now - receipt["at"]
    return f"{text.span(ago) + ' ago' if ago >= _JUST_S else 'Just now'}, {_BY.get(receipt['why'], 'by PopKit')}"


def _head(receipt: Receipt, now: float) -> list[text.Line]:
    """When and by whom, what it came to, how much of it can be restored."""
    said = when(receipt, now) + ": "
    if receipt["before"] is not None:
        said += f"{text.tokens(receipt['before'])} to {text.tokens(receipt['after'])} tokens"
    else:
        said += text.short_tokens(receipt["tokens"] or 0)
    shown = text.wrap(f"{said}. {_count(receipt)} left the context, {_restorable(receipt)}.")
    saved = limits.gain(receipt.get("share"))
    if saved:
        shown += text.wrap(f"That saves {saved}, each of which would have read it from the cache.")
    if receipt["summarised"]:
        older = "the older part of " if receipt["why"] == "auto" else ""
        shown += text.wrap(f"Claude Code then summarised {older}what was left.")
    return shown


def _count(receipt: Receipt) -> str:
    return text.counted(len(receipt["calls"]), "result")


def _restorable(receipt: Receipt) -> str:
    states = [call["state"] for call in receipt["calls"]]
    if len(set(states)) == 1 and len(states) > 1:
        return f"and {_ALL[states[0]]}"
    return ", ".join([f"{states.count(state):,} {said}" for state, said in _STATES.items() if state in states])


def _earlier(found: list[Receipt], now: float, most: int, hint: str, command: str) -> list[text.Line]:
    shown: list[text.Line] = [""]
    for receipt in found[:most]:
        shown += text.wrap(f"{when(receipt, now)}: {_count(receipt)}, {text.short_tokens(receipt['tokens'] or 0)}", indent="  ")
    if hint:
        return shown + text.wrap(f"{command} why{hint}.")
    return shown + (text.wrap(f"and {len(found) - most:,} more: {command} why --all") if len(found) > most else [])


def _results(receipt: Receipt, room: tuple[int, int] | None, hint: str) -> list[text.Line]:
    """Results below their reasons, what is largest first, in about so much `room` (columns, rows; None: all of them)."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for call in sorted(receipt["calls"], key=lambda call: -(call["tokens"] or 0)):
        groups.setdefault(_why(call), []).append(call)
    entries = [(why if not at else "", call) for why, calls in groups.items() for at, call in enumerate(calls)]
    shown: list[text.Line] = []
    used = 0
    for at, (why, call) in enumerate(entries):
        entry = [*(text.wrap(why[:1].upper() + why[1:], indent="  ") if why else []), _line(call)]
        if room is not None:
            width, rows = room
            needs = len(text.laid_out(entry, width))
            is_last = at == len(entries) - 1
            if at >= LEAST and used + needs + (not is_last) > rows:
                rest = [call["tokens"] or 0 for _, call in entries[at:]]
                return [*shown, f"{text.tokens(sum(rest)):>{_TOKENS}}  and {len(rest):,} more{hint}"]
            used += needs
        shown += entry
    return shown


def _line(call: dict[str, Any]) -> text.Line:
    start = f"{text.tokens(call['tokens'] or 0):>{_TOKENS}}  {_number(call)} "
    end = "" if call["state"] == "archived" else f" ({_STATES[call['state']]})"
    return lambda columns: [start + phrases.shortened(call["label"], columns - text.width(start + end)) + end]


def _number(call: dict[str, Any]) -> str:
    return text.cut(text.clean(call["id"]), text.ASIDE) if call["number"] is None else f"T{call['number']}"


def _why(call: dict[str, Any]) -> str:
    said = [_KINDS.get(part["kind"], "{}").format(text.clean(part["why"])) for part in call["left"]]
    return "; ".join(filter(None, said)) or "no reason was noted"
