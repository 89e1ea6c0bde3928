"""The text of what compactions have lost, in one ranked list with the way back of each row. Data in, lines out."""

from __future__ import annotations

import shlex

from .. import text, units
from ..policy.losses import ERROR, SAID, TASKS, WROTE
from .receipt import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shapes import CompactionLosses, LossRow

_RANK = 3
_CELL_WORDS, _CELL_LABEL = 6, 60
_LABEL_SHARE = 0.4  # of a row's columns, as far as words need the rest
_KINDS = {SAID: "you", ERROR: "open error of ", TASKS: "tasks", WROTE: "an answer"}
_NOTHING = "No compaction is in this transcript. A receipt needs one: a summary of the host's, or a compaction of PopKit's."
_KEPT = "Nothing that a row could lead to is lost: all that was said and shown still stands."
_WAYS = "What is most likely to be needed comes first. The left column is the way back: {ways}."
_LINES, _RESTORED, _ENTRIES = "lines of the transcript", "popkit restore", "entries in the host's storage"
_PARTLY = "{host} does not record what its summary says, so what only the summary holds is listed, too."


def lines(found: list[CompactionLosses], everything: bool, hints: list[text.Line]) -> list[text.Line]:
    """Return the list of the newest compaction, the earlier ones in a line each, or whole as well; `hints`: what can be typed next."""
    if not found:
        return [*text.title("What compactions lost"), *text.wrap(_NOTHING)]
    shown: list[text.Line] = []
    for losses in found if everything else found[:1]:
        shown += whole(losses)
    if found[1:] and not everything:
        shown += ["", *text.wrap(f"{units.counted(len(found) - 1, 'earlier compaction')}:")]
        for losses in found[1:]:
            shown += text.wrap(f"{when(losses)}: {sums(losses)}", indent="  ")
    return shown + (hints if any(losses["rows"] for losses in found) else [])


def hints(losses: CompactionLosses) -> list[text.Line]:
    """Return how to read what a row leads to."""
    if not any(way["line"] is not None for row in losses["rows"] if not _handles(row) for way in row["ways"]):
        return []
    command = f"popkit check-compaction {shlex.quote(losses['transcript'])} --show LINE"
    return ["", *text.wrap("To read what a row leads to, by the number of its line:"), text.whole(f"  {command}")]


def pane_lines(losses: CompactionLosses, command: str) -> list[text.Line]:
    """Return the newest compaction in a sentence, with its first rows."""
    shown = [*text.title("What the last compaction lost"), *head(losses)]
    if losses["rows"]:
        shown += [*rows(losses), *text.wrap(f"{command} why says how to read them.")]
    return shown


def whole(losses: CompactionLosses) -> list[text.Line]:
    """Return the head of a compaction, and its rows."""
    shown = text.title("What the compaction lost")
    shown += text.pair("When", when(losses))
    shown += text.pair("Lost", sums(losses))
    if losses["partly_known"]:
        shown += text.wrap(_PARTLY.format(host=losses["host"]))
    if not losses["rows"]:
        return [*shown, "", *text.wrap(_KEPT)]
    return [*shown, "", *text.wrap(_WAYS.format(ways=", or ".join(_kinds_of_ways(losses)))), *rows(losses)]


def rows(losses: CompactionLosses) -> list[text.Line]:
    """Return the rows, a line each."""
    aside = max((text.width(_ways(row)) for row in losses["rows"]), default=0)
    return [_line(rank, row, aside) for rank, row in enumerate(losses["rows"], 1)]


def cells(row: LossRow) -> tuple[str, str, str]:
    """Return what a row is about, what it lost of that, and its way back, for a table."""
    words = [text.clean(word) for word in row["words"]]
    shown = words[: 1 if row["kind"] in (SAID, ERROR) else _CELL_WORDS]
    more = row["count"] - len(shown)
    return _name(row, _CELL_LABEL), ", ".join(shown) + (f" and {more:,} more" if more > 0 else ""), _ways(row)


