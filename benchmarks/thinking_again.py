"""How much a model thinks again after its thinking was lost: around recorded compactions, which lose all of it, and around pauses at which
the cache went cold and nothing was lost.

    python benchmarks/thinking_again.py --transcripts FOLDER

For each event with WINDOW requests before and after it and no other compaction among them: tokens of thinking in the requests after, less
those before, over the tokens of thinking that stood in the conversation. *again* is the sum of the one over the sum of the other, with an
interval of 90 % by drawing sessions anew.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.policy.messages import thinking_tokens

WINDOW = 20
COLD_S = 3_600.0
DRAWS = 2_000


class Event(NamedTuple):
    """A moment at which thinking was lost, or not: tokens of thinking in the requests before and after it, and all that stood (`lost`)."""

    before: int
    after: int
    lost: int


def requests_of(path: Path) -> list[tuple[float, int] | None]:
    """(time, tokens of thinking) of each answer of the main thread, None for a compaction between two."""
    found: list[tuple[float, int] | None] = []
    of: dict[str, int] = {}
    for entry in entries.read(str(path), path.stat().st_size):
        if entries.is_side(entry):
            continue
        if entries.is_compaction(entry):
            found.append(None)
        elif entry.get("type") == "assistant" and isinstance(entry.get("message"), dict):
            id = str(entry["message"].get("id"))
            thought = sum(
                thinking_tokens(block) for block in entries.blocks_of(entry) if block["type"] in ("thinking", "redacted_thinking")
            )
            if id not in of:
                of[id] = len(found)
                found.append((seconds_of(entry.get("timestamp")) or 0.0, 0))
            at, tokens = found[of[id]] or (0.0, 0)
            found[of[id]] = (at, tokens + thought)
    return found


def events_of(path: Path) -> tuple[list[Event], list[Event]]:
    """(those of compactions, those of cold pauses) of a session."""
    compactions: list[Event] = []
    pauses: list[Event] = []
    found = requests_of(path)
    begin = 0  # of the requests since the last compaction
    for at, one in enumerate(found):
        before, after = found[max(0, at - WINDOW) : at], found[at + (one is None) : at + (one is None) + WINDOW]
        if one is None:
            lost, begin_now = sum(each[1] for each in found[begin:at] if each), at + 1
        else:
            previous = found[at - 1] if at else None
            if previous is None or one[0] - previous[0] <= COLD_S:
                continue
            lost, begin_now = sum(each[1] for each in found[begin:at] if each), begin
        if len(before) == len(after) == WINDOW and None not in before and None not in after and lost:
            event = Event(sum(each[1] for each in before if each), sum(each[1] for each in after if each), lost)
            (compactions if one is None else pauses).append(event)
        begin = begin_now
    return compactions, pauses


def again(sessions: list[list[Event]]) -> float:
    """The share of what was lost that is thought again."""
    events = [event for session in sessions for event in session]
    return sum(event.after - event.before for event in events) / sum(event.lost for event in events)


def interval(sessions: list[list[Event]]) -> tuple[float, float]:
    """The middle 90 % of `again` over draws of as many sessions."""
    drawn = random.Random(0)
    values = sorted(again(drawn.choices(sessions, k=len(sessions))) for _ in range(DRAWS))
    return values[DRAWS // 20], values[-DRAWS // 20]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of recorded sessions, in any depth")
    found: dict[str, list[list[Event]]] = defaultdict(list)
    for path in sorted(parser.parse_args().transcripts.rglob("*.jsonl")):
        for kind, events in zip(("compactions", "cold pauses"), events_of(path)):
            if events:
                found[kind].append(events)
    print("| event | events | sessions | thinking lost | again | 90 % |\n|---|--:|--:|--:|--:|---|")
    for kind, sessions in found.items():
        low, high = interval(sessions)
        events = [event for session in sessions for event in session]
        lost = sum(event.lost for event in events)
        print(f"| {kind} | {len(events)} | {len(sessions)} | {lost:,} | {again(sessions):+.2f} | {low:+.2f} to {high:+.2f} |")


if __name__ == "__main__":
    main()
