"""The texts of long-term memory: of its status, of a run, of learning, of MEMORY.md. Plain values in, lines out. Pure."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.views.marks import marks

from ..views import ASIDE, ago, ahead, pair
from .item_views import in_order, label
from .items import FULL, TIERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .document import Document
    from .items import Item
    from .monitoring import Monitoring

_NAMED = 5  # items shown of those left out of MEMORY.md for one reason


def status(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the status of a project's memory. `command`: how the reader calls us."""
    lines = text.title(f"Memory of {answer['name']}")
    if not answer["on"]:
        lines += ["Memory is off: sessions teach nothing and get no MEMORY.md.", "To switch it on:", f"  {command} on", ""]
    if not answer["items"]:
        return [
            *lines,
            f"Nothing is remembered about {text.cut(text.clean(answer['name']), 30)} yet.",
            *(["What this session teaches is noted when it ends."] if answer["on"] else []),
            "To learn from past sessions:",
            f"  {command} admin learn --past",
        ]
    lines += pair("Learnt", f"from {units.counted(answer['sessions'], 'session')}; {answer['used']:,} of them used something from memory")
    lines += pair("Retrieved", f"{units.counted(answer['asked'], 'time')} in the last 7 days")
    if answer["on"]:
        tokens = answer["document_tokens"]
        lines += pair("MEMORY.md", f"{units.long_tokens(tokens)} of every request" if tokens else "none yet")
    lines += _theirs(answer["theirs"])
    lines += _last_run(answer["run"], now, command)
    if answer["waiting"]:
        waiting = f"{units.counted(answer['waiting'], 'item')} that an agent added, until you accept"
        lines += pair("Waiting", f"{waiting} {'them' if answer['waiting'] > 1 else 'it'}: {command} list --waiting")
    if answer["marked"]:
        lines += pair("Forgotten", f"{units.counted(answer['marked'], 'item')}, not deleted yet: {command} list --marked")
    marked = [line for part, rows in answer["told"].items() for row in rows for line in marks(part, row, now, command)]
    return [*lines, "", *_table(answer), *([""] if marked else []), *marked, *alerts(answer["alerts"], now, command)]


def _theirs(theirs: Mapping[str, Any]) -> list[text.Line]:
    """Return Claude Code's own memory of the project, beside ours."""
    if not theirs["document_tokens"] and not theirs["topics"]:
        return []
    words = f"{units.long_tokens(theirs['document_tokens'])} of every request"
    if theirs["topics"]:
        words += f"; {units.counted(theirs['topics'], 'topic')} of {units.long_tokens(theirs['topic_tokens'])}, read when needed"
    return pair("Claude's", f"{words} (the memory of Claude Code itself, which MEMORY.md does not repeat)")


def _table(answer: Mapping[str, Any]) -> list[text.Line]:
    rows = [(tier, answer["tiers"][tier]) for tier in TIERS] + [("All", answer)]
    lines: list[text.Line] = [f"{'Tier':<{ASIDE}}{'Items':>8}{'Tokens':>10}"]
    lines += [f"{name:<{ASIDE}}{row['items']:>8,}{units.tokens(row['tokens']):>10}" for name, row in rows]
    compressed = {level: row for level, row in answer["levels"].items() if level != FULL}
    if compressed:
        lines += ["", *text.wrap("Compressed: " + ", ".join(f"{row['items']:,} to {level}" for level, row in compressed.items()))]
    return lines


def store(monitoring: Monitoring) -> list[text.Line]:
    """Return the status of a store, of all projects or of one."""
    lines, bounds = text.title("The store of memory"), monitoring.policies
    if not monitoring.tiers:
        return [*lines, "It holds nothing."]
    lines += [f"{'Tier':<{ASIDE}}{'Items':>8}", *(f"{tier:<{ASIDE}}{items:>8,}" for tier, items in monitoring.tiers.items()), ""]
    if monitoring.levels:
        lines.append(f"{'Level':<{ASIDE}}{'Items':>8}{'Tokens each':>13}{'Score':>8}")
        lines += [f"{at.level:<{ASIDE}}{at.items:>8,}{at.mean_tokens:>13.1f}{at.mean_score:>8.2f}" for at in monitoring.levels]
    else:
        lines.append("Nothing is compressed.")
    old, key = f"older than {bounds.hot_hours:.0f} h", f"retrieved {bounds.key_accesses} times"
    lines += _candidates(f"For demotion: HOT, {old}, worth less than {bounds.hot_stays}", monitoring.demotion)
    return lines + _candidates(f"For ARCHIVE: WARM, worth at least {bounds.key_score}, {key}", monitoring.archive)


def _candidates(title: str, items: Sequence[Item]) -> list[text.Line]:
    lines = ["", *text.wrap(f"{title}{':' if items else ': none'}")]
    heads = [f"  {text.clean(item.id)}  {item.score:.2f}, retrieved {units.counted(item.access_count, 'time')}  " for item in items]
    return lines + [text.fitted(head + label(item)) for head, item in zip(heads, items)]


