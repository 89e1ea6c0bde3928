"""The status panel, which `retention` shows as the pane does on its first page. A report in, lines out."""

from __future__ import annotations

from .. import text, units
from ..hosts import COMMAND
from ..policy import kinds
from ..policy.ruleset import DEFAULT, TIERS
from . import phrases, savings, verdicts
from .paid_for import kind_words
from .report import is_reclaimable
from .results import detail_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..policy.shapes import Removals, Sums
    from .shapes import Endings, NextExpiration, Report, Tier


_WHOLE = 60  # columns that the table takes with its last column
_ASIDE = " " * 10
_NEXT_AT = 34  # columns before the last column of the table
_PINNED = "pinned"  # what a report counts as no kind
_COUNTED = {kind.name: kind.counted for kind in kinds.ALL if kind.counted}
# Columns below which the pane's tabs have no room for how long the cache stays warm.
TABS = 57
_LEAST_LEAVING = 3  # results that are named, however few rows there are
_TOKENS = 6
_MOST_KINDS = 6  # of what the messages hold
# What the profiles mean.
_MEANS = {
    "auto": "a clear takes what costs more to keep than to clear",
    "spec": "results live as long as specified, and a clear takes what has expired",
    "aggressive": "results live half as long, and a clear takes what has expired",
    "conservative": "results live twice as long, and a clear takes what has expired",
}


def panel(
    report: Report, details: bool = False, everything: bool = False, command: str = COMMAND, contents: dict[str, object] | None = None
) -> list[text.Line]:  # fmt: skip
    """Return the lines of the panel. `command` is how the reader calls us; "" leaves the commands at its end out. `contents`: what the
    messages hold (state/prompt_contents.py)."""
    lines = [*text.title("Retention status"), *head(report), ""]
    if not report["enabled"]:
        lines += [*text.wrap("Retention is switched off in the configuration. This answer only shows what the transcript holds."), ""]
    lines += table(report)
    lines += ["", *expired(report), *reclaimable(report), *outcome_lines(report), *contents_lines(contents, report["host"])]
    if details:
        lines += ["", *detail_lines(report, everything)]
    lines += [*notes(report), "", *text.wrap(verdicts.verdict(report))]
    return lines + (["", *_commands(command, details, report)] if command else [])


def head(report: Report) -> list[text.Line]:
    """Return the lines on how full the context is, whether the cache is warm, and what the session has done."""
    return [*context(report), *cache_and_calls(report, False)]


def context(report: Report) -> list[text.Line]:
    have = report["context"]
    if not have:
        return []
    full = phrases.filled(have["tokens"], have["measured"], have["window"], have["window_source"])
    return text.folded(f"Context   {full} ({units.percent(have['ratio'])})", _ASIDE)


def cache_and_calls(report: Report, counts_down: bool) -> list[text.Line]:
    """Return the cache, the calls and the profile. `counts_down`: the reader shows by itself how long the cache stays warm."""
    have, lines = report["context"], []
    if have and have["cache"] and not (counts_down and have["cache"] == "warm"):
        left = have["cache_seconds_left"]
        lines += text.folded("Cache     " + (f"warm, {units.countdown(left)} left" if have["cache"] == "warm" else "cold"), _ASIDE)
    calls = f"{units.counted(report['calls'], 'tool call')} in {units.counted(report['turns'], 'turn')}"
    profile = text.clean(report["profile"])
    if report["profile_source"] == "session":
        profile += " (chosen for this session)"
    return [
        *lines,
        *text.folded("Calls     " + (calls if report["calls"] else "none yet"), _ASIDE),
        *text.folded("Profile   " + profile, _ASIDE),
    ]


def table(report: Report) -> list[text.Line]:
    return [lambda columns: _table(report, columns)]