def head(losses: CompactionLosses) -> list[text.Line]:
    """Return the newest compaction in a sentence."""
    return text.wrap(f"{when(losses)[:1].upper()}{when(losses)[1:]}: lost {sums(losses)}.")


def when(losses: CompactionLosses) -> str:
    """Return whose compaction it was, of what size, and why, in words."""
    by = "PopKit's compaction" if losses["without_model"] else f"{losses['host']}'s summary"
    why = BY.get(losses["why"]) or {True: BY["manual"], False: BY["auto"], None: ""}[losses["asked"]]
    size = f" of {units.tokens(losses['tokens'])} tokens" if losses["tokens"] else ""
    where = f" (line {losses['line']:,})" if losses["line"] is not None else ""
    return f"{by}{size}{', ' if why else ''}{why}{where}"


def sums(losses: CompactionLosses) -> str:
    """Return how much is lost, in words."""
    counts = (
        ("sentence", losses["sentences"]), ("open error", losses["errors"]), ("name", losses["names"]), ("line", losses["lines"]),
    )  # fmt: skip
    parts = [units.counted(count, noun) + (" of yours" if noun == "sentence" else "") for noun, count in counts if count]
    return ", ".join(parts) or "nothing"


def _line(rank: int, row: LossRow, aside: int) -> text.Line:
    start = f"{rank:>{_RANK}}  {text.pad(_ways(row), aside)}  "
    return lambda columns: [start + _row(row, columns - text.width(start))]


def _row(row: LossRow, columns: int) -> str:
    """Return what a row is about, and as many of its words as there is room for."""
    count = row["count"]
    if row["kind"] in (SAID, ERROR):
        rest = f" (+{count - 1:,})" if count > 1 else ""
        quoted = text.clean(row["words"][0]) if row["words"] else ""
        return text.cut(f"{_name(row, round(_LABEL_SHARE * columns))}: {quoted}", columns - len(rest)) + rest
    shown, left = _name(row, round(_LABEL_SHARE * columns)) + ":", count
    for word in row["words"]:
        longer = f"{shown}{',' if left < count else ''} {text.clean(word)}"
        if text.width(longer) + len(f" +{left - 1:,}") <= columns:
            shown, left = longer, left - 1
    if left == count and row["words"]:
        shown, left = f"{shown} {text.clean(row['words'][0])}", left - 1
    rest = f" +{left:,}" if left else ""
    return text.cut(shown, columns - len(rest)) + rest


def _name(row: LossRow, columns: int) -> str:
    label, kind = text.clean(row["label"]), row["kind"]
    known = _KINDS.get(kind, "")
    if kind in (SAID, TASKS, WROTE):
        return known
    room = max(0, columns - len(known))
    return known + (_end_of_path(label, room) if "/" in label and " " not in label else text.cut(label, room)) or "added"


def _end_of_path(path: str, columns: int) -> str:
    """Return as many of a path's last folders as there is room for, with the file's own name in any case."""
    name = path.rpartition("/")[2]
    return text.cut_start(path, max(columns, min(len(name) + 2, 2 * columns)))


def _kinds_of_ways(losses: CompactionLosses) -> list[str]:
    kinds = [_LINES if way["line"] is not None else _ENTRIES for row in losses["rows"] for way in row["ways"][:1] if not _handles(row)]
    return list(dict.fromkeys([*kinds, *(_RESTORED for row in losses["rows"] if _handles(row))]))


def _handles(row: LossRow) -> list[str]:
    return list(dict.fromkeys(way["handle"] for way in row["ways"] if way["handle"]))


def _ways(row: LossRow) -> str:
    """Return the ways back of a row: what prints the archived content, else the lines of the transcript."""
    if handles := _handles(row):
        return "restore " + handles[0]
    numbers = list(dict.fromkeys(f"{way['line']}" for way in row["ways"] if way["line"] is not None))
    return ", ".join(numbers) or row["ways"][0]["entry"]
