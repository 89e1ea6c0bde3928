"""All results by tier (`retention --details`). A report in, lines out."""

from __future__ import annotations

from .. import text, units
from ..policy.ruleset import TIERS
from . import phrases
from .report import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import Report, ResultRow

_MOST = 12  # results of one tier, unless everything is asked for
_LABEL = 28  # columns at least


def detail_lines(report: Report, everything: bool = False) -> list[text.Line]:
    sections = [_tier_lines(tier, report, everything) for tier in TIERS]
    sections += [_partial_lines(report, everything), _pin_lines(report), _agent_lines(report)]
    lines: list[text.Line] = []
    for section in sections:
        if section:
            lines += [*([""] if lines else []), *section]
    return lines


def _tier_lines(tier: str, report: Report, everything: bool) -> list[text.Line]:
    rows = [row for row in report["results"] if row["tier"] == tier]
    if not rows:
        return []
    live = [row for row in rows if row["state"] == "live"]
    expired = [row for row in rows if row["state"] != "live"]
    cleared = sum(row["state"] == "cleared" for row in rows)
    lines: list[text.Line] = [
        f"{tier.capitalize()}: {len(live)} live, {len(expired) - cleared} expired" + (f", {cleared} cleared" if cleared else "")
    ]
    room = len(rows) if everything else _MOST
    # Live ones first, which the reader may want to pin; the newest of both.
    shown_live = live[-room:]
    shown_expired = expired[len(expired) - max(0, room - len(shown_live)) :]
    lines += [result_line(row) for row in reversed(shown_live)]
    lines += [result_line(row) for row in reversed(shown_expired)]
    left = len(rows) - len(shown_live) - len(shown_expired)
    if left:
        lines.append(f"  … {left} more: add --all")
    return lines


def result_line(row: ResultRow, note: str = "") -> text.Line:
    """Return one result in one line: number, tokens, label, what ends or ended it (or a `note`)."""
    return lambda columns: [_result_line(row, note, columns)]


def _result_line(row: ResultRow, note: str, columns: int) -> str:
    head = f"  {phrases.number(row):>5} {units.tokens(row['tokens']):>6}  "
    label = max(min(_LABEL, columns - text.width(head)), (columns - text.width(head)) // 2 + 1)
    room = columns - text.width(head) - label - 1
    note = note or (phrases.ends_until(row) if row["state"] == "live" else phrases.how_ended(row, room))
    return (head + text.pad(phrases.label(row, label), label) + " " + text.cut(note, room)).rstrip()


def _partial_lines(report: Report, everything: bool) -> list[text.Line]:
    files = report["partial_reads"]
    if not files:
        return []
    shown = files if everything else files[-_MOST:]
    lines: list[text.Line] = ["Files read in parts:"]
    for file in shown:
        tail = f" {file['lines']} in {units.counted(len(file['reads']), 'read')}"
        lines.append(_path_line(file["path"], tail))
    if len(shown) < len(files):
        lines.append(f"  … {len(files) - len(shown)} more: add --all")
    return lines


def _path_line(path: str, tail: str) -> text.Line:
    """Return the end of a path, and the note on it."""

    def lines(columns: int) -> list[str]:
        shown = text.cut(tail, columns // 2)
        return ["  " + text.cut_start(text.clean(path), columns - 2 - text.width(shown)) + shown]

    return lines


def _pin_lines(report: Report) -> list[text.Line]:
    numbers = {row["id"]: phrases.number(row) for row in report["results"]}
    lines: list[text.Line] = []
    for target, source in [(pin, "") for pin in report["pins"]] + [(pin, " (configuration)") for pin in report["configured_pins"]]:
        if target in numbers:
            lines.append("  " + numbers[target])
            continue
        tail = f" holds {units.counted(len(matching(report, target)), 'result')}{source}"
        lines.append(_path_line(target, tail))
    return ["Pins:", *lines] if lines else []


def _agent_lines(report: Report) -> list[text.Line]:
    lines = [
        f"  {text.pad(text.clean(agent['agent']), 24)} {units.counted(agent['calls'], 'call')}, {agent['live']['items']} live"
        f" {units.tokens(agent['live']['tokens'])}, {agent['expired']['items']} expired {units.tokens(agent['expired']['tokens'])}"
        for agent in report["agents"]
    ]
    return ["Subagents:", *map(text.fitted, lines)] if lines else []
