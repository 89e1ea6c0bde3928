"""How many tokens a built context has, and how much of what is needed later is still in it.

At every prompt of recorded sessions a context is built, at each level of what remains of the budget, each build with the state of the one
before at that level. `tokens`: against the whole conversation, as quartiles over the builds and of all together. A *need* is a string
that a later answer writes and that only results before the build held (the lab's); `kept` is the share of those that the built messages
still show, where they stood or in what stands for what has left: of the next ten requests, and of all later ones. `met`: of all that the
next ten need, counting as met what results since the build hold. `truncated`: `kept` of the newest messages alone, as many as have no
more tokens than the build. `appended`: the share of builds that changed nothing of what the build before had sent. --least leaves out
builds of conversations with fewer tokens. --lost adds by what the needs of the next ten were lost.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

import context_transcripts
import memory_transcripts
from sections import MissingData

from popkit_retention.context.build_types import ContextBuildOptions
from popkit_retention.context.builder import build_context
from popkit_retention.context.meter import Meter
from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import Block

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from context_transcripts import Message

    Needs = list[tuple[str, list[str]]]  # a string, and ids of the results that held it

LEVELS = (90, 70, 50, 30)
NEXT = 10
REMAINS = ""  # beside the ids of results: what stands for what has left


class Build(NamedTuple):
    """One build. `kept`, `truncated`: of `needs`, for the next ten requests and for all later ones. `wanted`: all needs of the next ten."""

    level: int
    tokens: int
    full: int
    appended: bool
    needs: tuple[int, int]
    kept: tuple[int, int]
    truncated: tuple[int, int]
    wanted: int
    lost: list[str]


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, metavar="PERCENT", help="of the budget that remain")
    parser.add_argument("--least", type=int, default=0, metavar="TOKENS", help="of the conversation (default: all)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--lost", action="store_true", help="by what needs of the next ten were lost, on standard error")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each level."""
    if not options.transcripts.exists():
        raise MissingData(f"there are no transcripts at {options.transcripts}")
    with memory_transcripts.unpacked(options.transcripts) as folder:
        found = _built(sorted(map(str, folder.glob("*.jsonl"))), options.levels, options.processes)
    found = [each for each in found if each.full >= options.least]
    if not found:
        raise MissingData(f"no session in {options.transcripts} has such a request")
    if options.lost:
        for level in options.levels:
            _tell_lost(level, [each for each in found if each.level == level])
    return [_row(level, [each for each in found if each.level == level]) for level in options.levels]


def _built(paths: Sequence[str], levels: Sequence[int], processes: int) -> list[Build]:
    found: list[Build] = []
    with ProcessPoolExecutor(processes) as pool:
        running = [pool.submit(builds, path, tuple(levels)) for path in sorted(paths, key=os.path.getsize, reverse=True)]
        for number, done in enumerate(as_completed(running), 1):
            found += done.result()
            print(f"\r{number} of {len(paths)} sessions", end="" if number < len(paths) else "\n", file=sys.stderr, flush=True)
    return found


def _row(level: int, found: Sequence[Build]) -> dict[str, object]:
    shares = [each.tokens / each.full for each in found]
    low, median, high = statistics.quantiles(shares, n=4) if len(shares) > 1 else shares * 3
    row: dict[str, object] = {
        "remaining": f"{level} %", "builds": len(found), "tokens q1": low, "median": median, "q3": high,
        "all": sum(each.tokens for each in found) / sum(each.full for each in found),
    }  # fmt: skip
    for at, name in enumerate((f"next {NEXT}", "later")):
        needs = max(1, sum(each.needs[at] for each in found))
        row[f"kept {name}"] = sum(each.kept[at] for each in found) / needs
        row[f"truncated {name}"] = sum(each.truncated[at] for each in found) / needs
    row["needs"] = sum(each.needs[0] for each in found)
    missed = sum(each.needs[0] - each.kept[0] for each in found)
    row["met"] = 1 - missed / max(1, sum(each.wanted for each in found))
    row["appended"] = sum(each.appended for each in found) / len(found)
    return row