def _table(report: Report, columns: int) -> list[str]:
    lines = [f"{'Tier':<10}{'Live':>4}{'tokens':>8}{'Expired':>9}{'tokens':>8}".ljust(_NEXT_AT + 7) + "Next expiry"]
    indent = " " * (_NEXT_AT + 7)
    narrow = columns < _WHOLE
    lines = [lines[0].partition("Next")[0].rstrip()] if narrow else lines
    for tier in TIERS:
        have = report["tiers"][tier]
        row = f"{tier.capitalize():<10}{_cells(have['live'], 4)}{_cells(have['expired'], 9)}"
        if narrow:
            ends = _next(tier, have)
            lines += [row.rstrip(), *(text.wrapped("  ends: " + ends, columns, "    ") if ends != "-" else [])]
            continue
        words = text.wrapped(_next(tier, have), columns - len(indent))
        lines.append((row.ljust(len(indent)) + words[0]).rstrip())
        lines += [indent + line for line in words[1:]]
    return lines


def _cells(sums: Sums, width: int) -> str:
    count = sums["items"]
    shown = f"{count:,}" if count < 1_000_000 else "many"
    return f"{shown:>{width}}{units.tokens(sums['tokens']) if count else '':>8}"


def _next(tier: str, have: Tier) -> str:
    """Return what ends the tier's live results next."""
    if not have["live"]["items"]:
        return "-"
    coming, pinned = have["next"], have["next"]["kinds"].get(_PINNED, 0)
    if tier == "preserved":
        return _preserved(coming["kinds"])
    if pinned == have["live"]["items"]:
        return f"{pinned} pinned"
    words = _soonest(coming["soonest"]) if coming["soonest"] else _events(coming)
    return words + (f"; {pinned} pinned" if pinned else "")


def _soonest(soonest: NextExpiration) -> str:
    calls, seconds = soonest["calls_left"], soonest["seconds_left"]
    parts = []
    if calls is not None:
        parts.append(f"in {units.counted(calls, 'call')}" if calls > 1 else "at the next call")
    if seconds is not None:
        parts.append(units.span(seconds) if parts else "in " + units.span(seconds))
    return f"T{soonest['number']} {' or '.join(parts)}"


def _events(coming: Endings) -> str:
    counts, on = coming["kinds"], coming["on"]
    parts = []
    if coming["names"]:
        parts.append("next run: " + text.listed([text.clean(name) for name in coming["names"]], 3))
    if counts.get(kinds.READ):
        words = [word for event, word in (("edit", "edited"), ("commit", "committed")) if event in on]
        parts.append(units.counted(counts[kinds.READ], "file") + " until " + (" or ".join(words) if words else "read again"))
    counted = (kinds.READ, _PINNED, *([kinds.RUN] if coming["names"] else []))
    others = sum(count for name, count in counts.items() if name not in counted)
    if others:
        parts.append(f"{others} until repeated")
    return "; ".join(parts)


def _preserved(counts: dict[str, int]) -> str:
    parts = [units.counted(counts[name], noun) for name, noun in _COUNTED.items() if name in counts]
    parts += [f"{counts[_PINNED]} pinned"] if _PINNED in counts else []
    others = sum(count for name, count in counts.items() if name not in _COUNTED and name != _PINNED)
    return ", ".join([*parts, *([f"{others} by pattern"] if others else [])])


def expired(report: Report) -> list[text.Line]:
    have = report["expired"]
    if not have["items"]:
        return ["Expired: nothing"]
    return text.wrap(
        f"Expired: {units.long_tokens(have['tokens'])} in {units.counted(have['items'], 'result')}{_share(have, report)}", indent="  "
    )


def reclaimable(report: Report) -> list[text.Line]:
    """Return what would leave, now and once the cache is cold."""
    now, cold = report["reclaimable"]["now"], report["reclaimable"]["cold"]
    if not now["tokens"] and not cold["tokens"]:
        return ["Reclaimable: nothing that a clear would take"]
    later = _clearable(cold, True, report, " once the cache is cold")
    if now == cold:
        words = _clearable(now, False, report, "")
    else:
        words = f"{_clearable(now, False, report, ' now')}, and {later}" if now["tokens"] else later
    return text.wrap("Reclaimable: " + words, indent="  ")


