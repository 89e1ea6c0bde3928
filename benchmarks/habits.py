"""How many requests ask for what could have gone with the request before, and how many only keep the todo list: what the hint asks for.

    python benchmarks/habits.py --transcripts FOLDER

A request *could have gone with the one before* where it asks for look-ups alone (files, searches), the one before called tools, nobody
spoke in between, and no name or number in what it asks for was first shown by the results in between. Behind an edit or a run the order may
have mattered all the same, so those behind look-ups alone are also counted by themselves. A request *keeps the todo list* where it calls
nothing else. Of each: their share of all requests; of the bill, what they cost in all, and what they read from the cache alone. The rest
would have been written and said in the other request, so the reading is what the habit costs at most. Main threads, at the API's prices.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import own_sessions

from popkit_retention.core.config import layers
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.entries import is_answer
from popkit_retention.core.hosts.transcripts.outcomes import input_of
from popkit_retention.core.hosts.transcripts.usage import usage_of
from popkit_retention.core.io.home import plugin_root
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.models import Models, models_of
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import shipped

LIST_TOOLS = {"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"}
# What a look-up names: parts of paths and words; and numbers, such as the line to read from.
NAME, NUMBER = re.compile(r"[A-Za-z_][\w-]{3,}"), re.compile(r"\b\d{2,}\b")
ALONE, BEHIND, LISTS = "could have gone with the one before", "could have gone with look-ups right before", "only keep the todo list"


@dataclass
class Asked:
    """A request: the names and numbers in what it asks for and in what came back, and what it was paid for."""

    usage: Usage | None = None
    output: int = 0
    tools: list[str] = field(default_factory=list)
    lookups: int = 0
    asks: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    shown_numbers: set[str] = field(default_factory=set)
    follows: bool = False  # the one before, with nobody's word in between

    @property
    def only_lookups(self) -> bool:
        return bool(self.tools) and self.lookups == len(self.tools)


def requests_of(path: Path) -> Iterator[Asked]:
    """The requests of a main thread in the order of its lines; names that prompts hold count as said by the request that follows."""
    current: Asked | None = None
    spoken: set[str] = set()
    cwd = ""
    by_id: dict[str, Asked] = {}
    for entry in entries.read(str(path), path.stat().st_size):
        cwd = cwd or str(entry.get("cwd") or "")
        if entries.is_side(entry):
            continue
        if entry.get("type") == "assistant" and is_answer(entry):
            id = str(entry["message"].get("id") or entry.get("uuid"))
            if id not in by_id:
                if current is not None:
                    yield current
                current = by_id[id] = Asked(follows=current is not None and not spoken, mentioned=spoken)
                spoken = set()
            answered(by_id[id], entry, cwd)
        elif entry.get("type") == "user":
            for block in entries.blocks_of(entry):
                if block.get("type") == "tool_result" and current is not None:
                    text = text_of_blocks(block.get("content"))[0]
                    current.shown.update(NAME.findall(text))
                    current.shown_numbers.update(NUMBER.findall(text))
            if entries.is_prompt(entry):
                spoken |= {"", *NAME.findall(json.dumps(entry.get("message"), ensure_ascii=False))}
    if current is not None:
        yield current


def answered(asked: Asked, entry: dict[str, Any], cwd: str) -> None:
    asked.usage = asked.usage or usage_of(entry)
    output = (entry["message"].get("usage") or {}).get("output_tokens") or 0
    asked.output = max(asked.output, output)
    for block in entries.blocks_of(entry):
        if block.get("type") == "text":
            asked.mentioned.update(NAME.findall(str(block.get("text"))))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            call = Call(str(block.get("id")), TOOLS.of(block["name"]), input_of(block["input"]), Outcome(), 0.0, cwd)
            asked.tools.append(block["name"])
            asked.lookups += kinds.of(classify(call, cwd, shipped.rules()).kind).is_lookup
            arguments = json.dumps(block["input"], ensure_ascii=False)
            asked.asks.update(NAME.findall(arguments))
            asked.numbers.update(NUMBER.findall(arguments))


def habits_of(asked: Asked, before: Asked | None, known: set[str]) -> list[str]:
    """Which of ALONE, BEHIND and LISTS hold; `known`: the names that were there before the results of the request before."""
    if asked.tools and set(asked.tools) <= LIST_TOOLS:
        return [LISTS]
    if before is None or not (asked.follows and asked.only_lookups and before.tools):
        return []
    if (asked.asks & before.shown) - known or asked.numbers & before.shown_numbers:
        return []
    return [ALONE, BEHIND] if before.only_lookups else [ALONE]


def price(asked: Asked, models: Models) -> tuple[float, float] | None:
    """(dollars of a request, of these what it read from the cache); None where its usage or its price is not known."""
    usage = asked.usage
    if usage is None:
        return None
    model = models.model(usage.model)
    price_in, price_out = model.usd(usage.tokens)
    if price_in is None or price_out is None:
        return None
    write = model.write_1h if usage.cache_ttl_s > 300 else model.write_5m
    plain = max(0, usage.tokens - usage.read - usage.created)
    read = usage.read * model.read * price_in / 1e6
    return (plain + usage.created * write) * price_in / 1e6 + read + asked.output * price_out / 1e6, read


def measure(paths: list[Path], models: Models) -> dict[str, Any]:
    count: Counter[str] = Counter()
    usd: defaultdict[str, float] = defaultdict(float)
    read: defaultdict[str, float] = defaultdict(float)
    for path in paths:
        known: set[str] = set()
        before: Asked | None = None
        for asked in requests_of(path):
            known |= asked.mentioned if before is None else set()
            found = habits_of(asked, before, known)
            known |= asked.mentioned | asked.asks | (before.shown if before else set())
            before = asked
            paid = price(asked, models)
            for name in ("all", *found):
                count[name] += 1
                usd[name] += paid[0] if paid else 0.0
                read[name] += paid[1] if paid else 0.0
    return {
        "requests": count["all"], "usd": usd["all"],
        "habits": {
            name: {"requests": count[name] / count["all"], "bill": usd[name] / usd["all"], "read": read[name] / usd["all"]}
            for name in (ALONE, BEHIND, LISTS)
        },
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    paths = own_sessions.below(options.transcripts)
    models = models_of(layers.load(plugin_root(), None, None))
    figures = {"sessions": len(paths), **measure(paths, models)}
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"{figures['sessions']} sessions, {figures['requests']:,} requests, ${figures['usd']:,.2f}")
    for name, share in figures["habits"].items():
        print(f"{share['requests']:6.1%} of requests {name}: {share['bill']:.1%} of the bill, {share['read']:.1%} to read the prompt again")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