def _tell_lost(level: int, found: Sequence[Build]) -> None:
    lost = Counter(why for each in found for why in each.lost)
    print(f"{level} %: {sum(lost.values())} needs of the next {NEXT} lost", file=sys.stderr)
    for why, times in lost.most_common(25):
        print(f"  {times:>5}  {why}", file=sys.stderr)


def builds(path: str, levels: Sequence[int]) -> list[Build]:
    """The builds at the prompts of one transcript."""
    session = sent_requests.read(path)
    states: dict[int, dict[str, Any] | None] = dict.fromkeys(levels)
    made = []
    for before, messages in context_transcripts.requests(path):
        tokens = [Meter().message(message) for message in messages]
        held = _results(messages)
        wanted = sum(len(request.needs) for request in session.requests[before : before + NEXT])
        later = [_needs(request.needs, held) for request in session.requests[before:]]
        asked = ([need for needs in later[:NEXT] for need in needs], [need for needs in later for need in needs])
        for level in levels:
            options = ContextBuildOptions(
                messages=messages, model=session.model, budgetPercent=100 - level, project=session.cwd, previous=states[level]
            )
            built = build_context(options)
            states[level] = built.state
            size = sum(Meter().message(message) for message in built.messages)
            shown, rest = _results(built.messages), _results(_truncated(messages, tokens, size))
            shown[REMAINS] = _added(messages, built.messages)
            lost = [_why(need, shown) for need in asked[0] if not _is_kept(need, shown)]
            needs = len(asked[0]), len(asked[1])
            made.append(Build(level, size, sum(tokens), built.appended, needs, _kept(asked, shown), _kept(asked, rest), wanted, lost))
    return made


def _needs(found: Iterable[tuple[str, list[Block]]], held: dict[str, str]) -> Needs:
    """What a request needed of what stood in the messages alone: what came since then is there whatever was built."""
    needs = [(string, [block.id for block in blocks]) for string, blocks in found]
    return [(string, ids) for string, ids in needs if all(string in held.get(id, "") for id in ids)]


def _results(messages: Iterable[Message]) -> dict[str, str]:
    """id -> text of the results in messages."""
    found = {}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                content = block.get("content")
                parts = content if isinstance(content, list) else [{"text": content}]
                texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
                found[block["tool_use_id"]] = "\n".join(texts)
    return found


def _added(messages: Iterable[Message], built: Iterable[Message]) -> str:
    """The texts that a build has put in."""
    known = {id(block) for message in messages for block in message["content"]}
    return "\n".join(
        block["text"] for message in built for block in message["content"] if block["type"] == "text" and id(block) not in known
    )


def _truncated(messages: Sequence[Message], tokens: Sequence[int], most: int) -> Sequence[Message]:
    """The newest messages, as many as have no more tokens together; what a cut has parted from its call does not count."""
    first, left = len(messages), most
    while first > 0 and tokens[first - 1] <= left:
        first -= 1
        left -= tokens[first]
    has_orphans = first < len(messages) and bool(_results(messages[first : first + 1]))
    return messages[first + 1 :] if has_orphans else messages[first:]


def _kept(asked: tuple[Needs, Needs], shown: dict[str, str]) -> tuple[int, int]:
    ten, later = (sum(_is_kept(need, shown) for need in needs) for needs in asked)
    return ten, later


def _is_kept(need: tuple[str, list[str]], shown: dict[str, str]) -> bool:
    string, ids = need
    return any(string in shown.get(id, "") for id in (*ids, REMAINS))


def _why(need: tuple[str, list[str]], shown: dict[str, str]) -> str:
    """What stands where the newest result was that held a string."""
    string, ids = need
    kind = "line" if " " in string else "name"
    text = shown.get(ids[-1])
    if text is None:
        return f"{kind}: its exchange is gone"
    return f"{kind}: {' '.join(text[:100].split())}"