def _last_run(run: Mapping[str, Any] | None, now: float, command: str) -> list[text.Line]:
    if run is None:
        return pair("Last run", f"never. {command} admin run scores, moves and compresses what is remembered")
    done = [
        f"{units.counted(sum(run['moved'].values()), 'move')} between tiers",
        f"{sum(run['compressed'].values()):,} compressed",
        f"{run['deleted']:,} deleted",
    ]
    return pair("Last run", f"{ago(run['at'], now)}: {units.counted(run['items'], 'item')}, {', '.join(done)}") + _failures(run)


def learnt(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return the result of learning. `command`: how the reader calls us."""
    of = f" of {text.listed(answer['projects'], 3)}" if answer["projects"] else ""
    lines = text.wrap(f"Learnt from {units.counted(answer['sessions'], 'session')}{of}.")
    lines += pair("New", units.counted(answer["added"], "item"))
    lines += pair("Seen again", units.counted(answer["strengthened"], "item"))
    lines += pair("Put to use", units.counted(answer["used"], "item"))
    for reason, count in sorted(answer["left_out"].items()):
        lines += pair("Left out", f"{count:,}: {reason}")
    if answer["off"]:
        lines += text.wrap(
            f"Memory is off for {text.listed(answer['off'], 3)}: new sessions do not get a MEMORY.md. To switch it on, run there:"
        )
        lines += [f"  {command} on"]
    return lines


def ran(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the result of a run of the job."""
    lines = pair("Looked at", units.counted(answer["items"], "item"))
    lines += pair("Moved", _counts(answer["moved"]))
    lines += pair("Compressed", _counts({f"to {level}": count for level, count in answer["compressed"].items()}))
    lines += pair("Marked", f"{answer['marked']:,} as forgotten, to be deleted after 24 h" if answer["marked"] else "none")
    lines += pair("Deleted", f"{answer['deleted']:,}" if answer["deleted"] else "none")
    return lines + _failures(answer) + alerts(answer["alerts"], now, command)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "none"


def _failures(run: Mapping[str, Any]) -> list[text.Line]:
    lines = pair("Failed", f"{units.counted(run['failed'], 'item')}, left as they were") if run["failed"] else []
    for failure in run["failures"]:
        lines += pair("", failure)
    return lines


def alerts(items: list[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """Return items of value that are about to be deleted."""
    if not items:
        return []
    lines = ["", *text.wrap(f"{units.counted(len(items), 'item')} of value will be deleted soon. To keep one: {command} admin pin ID")]
    for each in items:
        head = f"  {text.clean(each['id'])}  {ahead(each['at'], now):<10}  "
        lines.append(text.fitted(head + text.clean(each["text"])))
    return lines


def left_out(document: Document, items: Sequence[Item], budget: int, now: float) -> list[text.Line]:
    """Return how much is in MEMORY.md, and what is left out, by reason. `items`: those left out, most valuable first."""
    included = f"{units.counted(len(document.items), 'item')}, {units.tokens(document.tokens)} of {budget:,} tokens"
    lines = [*text.title("What was left out of MEMORY.md, and why"), *pair("Included", included)]
    lines += pair("Left out", units.counted(len(document.left_out), "item"))
    if document.is_partial:
        lines += text.wrap("The project has more items. Considered were those that most sessions used, and those used last.")
    reasons = dict(document.left_out)
    by_reason: dict[str, list[Item]] = {}
    for item in items:
        by_reason.setdefault(reasons[item.id], []).append(item)
    for why, of_it in sorted(by_reason.items(), key=lambda row: -len(row[1])):
        shown, others = text.beginning(of_it, _NAMED)
        lines += ["", *text.wrap(f"{units.counted(len(of_it), 'item')}: {why}"), *in_order(shown, now)]
        lines += [f"  … {others:,} more"] if others else []
    return lines


def loss(levels: Sequence[Mapping[str, Any]]) -> list[text.Line]:
    """Return how much of the present items each level of compression would lose."""
    lines = text.title("What compression loses")
    if not levels:
        return [*lines, "No item is long enough to be compressed."]
    lines += text.wrap(
        f"Measured on the full texts of {units.counted(levels[0]['items'], 'item')}, {units.long_tokens(levels[0]['tokens'])}: how much"
        " of the meaning each level keeps, how much shorter it makes them, and how many of the ten best results a search still finds."
    )
    lines += ["", f"{'Level':<{ASIDE}}{'Tokens':>9}{'Meaning':>10}{'Efficiency':>12}{'Precision':>11}{'Recall':>8}{'F1':>7}"]
    for each in levels:
        row = f"{each['level']:<{ASIDE}}{units.tokens(each['tokens_at_level']):>9}{each['semantic_preservation']:>10.2f}"
        row += f"{each['token_efficiency']:>12.1f}{each['precision']:>11.2f}{each['recall']:>8.2f}{each['f1_score']:>7.2f}"
        lines.append(row)
    return lines


def joined(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return the answer to `join`. `command`: how the reader calls us."""
    owner = text.clean(answer["owner"])
    if answer["joined"]:
        return text.wrap(f"This folder now shares the memory of {owner}. To separate them again: {command} admin join --no")
    return text.wrap(f"This folder does not use the memory of {owner}. To give it a memory of its own: {command} on")
