"""What left the context by compactions and clears: each result with its reason, and whether it can be restored. Data and lines.

The data: receipts, the newest first, as state/receipts.py has them; each of their `calls` with a `state` too: `archived` (can be restored),
`back` (was put back), `gone` (for good) or `unknown` (the archive does not tell now).
"""

from __future__ import annotations

from ..state import archived, receipts, store
from . import ids, phrases, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..state.site import Site

    Receipt = dict[str, Any]

LEAST = 3  # results of the newest receipt that are named, however few rows there are
_EARLIER = 3  # earlier receipts in the pane
_TOKENS = 6
_JUST_S = 60.0
_ASIDE = 10  # columns of the left column
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


def look(site: Site, report: dict[str, Any]) -> list[Receipt]:
    """The data, see above, of the main thread. `report`: of the same context; it completes what an older version has noted."""
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
    return found


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
    """The newest receipt on which a call stands, and its row: by number or id."""
    number = ids.number_of(word)
    for receipt in found:
        for call in receipt["calls"]:
            if call["id"] == word or (number is not None and call["number"] == number):
                return receipt, call
    return None


def handles_of(site: Site, word: str) -> list[str]:
    """Under which handles a call is archived that has left: by number or id; [] where none has."""
    gone = find(_read(site), word)
    return list(dict.fromkeys(part["handle"] for part in gone[1]["left"] if part["handle"])) if gone else []


def lines(found: list[Receipt], now: float, everything: bool, command: str) -> list[str]:
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


def pane_head(found: list[Receipt], now: float) -> list[str]:
    """The newest receipt in a sentence or two; [] where nothing has left."""
    return _head(found[0], now) if found else []


def pane_lines(found: list[Receipt], now: float, rows: int, command: str) -> list[str]:
    """What stands below that: its results in about so many `rows`, and the earlier receipts in a line each."""
    if not found:
        return []
    earlier = _earlier(found[1:], now, _EARLIER, "", command) if found[1:] else []
    return [*_results(found[0], rows - len(earlier), f": {command} why"), *earlier]


def why_lines(receipt: Receipt, call: dict[str, Any], now: float, command: str) -> list[str]:
    """Why a call left of which nothing stands in the context any more."""
    shown = text.title(f"{_number(call)}  {phrases.shortened(call['label'], text.WIDTH - 8)}")
    shown += _pair("Left", f"{when(receipt, now)}, {text.long_tokens(call['tokens'] or 0)}")
    shown += _pair("Because", _why(call))
    if call["state"] == "archived":
        handles = " ".join(dict.fromkeys(part["handle"] for part in call["left"]))
        command += f" restore {_number(call)} --in-place"
        return [*shown, *_pair("Back", f"popkit restore {handles} or"), *phrases.command_lines(command)]
    return [*shown, *_pair("Back", _STATES[call["state"]])]


def when(receipt: Receipt, now: float) -> str:
    """`5 min ago, by /compact`."""
    ago = now - receipt["at"]
    return f"{text.span(ago) + ' ago' if ago >= _JUST_S else 'Just now'}, {_BY.get(receipt['why'], 'by PopKit')}"


def _head(receipt: Receipt, now: float) -> list[str]:
    """When and by whom, what it came to, how much of it can be restored."""
    said = when(receipt, now) + ": "
    if receipt["before"] is not None:
        said += f"{text.tokens(receipt['before'])} to {text.tokens(receipt['after'])} tokens"
    else:
        said += text.short_tokens(receipt["tokens"] or 0)
    shown = text.wrap(f"{said}. {_count(receipt)} left the context, {_restorable(receipt)}.")
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


def _earlier(found: list[Receipt], now: float, most: int, hint: str, command: str) -> list[str]:
    shown = [""]
    for receipt in found[:most]:
        shown += text.wrap(f"{when(receipt, now)}: {_count(receipt)}, {text.short_tokens(receipt['tokens'] or 0)}", indent="  ")
    if hint:
        return shown + text.wrap(f"{command} why{hint}.")
    return shown + (text.wrap(f"and {len(found) - most:,} more: {command} why --all") if len(found) > most else [])


def _results(receipt: Receipt, rows: int | None, hint: str) -> list[str]:
    """Results below their reasons, what is largest first, in about so many rows (None: all of them)."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for call in sorted(receipt["calls"], key=lambda call: -(call["tokens"] or 0)):
        groups.setdefault(_why(call), []).append(call)
    entries = [(why if not at else "", call) for why, calls in groups.items() for at, call in enumerate(calls)]
    shown: list[str] = []
    for at, (why, call) in enumerate(entries):
        entry = [*(text.wrap(why[:1].upper() + why[1:], indent="  ") if why else []), _line(call)]
        is_last = at == len(entries) - 1
        if rows is not None and at >= LEAST and len(shown) + len(entry) + (not is_last) > rows:
            rest = [call["tokens"] or 0 for _, call in entries[at:]]
            return [*shown, f"{text.tokens(sum(rest)):>{_TOKENS}}  and {len(rest):,} more{hint}"]
        shown += entry
    return shown


def _line(call: dict[str, Any]) -> str:
    start = f"{text.tokens(call['tokens'] or 0):>{_TOKENS}}  {_number(call)} "
    end = "" if call["state"] == "archived" else f" ({_STATES[call['state']]})"
    return start + phrases.shortened(call["label"], text.WIDTH - text.width(start + end)) + end


def _number(call: dict[str, Any]) -> str:
    return text.cut(text.clean(call["id"]), _ASIDE) if call["number"] is None else phrases.number(call)


def _why(call: dict[str, Any]) -> str:
    said = [_KINDS.get(part["kind"], "{}").format(text.clean(part["why"])) for part in call["left"]]
    return "; ".join(filter(None, said)) or "no reason was noted"


def _pair(name: str, said: str) -> list[str]:
    first, *more = text.wrap(said, text.WIDTH - _ASIDE)
    return [f"{name:<{_ASIDE}}{first}", *(" " * _ASIDE + line for line in more)]
