"""The text of a receipt for results that left the context. Data in, lines out.

The data: receipts, the newest first, as state/receipts.py has them; each of their `calls` with a `state`: `archived` (can be restored),
`back` (was put back), `gone` (for good) or `unknown` (the archive does not tell now).
"""

from __future__ import annotations

from .. import text, units
from ..policy.occasions import CLEARED_BY_USER
from ..policy.remaining import NOT_TEXT
from ..state import receipts
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.receipts import Call, Receipt

LEAST = 3  # results of the newest receipt that are named, however few rows there are
_EARLIER = 3  # earlier receipts in the pane
_TOKENS = 6
_JUST_S = 60.0
_WORTH_SAYING = 500  # tokens
BY = {
    "asked": "by a clear",
    receipts.CLEAR: "by a clear",
    "manual": "by /compact",
    "auto": "because the context was nearly full",
    "cold": "because the prompt cache was cold",
    "long": "because the conversation was long",
}
_KINDS = {"input": "its input was taken out: {}", "calls": "the whole call was taken out {}"}
# The state of one result, and of several, in words.
_STATES = {"archived": "can be restored", "back": "put back", "gone": "gone for good", "unknown": "may be restorable"}
_ALL = {"archived": "all can be restored", "back": "all were put back", "gone": "all are gone for good", "unknown": "all may be restorable"}
_NOTHING = "No clear or compaction of PopKit has taken anything out of this context."


def lines(receipts: list[Receipt], of_agents: list[Receipt], now: float, everything: bool, command: str) -> list[text.Line]:
    """Return the newest receipt whole, the earlier ones and those of subagents in a line each, or whole as well."""
    shown = text.title("What left the context")
    if not receipts and not of_agents:
        return [*shown, *text.wrap(_NOTHING)]
    if receipts:
        whole, brief = (receipts, []) if everything else (receipts[:1], receipts[1:])
        shown += _whole(whole, now)
        shown += _earlier(brief, now, len(brief), " --all shows each", command) if brief else []
        if any(call["state"] != "back" for receipt in receipts for call in receipt["calls"]):
            shown += ["", *text.wrap("To put one result back, or all that the last one took:")]
            shown += [*phrases.command_lines(f"{command} restore T12 --in-place"), *phrases.command_lines(f"{command} undo")]
    if of_agents:
        shown += text.title("What left the contexts of subagents")
        shown += _whole(of_agents, now) if everything else _earlier(of_agents, now, len(of_agents), " --all shows each", command)[1:]
        shown += ["", *text.wrap(f"{command} why --json names their handles, by which popkit restore prints them.")]
    return shown


def _whole(receipts: list[Receipt], now: float) -> list[text.Line]:
    shown: list[text.Line] = []
    for receipt in receipts:
        shown += [*([""] if shown else []), *_head(receipt, now), *_results(receipt, None, "")]
    return shown


def pane_head(receipts: list[Receipt], now: float) -> list[text.Line]:
    """Return the newest receipt in a sentence or two; [] where nothing has left."""
    return _head(receipts[0], now) if receipts else []


def pane_lines(receipts: list[Receipt], now: float, width: int, rows: int, command: str) -> list[text.Line]:
    """Return the lines below that: its results in about `rows` lines of `width` columns, and a line for each earlier receipt."""
    if not receipts:
        return []
    earlier = _earlier(receipts[1:], now, _EARLIER, "", command) if receipts[1:] else []
    return [*_results(receipts[0], (width, rows - len(text.laid_out(earlier, width))), f": {command} why"), *earlier]


def why_lines(receipt: Receipt, call: Call, now: float, command: str) -> list[text.Line]:
    """Return the reasons for which a call left the context."""
    number = _number(call)
    shown: list[text.Line] = ["", lambda columns: text.heading(f"{number}  {phrases.shortened(call['label'], columns - 8)}", columns)]
    shown += text.pair("Left", f"{when(receipt, now)}, {units.long_tokens(call['tokens'] or 0)}")
    shown += text.pair("Because", _why(call))
    if call["state"] == "archived":
        handles = " ".join(dict.fromkeys(part["handle"] for part in call["left"]))
        if any(part["why"] == NOT_TEXT for part in call["left"]):
            return [*shown, *text.pair("Back", f"popkit restore {handles}")]
        command += f" restore {number} --in-place"
        return [*shown, *text.pair("Back", f"popkit restore {handles} or"), *phrases.command_lines(command)]
    return [*shown, *text.pair("Back", _STATES[call["state"]])]


