"""How many requests still follow a user's prompt while the prompt cache is warm: what a rewrite of the cache has to pay within.

    python benchmarks/remaining_requests.py --transcripts FOLDER

Counted from each prompt but a session's first, over the main thread: the requests until one comes later than the cache's lifetime
after the one before it, until a compaction, or until the session's end. A prompt that already finds the cache cold is left out:
clearing costs nothing there. Quartiles for either lifetime, whatever lifetime the recorded account had; and the mean from any request,
which is what `auto` reckons with.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.core.hosts.transcripts.usage import usage_of
from popkit_retention.core.policy.economics import LIKELY_REQUESTS

INTERRUPTED = "[Request interrupted"


def happenings(path: Path) -> list[tuple[str, float]]:
    """("prompt" | "request" | "compaction", seconds) of the main thread in the order of the lines, rewound branches included: their
    requests were sent too. A request is the first line of its message."""
    events: list[tuple[str, float]] = []
    messages = set()
    for entry in entries.read(str(path), path.stat().st_size):
        at = seconds_of(entry.get("timestamp"))
        if entry.get("isSidechain"):
            continue
        if entry.get("subtype") == "compact_boundary":
            events.append(("compaction", at))
        elif entries.is_prompt(entry) and not text_of(entry).startswith(INTERRUPTED):
            events.append(("prompt", at))
        elif usage_of(entry) is not None and entry["message"].get("id") not in messages:
            messages.add(entry["message"].get("id"))
            events.append(("request", at))
    return events


def text_of(entry: dict) -> str:
    content = entry["message"]["content"]
    return content if isinstance(content, str) else next((block["text"] for block in content if isinstance(block.get("text"), str)), "")


def remaining(events: list[tuple[str, float]], ttl_s: int) -> list[int]:
    """For each prompt that finds the cache warm, the requests that still follow it warm."""
    counts = []
    newest = None  # the time of the newest request
    for number, (what, at) in enumerate(events):
        if what == "request":
            newest = at
        elif what == "compaction":
            newest = None  # what stands after it was never in a prompt
        elif newest is not None and at - newest < ttl_s:
            counts.append(warm_requests(events[number + 1 :], newest, ttl_s))
    return counts


def warm_requests(events: list[tuple[str, float]], newest: float, ttl_s: int) -> int:
    count = 0
    for what, at in events:
        if what == "compaction" or (what == "request" and at - newest >= ttl_s):
            break
        if what == "request":
            count += 1
            newest = at
    return count


def after_each(events: list[tuple[str, float]], ttl_s: int) -> list[int]:
    """For each request, itself and those that still follow it warm."""
    return [1 + warm_requests(events[number + 1 :], at, ttl_s) for number, (what, at) in enumerate(events) if what == "request"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    options = parser.parse_args()
    sessions = [happenings(path) for path in own_sessions.below(options.transcripts)]
    for ttl_s in LIKELY_REQUESTS:
        counts = [count for events in sessions for count in remaining(events, ttl_s)]
        if len(counts) < 2:
            print(f"{ttl_s} s: too few prompts")
            continue
        low, median, high = statistics.quantiles(counts, n=4, method="inclusive")
        print(f"{ttl_s} s: {len(counts)} prompts of {len(sessions)} sessions, median {median:g} requests, quartiles {low:g} and {high:g}")
        mean = statistics.mean(count for events in sessions for count in after_each(events, ttl_s))
        print(f"{ttl_s} s: from any request, it included, {mean:.1f} in the mean")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
