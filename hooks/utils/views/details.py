"""`retention --details`: every result with its number, by tier; files read in parts, pins, subagents. A report in, lines out."""

from __future__ import annotations

from .. import text
from ..operations import ids
from ..policy.tiers import TIERS
from . import phrases

_MOST = 12  # results of one tier, unless everything is asked for
_LABEL = 28  # columns at least


def detail_lines(report: dict, everything: bool = False) -> list[str]:
    sections = [_tier_lines(tier, report, everything) for tier in TIERS]
    sections += [_partial_lines(report, everything), _pin_lines(report), _agent_lines(report)]
    lines: list = []
    for section in sections:
        if section:
            lines += [*([""] if lines else []), *section]
    return lines


def _tier_lines(tier: str, report: dict, everything: bool) -> list[str]:
    rows = [row for row in report["results"] if row["tier"] == tier]
    if not rows:
        return []
    live = [row for row in rows if row["state"] == "live"]
    expired = [row for row in rows if row["state"] != "live"]
    cleared = sum(row["state"] == "cleared" for row in rows)
    lines = [f"{tier.capitalize()}: {len(live)} live, {len(expired) - cleared} expired" + (f", {cleared} cleared" if cleared else "")]
    room = len(rows) if everything else _MOST
    # Live ones first: they are what the reader may want to hold. Of each the newest.
    shown_live = live[-room:]
    shown_expired = expired[len(expired) - max(0, room - len(shown_live)) :]
    lines += [result_line(row, text.WIDTH) for row in reversed(shown_live)]
    lines += [result_line(row, text.WIDTH) for row in reversed(shown_expired)]
    left = len(rows) - len(shown_live) - len(shown_expired)
    if left:
        lines.append(f"  … {left} more: add --all")
    return lines


def result_line(row: dict, columns: int, note: str = "") -> str:
    """One result in one line: number, tokens, label, what ends or ended it (or a `note`)."""
    head = f"  {phrases.number(row):>5} {text.tokens(row['tokens']):>6}  "
    label = max(_LABEL, (columns - text.width(head)) // 2 + 1)
    room = columns - text.width(head) - label - 1
    note = note or (phrases.until(row) if row["state"] == "live" else phrases.fate(row, room))
    return (head + text.pad(phrases.label(row, label), label) + " " + text.cut(note, room)).rstrip()


def _partial_lines(report: dict, everything: bool) -> list[str]:
    files = report["partial_reads"]
    if not files:
        return []
    shown = files if everything else files[-_MOST:]
    lines = ["Files read in parts:"]
    for file in shown:
        tail = f" {file['lines']} in {text.counted(len(file['reads']), 'read')}"
        tail = text.cut(tail, text.WIDTH // 2)
        lines.append("  " + text.cut_start(text.clean(file["path"]), text.WIDTH - 2 - text.width(tail)) + tail)
    if len(shown) < len(files):
        lines.append(f"  … {len(files) - len(shown)} more: add --all")
    return lines


def _pin_lines(report: dict) -> list[str]:
    numbers = {row["id"]: phrases.number(row) for row in report["results"]}
    lines = []
    for target, source in [(pin, "") for pin in report["pins"]] + [(pin, " (configuration)") for pin in report["configured_pins"]]:
        if target in numbers:
            lines.append("  " + numbers[target])
            continue
        tail = f" holds {text.counted(len(ids.matching(report, target)), 'result')}{source}"
        lines.append("  " + text.cut_start(text.clean(target), text.WIDTH - 2 - text.width(tail)) + tail)
    return ["Pins:", *lines] if lines else []


def _agent_lines(report: dict) -> list[str]:
    lines = [
        f"  {text.pad(text.clean(agent['agent']), 24)} {text.counted(agent['calls'], 'call')}, {agent['live']['items']} live"
        f" {text.tokens(agent['live']['tokens'])}, {agent['expired']['items']} expired {text.tokens(agent['expired']['tokens'])}"
        for agent in report["agents"]
    ]
    return ["Subagents:", *[text.cut(line, text.WIDTH) for line in lines]] if lines else []