def when(receipt: Receipt, now: float) -> str:
    """Return `5 min ago, by /compact`; of a subagent's `5 min ago, in agent a1b2c3, because the context was nearly full`."""
    ago = now - receipt["at"]
    where = f"in agent {text.clean(receipt['agent'])}, " if "agent" in receipt else ""
    return f"{units.span(ago) + ' ago' if ago >= _JUST_S else 'Just now'}, {where}{BY.get(receipt['why'], 'by PopKit')}"


def _head(receipt: Receipt, now: float) -> list[text.Line]:
    """Return the time and cause of a receipt, its sum, and how much of it can be restored."""
    words, less, before, after = when(receipt, now) + ": ", "", receipt["before"], receipt["after"]
    if before is not None and after is not None:
        words += f"{units.tokens(before)} to {units.tokens(after)} tokens"
        words += f" ({units.tokens(receipt['thinking'])} of them reasoning)" if receipt["thinking"] >= _WORTH_SAYING else ""
        less = " Placeholders are subtracted from their sizes."
    else:
        words += units.short_tokens(receipt["tokens"] or 0)
    results = f" {_count(receipt)} left the context, {_restorable(receipt)}.{less}" if _results_of(receipt) else ""
    shown = text.wrap(f"{words}.{results}")
    if receipt["summarised"]:
        older = "the older part of " if receipt["why"] == "auto" else ""
        shown += text.wrap(f"Claude Code then summarised {older}what was left.")
    return shown


def _count(receipt: Receipt) -> str:
    return units.counted(len(_results_of(receipt)), "result")


def _results_of(receipt: Receipt) -> list[Call]:
    return [call for call in receipt["calls"] if call["left"][0]["kind"] not in receipts.BESIDE]


def _restorable(receipt: Receipt) -> str:
    states = [call["state"] for call in _results_of(receipt)]
    if len(set(states)) == 1 and len(states) > 1:
        return f"and {_ALL[states[0]]}"
    return ", ".join([f"{states.count(state):,} {words}" for state, words in _STATES.items() if state in states])


def _earlier(receipts: list[Receipt], now: float, most: int, hint: str, command: str) -> list[text.Line]:
    shown: list[text.Line] = [""]
    for receipt in receipts[:most]:
        results = _count(receipt) + ", " if _results_of(receipt) else ""
        shown += text.wrap(f"{when(receipt, now)}: {results}{units.short_tokens(receipt['tokens'] or 0)}", indent="  ")
    if hint:
        return shown + text.wrap(f"{command} why{hint}.")
    return shown + (text.wrap(f"and {len(receipts) - most:,} more: {command} why --all") if len(receipts) > most else [])


def _results(receipt: Receipt, room: tuple[int, int] | None, hint: str) -> list[text.Line]:
    """Return results below their reasons, the largest first, in about `room` (columns, rows; None: all of them)."""
    groups: dict[str, list[Call]] = {}
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
                return [*shown, f"{units.tokens(sum(rest)):>{_TOKENS}}  and {len(rest):,} more{hint}"]
            used += needs
        shown += entry
    return shown


def _line(call: Call) -> text.Line:
    start = f"{units.tokens(call['tokens'] or 0):>{_TOKENS}}  {_number(call)} "
    end = "" if call["state"] == "archived" else f" ({_STATES[call['state']]})"
    return lambda columns: [start + phrases.shortened(call["label"], columns - text.width(start + end)) + end]


def _number(call: Call) -> str:
    return text.cut(text.clean(call["id"]), text.ASIDE) if call["number"] is None else f"T{call['number']}"


def _why(call: Call) -> str:
    parts = [_KINDS.get(part["kind"], "{}").format(text.clean(part["why"])) for part in call["left"]]
    return "; ".join(filter(None, parts)).replace(CLEARED_BY_USER, "it was live when you cleared it") or "no reason was noted"
