"""What a receipt names of what recorded compactions lost and the next requests needed.

    python benchmarks/receipts.py --transcripts FOLDER [--lines N] [--each] [--tune]

*Needs* are the strings (names, and lines of 20 characters and more) that the next 20 requests write, and that stood in the conversation
before a compaction and in nothing that the first of them was sent. Printed is the share of them, as a mean over the compactions with at
least 5, that the first lines of the list lead to (*leads to*: the need stands in a text to which a line has the way back), and that these
lines say themselves, in 100 columns (*says*); how much of what stood before is in the texts that they lead to (*of the text*); and the same
for the subjects that were touched last, and for those that lost most. *own summaries*: of hosts that record what their summary says.

*processor*: of the list and its ways back, with reading the transcript, for a conversation of 150,000 tokens: the time of each by its
tokens, as the host counted them, or by characters where it did not.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import own_sessions
from lab.conversations import strings_written
from lab.fitting import AHEAD

from popkit_retention.core import text
from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.operations import compaction_losses
from popkit_retention.core.policy import losses
from popkit_retention.core.policy.losses import Standing
from popkit_retention.core.reclaim.recorded_compactions import RecordedCompaction, compactions
from popkit_retention.core.views import losses as views
from popkit_retention.lab.recorded import CHARS_PER_TOKEN, strings_of

FEWEST_NEEDS = 5
COLUMNS = 100
TOKENS = 150_000
# Other values for the constants of policy/losses.py.
STEPS = {
    "_HALVED": (5, 20), "_CALLED": (1, 4), "_NAMED": (1.0, 4.0), "WAYS": (1, 2, 5), "_LEAST_CHARS": (100, 1600), "_SENTENCE": (4.0, 240.0),
    "_ERROR": (40.0, 800.0), "_BESIDE": (5, 40),
}  # fmt: skip


class Case(NamedTuple):
    """A recorded compaction: its transcript, what it lost that was needed, and what stands."""

    path: Path
    compaction: RecordedCompaction
    standing: Standing
    needs: set[str]


class Share(NamedTuple):
    """Of the needs those that lines lead to, those that they say, and the share of the text that they lead to."""

    leads_to: float
    says: float
    of_text: float


def cases(folder: Path) -> list[Case]:
    """Return the recorded compactions below a folder with enough lost needs behind them."""
    found = []
    for path in own_sessions.below(folder):
        every = list(compactions(str(path)))
        needed = _written_behind(path) if every else {}
        for compaction in every:
            standing = Standing(compaction.after)
            stood = set().union(*(strings_of(passage.text) for passage in compaction.before))
            needs = {need for need in needed[compaction.line] & stood if need not in standing.text}
            if len(needs) >= FEWEST_NEEDS:
                found.append(Case(path, compaction, standing, needs))
    return found


def _written_behind(path: Path) -> dict[int, set[str]]:
    """Return number of a boundary's line -> the strings that the next requests of the main thread write."""
    behind: dict[int, set[str]] = {}
    ids: dict[str, None] = {}
    strings: set[str] = set()
    for number, (_, line) in enumerate(entries.lines(str(path)), 1):
        entry = entries.entry_of(line)
        if entry is None or entries.is_side(entry):
            continue
        if entries.is_compaction(entry):
            strings = behind[number] = set()
            ids = {}
        elif entry.get("type") == "assistant" and entries.is_answer(entry):
            ids.setdefault(str(entry["message"].get("id")))
            if len(ids) <= AHEAD:
                strings |= strings_written(entry)
    return behind


def share(case: Case, rows: list[losses.Loss]) -> Share:
    """Return what rows lead to and say of the needs of a case."""
    ways = {(way.place, way.kind, way.text) for row in rows for way in row.ways}
    led_to = "\n".join(words for _, _, words in ways)
    shown = [{"kind": row.kind, "label": row.label, "words": row.words, "count": row.count, "ways": _ways(row)} for row in rows]
    said = "\n".join(text.laid_out(views.rows({"rows": shown}), COLUMNS))  # type: ignore[typeddict-item]  # they need no more
    whole = sum(len(passage.text) for passage in case.compaction.before)
    count = len(case.needs)
    return Share(
        sum(need in led_to for need in case.needs) / count, sum(need in said for need in case.needs) / count, len(led_to) / max(1, whole)
    )