def _clearable(have: Removals, cold: bool, report: Report, when: str) -> str:
    states = [row["state"] for row in report["results"] if is_reclaimable(row, cold)]
    unused = len(states) - states.count("expired")
    many = units.counted(have["items"], "result" if unused else "expired result")
    many += f" ({unused} live but unused)" if unused else ""
    return f"{units.long_tokens(have['tokens'])}{when}, from {phrases.leaving(have, many)}"


def _share(have: Sums, report: Report) -> str:
    context = report["context"]
    if not context or context["tokens"] <= have["tokens"] or have["tokens"] / context["tokens"] < 0.01:
        return ""
    return f" ({units.percent(have['tokens'] / context['tokens'])} of the context)"


def outcome_lines(report: Report) -> list[text.Line]:
    """Return the changes that PopKit made to this session, and their figures."""
    have, figures = report["cleared"], report["figures"]
    lines = []
    if have["items"]:
        lines += text.wrap(f"Archived: {units.counted(have['items'], 'cleared result')}")
    if figures:
        lines += text.wrap(savings.ledger_in_words(figures), indent="  ")
    return lines + host_changes(report)


def host_changes(report: Report) -> list[text.Line]:
    """Return the changes that the host itself made to results."""
    have = report["by_host"]
    words = [f"{units.counted(have['cleared'], 'result')} cleared"] if have["cleared"] else []
    words += [f"{units.counted(have['in_files'], 'long output')} in files"] if have["in_files"] else []
    words += [f"{units.counted(have['unchanged'], 're-read')} answered unchanged"] if have["unchanged"] else []
    return text.wrap(f"{report['host']}: " + ", ".join(words), indent="  ") if words else []


def contents_lines(contents: dict[str, Any] | None, host: str) -> list[text.Line]:
    """Return the lines on what the messages hold, the largest first, and on what the host has added by itself."""
    if not contents:
        return []
    rows, added, lines = contents["rows"], contents["added"], []
    named = rows if len(rows) <= _MOST_KINDS else rows[: _MOST_KINDS - 1]
    show = "{:,}".format if contents["is_counted"] else units.estimate
    shown = [f"{show(row['tokens'])} {kind_words(row)}" for row in named]
    if rows[len(named) :]:
        shown.append(f"{show(sum(row['tokens'] for row in rows[len(named) :]))} in {len(rows) - len(named):,} more: popkit bill")
    if shown:
        how = f"as {host} counts them" if contents["is_counted"] else "estimated for the newest request"
        lines += text.pair("Messages", f"{show(sum(row['tokens'] for row in rows))} tokens, {how}: {' · '.join(shown)}")
    if added["tokens"]:
        times = units.counted(added["times"], "time")
        again = f"; {units.long_tokens(added['tokens_again'])} of them again ({added['times_again']:,} of the times)"
        words = f"{units.long_tokens(added['tokens'])} by {host} so far, estimated, {times}" + (again if added["times_again"] else "")
        lines += text.pair("Added", words)
    return lines


def notes(report: Report) -> list[text.Line]:
    """Return further notes, one paragraph each."""
    parts = []
    if report["compacted"]:
        many = units.counted(report["compacted"], "result")
        are = "is" if report["compacted"] == 1 else "are"
        so_far = f"; {units.counted(report['compactions'], 'compaction')} so far" if report["compactions"] else ""
        parts.append(f"{many} {are} no longer in the context, whole or in part{so_far}.")
    if report["abandoned"]:
        parts.append(f"{units.counted(report['abandoned'], 'result')} on rewound branches, not in the context.")
    if report["agents"]:
        calls = sum(agent["calls"] for agent in report["agents"])
        parts.append(f"{units.counted(len(report['agents']), 'subagent')} made {units.counted(calls, 'call')} outside of this context.")
    scaled = f"{report['scaled']:.2f}"
    measured = "" if scaled == "1.00" else f", scaled x{scaled} to this session's usage"
    net = (
        " Reclaimable tokens are those that would leave, placeholders subtracted."
        if any(report["reclaimable"][when]["items"] for when in ("now", "cold"))
        else ""
    )
    parts.append(f"~ marks estimates{measured}.{net}")
    return ["", *[line for note in parts for line in text.wrap(note)]]


