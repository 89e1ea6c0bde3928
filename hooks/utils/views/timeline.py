"""The timeline of a session: a line for each call, with a bar from its call to its end on an axis of calls. A report in, lines out."""

from __future__ import annotations

from .. import text, units
from . import phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import Report, ResultRow

LAST = 40
_BAR = 14
_LIVE, _EXPIRED, _CLEARED = "█", "░", "·"
_LABEL = 24
# Columns from which label and bar share a line when notes are not cut; more columns than any note has.
_ROOMY, _WHOLE = 72, 200
# How many of the results that a call ended are named.
_ENDED_SHOWN = 3


def timeline_lines(report: Report, last: int | None = LAST, folds: bool = False, more: str = "Add --all or --last N") -> list[text.Line]:
    """Return the timeline of the newest `last` results in the context (None: of all). `folds`: a note without room goes on below instead of
    being cut. `more`: what the reader can do to see the others."""
    rows = report["results"]
    shown = rows if last is None else rows[max(0, len(rows) - last) :]
    lines = text.title("Tool call timeline")
    if not shown:
        return [*lines, phrases.no_results(report).replace("there are no", "There are no") + "."]
    lines.append(lambda columns: _bars(report, shown, columns, folds))
    lines += ["", f"{_LIVE} live   {_EXPIRED} expired, still in the context   ← what it ended"]
    if any(row["state"] == "cleared" for row in shown):
        lines.append(f"{_CLEARED} cleared: only a placeholder is left in the context")
    left = len(rows) - len(shown)
    if left:
        lines += text.wrap(f"{units.counted(left, 'earlier result')} left out. {more} to see more.")
    compacted = report["calls"] - len(rows)
    if compacted > 0:
        lines += text.wrap(
            f"{units.counted(compacted, 'more call')} of this session {'is' if compacted == 1 else 'are'} no longer in the "
            "context (compacted)."
        )
    return lines


def _bars(report: Report, shown: list[ResultRow], columns: int, folds: bool) -> list[str]:
    """Return the axis, and below it the bars of the results that are shown."""
    first, now = shown[0]["number"], max(report["calls"], shown[-1]["number"])
    numbers = len(str(now)) + 1
    ended = _ended_by(report["results"])
    folds = folds or columns < text.WIDTH
    lines = [" " * (numbers + 2 + (0 if folds and columns < _ROOMY else _LABEL + 1)) + _axis(first, now)]
    for row in shown:
        number, bar = f"{phrases.number(row):<{numbers}}  ", _bar(row, first, now) + " "
        draw = _folded if folds else _line
        lines += draw(row, number, bar, ended.get(row["number"], []), columns)
    return lines


def _axis(first: int, now: int) -> str:
    """Return `T2 ──────────► T41` over the bars."""
    left, right = f"T{first} ", f" T{now}"
    room = _BAR + 2 - len(left) - len(right)
    return left + "─" * (room - 1) + "►" + right if room > 1 else f"T{first}─T{now}"


def _line(row: ResultRow, number: str, bar: str, ended: list[int], columns: int) -> list[str]:
    head = f"{number}{text.pad(phrases.label(row, _LABEL), _LABEL)} {bar}"
    return [head + _note(row, ended, columns - text.width(head))]


def _folded(row: ResultRow, number: str, bar: str, ended: list[int], columns: int) -> list[str]:
    """Return the same with the whole note: beside the bar, and below it where there is no room."""
    if columns < _ROOMY:
        above, head = [(number + phrases.label(row, columns - len(number))).rstrip()], " " * len(number) + bar
    else:
        above, head = [], f"{number}{text.pad(phrases.label(row, _LABEL), _LABEL)} {bar}"
    return [*above, *text.laid_out(text.pair(head, _whole_note(row, ended), text.width(head)), columns)]


def _whole_note(row: ResultRow, ended: list[int]) -> str:
    did = _did(ended, min(len(ended), _ENDED_SHOWN)) if ended else ""
    if did and row["tier"] == "ephemeral":
        return did
    return "; ".join(filter(None, [did, _fate(row, _WHOLE)]))


def _note(row: ResultRow, ended: list[int], room: int) -> str:
    """Return how a result ended, and before it the newest results that its call ended, as many as fit."""
    shown = min(len(ended), _ENDED_SHOWN)
    if ended and row["tier"] == "ephemeral":  # what it did tells more than that it is gone after one call
        return text.cut(_did(ended, shown), room)
    while shown:
        did = _did(ended, shown) + "; "
        note = did + _fate(row, room - len(did))
        if text.width(note) <= room:
            return note
        shown -= 1
    return text.cut(_did(ended, min(len(ended), _ENDED_SHOWN)) if ended else _fate(row, room), room)


def _fate(row: ResultRow, room: int) -> str:
    return phrases.ends_until(row) if row["state"] == "live" else phrases.how_ended(row, room)


def _did(ended: list[int], shown: int) -> str:
    """Return `← T15, T16 +4`: the results that a call ended."""
    more = f" +{len(ended) - shown}" if len(ended) > shown else ""
    return "← " + ", ".join(f"T{number}" for number in ended[-shown:]) + more


def _bar(row: ResultRow, first: int, now: int) -> str:
    """Return the bar on the axis from call `first` to call `now`: blank before the call, full while live, shaded when expired, dots if
    cleared."""
    calls = now - first + 1
    born = (row["number"] - first) * _BAR // calls
    end = now + 1 if row["state"] == "live" else row["ended"]["at_call"]
    dead = max(born + 1, (end - first) * _BAR // calls)
    return "[" + " " * born + _LIVE * (dead - born) + (_CLEARED if row["state"] == "cleared" else _EXPIRED) * (_BAR - dead) + "]"


def _ended_by(rows: list[ResultRow]) -> dict[int, list[int]]:
    """Return number of a call -> numbers of the results that it ended by what it did; acknowledgements are not worth telling."""
    ended: dict[int, list[int]] = {}
    for row in rows:
        if row["state"] == "live" or row["tier"] == "ephemeral":
            continue
        by = row["ended"]["by_number"]
        if by is not None and row["ended"]["trigger"] in phrases.CAUSED:
            ended.setdefault(by, []).append(row["number"])
    return ended