def _ways(row: losses.Loss) -> list[dict[str, object]]:
    return [{"line": way.place, "entry": "", "handle": ""} for way in row.ways]


def ours(case: Case, lines: int) -> list[losses.Loss]:
    """Return the first rows of the list."""
    return losses.ranked(case.compaction.before, case.standing, lines).rows


def newest(case: Case, lines: int) -> list[losses.Loss]:
    """Return the subjects that were touched last."""
    return _reordered(case, lines, lambda row: -max(way.place for way in row.ways))


def largest(case: Case, lines: int) -> list[losses.Loss]:
    """Return the subjects that lost most strings."""
    return _reordered(case, lines, lambda row: -row.count)


def _reordered(case: Case, lines: int, order: Callable[[losses.Loss], int]) -> list[losses.Loss]:
    return sorted(ours(case, len(case.compaction.before)), key=order)[:lines]


def mean(found: list[Case], way: Callable[[Case, int], list[losses.Loss]], lines: int) -> Share:
    """Return the mean of the shares."""
    return Share(*(statistics.fmean(each) for each in zip(*(share(case, way(case, lines)) for case in found))))


def processor_ms(path: Path) -> float:
    """Return the processor time of the list of a transcript's newest compaction, with reading it and finding the ways back, in ms."""
    with tempfile.TemporaryDirectory() as home:
        times = []
        for _ in range(3):
            gc.collect()
            began = time.process_time()
            compaction_losses.of_transcript(str(path), home, newest=True)
            times.append(time.process_time() - began)
    return 1000 * min(times)


def tokens_of(case: Case) -> float:
    """Return the tokens of the conversation before a compaction."""
    return case.compaction.tokens or sum(len(passage.text) for passage in case.compaction.before) / CHARS_PER_TOKEN


def report(found: list[Case], lines: int) -> None:
    """Print the shares."""
    own = [case for case in found if not case.compaction.is_partly_known]
    needs = statistics.fmean(len(case.needs) for case in found)
    print(f"{len(found)} compactions, which lost {needs:.1f} needs on average; {len(own)} of hosts that record what their summary says\n")
    print(f"{f'first {lines} lines':<20}{'leads to':>10}{'says':>8}{'of the text':>14}")
    for name, way in (("the list", ours), ("touched last", newest), ("lost most", largest)):
        row = mean(found, way, lines)
        print(f"{name:<20}{row.leads_to:>10.3f}{row.says:>8.3f}{row.of_text:>14.2f}")
    if own and len(own) < len(found):
        row = mean(own, ours, lines)
        print(f"{'own summaries':<20}{row.leads_to:>10.3f}{row.says:>8.3f}{row.of_text:>14.2f}")
    single = [case for case in own or found if sum(each.path == case.path for each in found) == 1]
    times = [processor_ms(case.path) * TOKENS / tokens_of(case) for case in single]
    if times:
        print(
            f"\nprocessor at {TOKENS:,} tokens: {statistics.median(times):.0f} ms (median of {len(times)} transcripts with one compaction)"
        )


def each(found: list[Case], lines: int) -> None:
    """Print a line for each compaction."""
    for case in found:
        row = share(case, ours(case, lines))
        print(f"{case.path.name:<60} line {case.compaction.line:>6} {len(case.needs):>5} needs {row.leads_to:>7.2f} {row.says:>6.2f}")


def tune(found: list[Case], lines: int) -> None:
    """Print the shares with each constant of STEPS a step lower and a step higher, all else equal."""

    def show(head: str) -> None:
        row = mean(found, ours, lines)
        print(f"{head:<24}{row.leads_to:>8.3f}{row.says:>8.3f}{row.of_text:>8.2f}", flush=True)

    show("shipped")
    for name, tried in STEPS.items():
        chosen = getattr(losses, name)
        for value in tried:
            setattr(losses, name, value)
            show(f"{name} {value:g}")
        setattr(losses, name, chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--lines", type=int, default=compaction_losses.ROWS, help="so many lines of the list (default: 20)")
    parser.add_argument("--each", action="store_true", help="a line for each compaction")
    parser.add_argument("--tune", action="store_true", help="with each constant of policy/losses.py a step lower and higher")
    options = parser.parse_args()
    found = cases(options.transcripts)
    if not found:
        print("no compaction with enough lost needs behind it", file=sys.stderr)
        return 1
    (tune if options.tune else each if options.each else report)(found, options.lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