def _commands(command: str, details: bool, report: Report) -> list[text.Line]:
    """Return the commands that can be used now."""
    kind = report["verdict"]["kind"]
    offered = {
        "clear": [("Clear", f"{command} clear")],
        "wait": [("Preview", f"{command} clear --dry-run")],
        "full": [("Compact", "/compact")],
        "noted": [("Cancel it", f"{command} undo")],
        "returning": [("Cancel it", f"{command} undo")],
    }.get(kind, [])
    if report["cleared"]["items"]:
        offered.append(("Undo the clear", f"{command} undo"))
    if report["results"]:
        offered.append(("View timeline", f"{command} timeline") if details else ("View details", f"{command} retention --details"))
        offered.append(("Adjust tiers", f"{command} retention --profile NAME"))
    offered.append(("Help", f"{command} help"))
    if " --transcript " in command:  # which is for reading
        offered = [one for one in offered if one[0].startswith(("Preview", "View", "Help"))]
    lines = [f"[{at}] {name + ':':<15} {words}" for at, (name, words) in enumerate(offered, 1)]
    return list(lines) if command.startswith("/") else [text.whole(*lines)]


def profile_chosen(target: str | None, now_holds: str) -> str:
    """Return the sentence about a chosen profile; `now_holds`: the profile after it."""
    if target is None:
        return f"Back to the configured profile, {text.clean(now_holds)}."
    return f"Profile {target} for this session: {_MEANS[target]}. To go back: --profile {DEFAULT}."


def pane_head(report: Report) -> list[text.Line]:
    """Return the recommended action, which is shown above the offers."""
    return text.wrap(verdicts.verdict(report))


def pane_lines(report: Report, columns: int, rows: int, full: str = "", contents: dict[str, Any] | None = None) -> list[text.Line]:
    """Return the lines below that, the most important in the first `rows`. `full`: how full the plan's limits are, "" where that is
    unknown; `contents` as `panel` has them."""
    each = full.split(" · ") if text.width(_ASIDE + full) > columns else [full]  # a window is not broken where it fits
    limits = [
        part for head, words in zip(("Limits    ", *[_ASIDE] * len(each)), each) for part in text.folded(head + words, _ASIDE) if full
    ]
    above = text.laid_out([*context(report), *limits, *outcome_lines(report)], columns)
    shown = [*above, *_leaving(report, columns, rows - len(above))]
    told = contents_lines(contents, report["host"])
    return [*shown, "", *table(report), *expired(report), *told, *cache_and_calls(report, columns >= TABS), *notes(report)]


def _leaving(report: Report, columns: int, rows: int) -> list[str]:
    """Return what would leave, the largest first, as many as there are rows for."""
    lines = text.laid_out(reclaimable(report), columns)
    now = report["reclaimable"]["now"]["tokens"]
    going = [row for row in report["results"] if is_reclaimable(row, not now)]
    if not going:
        return lines
    going.sort(key=lambda row: (-row["tokens"], row["number"]))
    room = max(_LEAST_LEAVING, rows - len(lines))
    shown = going if len(going) <= room else going[: room - 1]
    for row in shown:
        start = f"{units.tokens(row['tokens']):>{_TOKENS}}  {phrases.number(row)} "
        lines.append(start + phrases.label(row, columns - len(start)))
    if len(shown) < len(going):
        others = sum(row["tokens"] for row in going[len(shown) :])
        lines.append(f"{units.tokens(others):>{_TOKENS}}  in {len(going) - len(shown):,} more")
    return lines
