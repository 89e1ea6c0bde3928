"""How many tokens a built context of a chat without tools has, and how much of what is said later is still in it.

The chats are recorded sessions with the calls of their tools, the results of these and the thinking taken out. At every message of the
user's from exchange --exchanges on a context is built, at each level of what remains of the budget, each build with the state of the one
before at that level. `tokens`: against the whole chat, of all builds together and as quartiles; `sent`: exchanges of the history that were
sent, of all. A *need* is an identifier (a path, a version, a name with a digit, a dot, an underline, a slash or a capital within, of at
least four characters) that a later exchange writes, that an exchange of the history was the first to write, and that the request itself
does not hold; `kept` is the share of these that the built messages show, of the next five exchanges and of all later ones. `in place`:
without what stands for exchanges that have left. `words`: the same of words of six letters or more that one exchange of the history alone
holds. `truncated`: `kept` of the newest exchanges alone, as many as have no more tokens than the build. `appended`: the share of builds
that changed nothing of what the build before had sent.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import context_transcripts
import memory_transcripts
from sections import MissingData

from popkit_retention.context.build_types import ContextBuildOptions
from popkit_retention.context.builder import build_context
from popkit_retention.context.meter import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from context_transcripts import Message

LEVELS = (90, 70, 50, 30)
NEXT = 5
_TOKEN = re.compile(r"[A-Za-z0-9_@~./-]{3,190}[A-Za-z0-9_]")
_has_shape = re.compile(r".*(?:[_./0-9]|[a-z][A-Z])").match
_WORD = re.compile(r"\b[a-z]{6,}\b")
REMAINS = "PopKit left out what was said before."


class Build(NamedTuple):
    """One build. Of `next`, `later`, `words`: how many needs, how many of them are kept. `in_place`, `truncated`: kept of `next`."""

    level: int
    tokens: int
    full: int
    sent: int
    history: int
    next: tuple[int, int]
    later: tuple[int, int]
    words: tuple[int, int]
    in_place: int
    truncated: int
    appended: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    memory_transcripts.add_option(parser)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, metavar="PERCENT", help="of the budget that remain")
    parser.add_argument("--exchanges", type=int, default=10, metavar="N", help="of the history, at least (default: 10)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each level."""
    if not options.transcripts.exists():
        raise MissingData(f"there are no transcripts at {options.transcripts}")
    with memory_transcripts.unpacked(options.transcripts) as folder, ProcessPoolExecutor(options.processes) as pool:
        paths = sorted(map(str, folder.glob("*.jsonl")), key=os.path.getsize, reverse=True)
        built = list(pool.map(builds, paths, [tuple(options.levels)] * len(paths), [options.exchanges] * len(paths)))
    found = [build for each in built for build in each]
    if not found:
        raise MissingData(f"no session in {options.transcripts} is a chat of so many exchanges")
    print(f"{sum(bool(each) for each in built)} chats of {len(paths)} sessions", file=sys.stderr)
    return [_row(level, [each for each in found if each.level == level]) for level in options.levels]


def _row(level: int, found: Sequence[Build]) -> dict[str, object]:
    shares = [each.tokens / each.full for each in found]
    low, median, high = statistics.quantiles(shares, n=4) if len(shares) > 1 else shares * 3
    asked = max(1, sum(each.next[0] for each in found))
    return {
        "remaining": f"{level} %", "builds": len(found), "tokens q1": low, "median": median, "q3": high,
        "all": sum(each.tokens for each in found) / sum(each.full for each in found),
        "sent": f"{sum(each.sent for each in found)} of {sum(each.history for each in found)}",
        "needs": asked,
        f"kept next {NEXT}": sum(each.next[1] for each in found) / asked,
        "in place": sum(each.in_place for each in found) / asked,
        "truncated": sum(each.truncated for each in found) / asked,
        "kept later": _share(each.later for each in found),
        "words": _share(each.words for each in found),
        "appended": sum(each.appended for each in found) / len(found),
    }  # fmt: skip


def _share(pairs: Iterable[tuple[int, int]]) -> float:
    pairs = list(pairs)
    return sum(kept for _, kept in pairs) / max(1, sum(asked for asked, _ in pairs))


def builds(path: str, levels: Sequence[int], least: int) -> list[Build]:
    """The builds of one session's chats: of what each compaction left, its longest form."""
    chats: list[list[Message]] = []
    for _, messages in context_transcripts.requests(path):
        chat = without_tools(messages)
        if chats and chat[: len(chats[-1])] == chats[-1]:
            chats[-1] = chat
        else:
            chats.append(chat)
    return [build for chat in chats for build in _of_chat(chat, levels, least)]


def without_tools(messages: Iterable[Message]) -> list[Message]:
    """The texts of messages alone, roles alternating."""
    chat: list[Message] = []
    for message in messages:
        texts = [{"type": "text", "text": block["text"]} for block in message["content"] if block["type"] == "text"]
        if texts and chat and chat[-1]["role"] == message["role"]:
            chat[-1]["content"] += texts
        elif texts and (chat or message["role"] == "user"):
            chat.append({"role": message["role"], "content": texts})
    return chat


def _of_chat(chat: Sequence[Message], levels: Sequence[int], least: int) -> list[Build]:
    exchanges = [chat[at : at + 2] for at in range(0, len(chat), 2)]
    texts = [_text(exchange) for exchange in exchanges]
    states: dict[int, dict[str, Any] | None] = dict.fromkeys(levels)
    made = []
    for at in range(1, len(exchanges)):
        messages = list(chat[: 2 * at + 1])
        request, before = _text(messages[-1:]), texts[:at]
        later = [_text(exchanges[at][1:]), *texts[at + 1 :]]
        known = _identifiers("\n".join(before)) - _identifiers(request)
        needs = [[name for name in _identifiers(text) if name in known] for text in later]
        held = Counter(word for text in before for word in set(_WORD.findall(text)))
        words = [word for text in later[:NEXT] for word in set(_WORD.findall(text)) if held[word] == 1 and word not in request]
        for level in levels:
            options = ContextBuildOptions(messages=messages, budgetPercent=100 - level, previous=states[level])
            built = build_context(options)
            states[level] = built.state
            if at < least:
                continue
            shown, in_place = _text(built.messages), _text(built.messages, without=REMAINS)
            rest = _text(_truncated(messages, built.total_tokens))
            soon, all_later = ([name for some in chosen for name in some] for chosen in (needs[:NEXT], needs))
            kept = [(len(wanted), _kept(wanted, shown)) for wanted in (soon, all_later, words)]
            sizes = (built.total_tokens, built.full_tokens, (len(built.messages) - 1) // 2, at)
            made.append(Build(level, *sizes, kept[0], kept[1], kept[2], _kept(soon, in_place), _kept(soon, rest), built.appended))
    return made


def _identifiers(text: str) -> set[str]:
    return set(filter(_has_shape, _TOKEN.findall(text)))


def _kept(needs: Iterable[str], shown: str) -> int:
    return sum(need in shown for need in needs)


def _text(messages: Iterable[Message], without: str = "\0") -> str:
    return "\n".join(block["text"] for message in messages for block in message["content"] if not block["text"].startswith(without))


def _truncated(messages: Sequence[Message], most: int) -> Sequence[Message]:
    """The newest messages, as many as have no more tokens together."""
    first, meter = len(messages), Meter()
    while first > 0 and (most := most - meter.message(messages[first - 1])) >= 0:
        first -= 1
    return messages[first:]
