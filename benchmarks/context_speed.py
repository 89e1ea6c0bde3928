"""How long a build takes: `python benchmarks/context.py speed [--tokens N] [--runs N] [--model NAME] [--transcripts FOLDER]`.

The conversation is made up: a user asks, an agent reads, searches, runs tests and edits, thinks and answers, up to so many tokens. `first`:
a build that is handed no state, in a process that has counted and judged these messages before. `cold`: in one that has not, as where a
client starts in the middle of a conversation. `next`: the client has gone on by one exchange and hands in the state. `snapshots`: the same
build through the service of the clients, in pairs, without and with a database that it is written to; `added` is the median difference.
Counting is that of a text that was not counted before. `cpu ms`: what the median run used of the processor, which a busy machine does not
lengthen. `recorded`: of each recorded session the request that comes closest to so many tokens, where that is within a quarter of it; the
median of these conversations and the slowest of them, each the median of its runs. With the name of a model of OpenAI's, such as gpt-5, the
same conversations are built in the form of its chats, and counted with its vocabulary.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import context_transcripts
import memory_transcripts
from sections import MissingData

from popkit_retention.context import judging, tokens
from popkit_retention.context.build_types import ContextBuildOptions
from popkit_retention.context.builder import build_context
from popkit_retention.context.meter import Meter
from popkit_retention.context.provider_forms import Provider
from popkit_retention.context.requests import Caller, Request
from popkit_retention.context.service import ContextService
from popkit_retention.context.tokens import count, vocabulary_of
from popkit_retention.context.usage_log import DatabaseLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from popkit_retention.context.build_types import ContextResult
    from popkit_retention.context.sources import Sources

    Message = dict[str, Any]

TOKENS = 200_000
RUNS = 21
TEXT_BYTES = 200_000
LEVELS = (90, 70, 50, 30)
MODEL = "claude-opus-4-6"
_WORDS = "basket price order customer shipping discount tax invoice ledger refund stock shelf parcel courier receipt total".split()


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of the conversation (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--model", default=MODEL, help="that the conversation is built for (default: %(default)s)")
    parser.add_argument("--transcripts", type=Path, help="recorded sessions to build for too: a folder of *.jsonl, or an archive (.tar.xz)")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each thing that is timed, in milliseconds."""
    model = options.model
    messages = _as_sent(conversation(options.tokens), model)
    later = [*messages, *_as_sent(exchange(random.Random(-1), 10_000), model)]
    rows = []
    for level in LEVELS:
        asked = _options(messages, level, model)
        state = build_context(asked).state
        rows.append(_row(f"build, {level} % remain, first", [_timed(lambda: build_context(asked)) for _ in range(options.runs)]))  # noqa: B023
        rows.append(_row(f"build, {level} % remain, cold", [_timed_cold(lambda: build_context(asked)) for _ in range(options.runs)]))  # noqa: B023
        then = _options(later, level, model, state)
        rows.append(_row(f"build, {level} % remain, next", [_timed(lambda: build_context(then)) for _ in range(options.runs)]))  # noqa: B023
    recorded = _recorded(options.transcripts, options.tokens, options.runs, model) if options.transcripts else []
    return [*rows, *recorded, *_snapshots(messages, options.runs, model), *_counting(options.runs)]


def _recorded(source: Path, tokens: int, runs: int, model: str) -> list[dict[str, object]]:
    """Cold builds of the conversations in recorded sessions. MissingData where there is none of that size."""
    if not source.exists():
        raise MissingData(f"there are no transcripts at {source}")
    with memory_transcripts.unpacked(source) as folder:
        found = [_as_sent(messages, model) for path in sorted(folder.glob("*.jsonl")) if (messages := _nearest(str(path), tokens))]
    if not found:
        raise MissingData(f"no session in {source} has a request of about {tokens:,} tokens")
    rows = []
    for level in LEVELS:
        taken = []
        for messages in found:
            asked = _options(messages, level, model)
            taken.append(_median([_timed_cold(lambda: build_context(asked)) for _ in range(runs)]))  # noqa: B023
        rows.append(_row(f"build, {level} % remain, cold, {len(found)} recorded", taken))
    return rows


def _nearest(path: str, tokens: int) -> list[Message]:
    """The messages of the request in a session that comes closest to so many tokens; none where that is not within a quarter of it."""
    sizes = ((abs(sum(Meter().message(message) for message in sent) - tokens), sent) for _, sent in context_transcripts.requests(path))
    off, sent = min(sizes, key=lambda each: each[0], default=(tokens, []))
    return sent if off <= tokens / 4 else []


def _median(taken: list[tuple[float, float]]) -> tuple[float, float]:
    wall, cpu = zip(*taken)
    return statistics.median(wall), statistics.median(cpu)


def _options(messages: list[Message], level: int, model: str, state: dict[str, Any] | None = None) -> ContextBuildOptions:
    return ContextBuildOptions(
        messages=messages, model=model, provider=_provider(model), budgetPercent=100 - level, project="/project", previous=state
    )


def _provider(model: str) -> Provider:
    return Provider.OPENAI if vocabulary_of(model) else Provider.ANTHROPIC


def _as_sent(messages: list[Message], model: str) -> list[Message]:
    """Messages of Anthropic's form in that of a model's provider. OpenAI's chats have no place for thinking that is signed."""
    if _provider(model) is Provider.ANTHROPIC:
        return messages
    return [sent for message in messages for sent in _as_chat(message)]


def _as_chat(message: Message) -> list[Message]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results = [
        {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _text(block.get("content"))}
        for block in blocks
        if block["type"] == "tool_result"
    ]
    calls = [
        {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    said = {"role": message["role"], "content": _text(blocks), **({"tool_calls": calls} if calls else {})}
    return [*results, said] if said["content"] or calls else results


def _text(content: Any) -> str:
    """The text of a message or a result; blocks of other kinds count for nothing here."""
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content or () if block["type"] == "text")


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that it took, and those of the processor."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return 1_000 * (time.perf_counter() - began), 1_000 * (time.process_time() - used)


def _timed_cold(work: Callable[[], object]) -> tuple[float, float]:
    judging._folds.clear()
    tokens._counts.clear()
    return _timed(work)


def _row(what: str, taken: list[tuple[float, float]], added: str = "") -> dict[str, object]:
    wall, cpu = zip(*taken)
    middle, most, used = (f"{value:.1f}" for value in (statistics.median(wall), max(wall), statistics.median(cpu)))
    return {"what": what, "median ms": middle, "most ms": most, "cpu ms": used, "added ms": added}


def _snapshots(messages: list[Message], runs: int, model: str) -> list[dict[str, object]]:
    """Builds of sessions of their own, in pairs without and with a log; what is written, is written behind them."""
    with tempfile.TemporaryDirectory() as folder:
        log = DatabaseLog({"POPKIT_HOME": folder})
        services = [ContextService(_at_70), ContextService(_at_70, log=log)]
        taken: list[list[tuple[float, float]]] = [[], []]
        for number in range(-1, runs):  # the first opens the database
            request = Request(_provider(model), model, messages)
            for at, service in enumerate(services):
                caller = Caller("dana", session_id=f"s{number}")
                needed = _timed(lambda: service.build(caller, request))  # noqa: B023
                if number >= 0:
                    taken[at].append(needed)
            log.flush(5.0)
        log.close()
    differences = [with_log[0] - without[0] for without, with_log in zip(*taken)]
    added = f"{statistics.median(differences):.2f}"
    return [_row("service, without snapshots", taken[0]), _row("service, with snapshots", taken[1], added)]


def _at_70(options: ContextBuildOptions, sources: Sources) -> ContextResult:
    return build_context(options.model_copy(update={"budget_used_percent": 30.0}), sources)


def _counting(runs: int) -> list[dict[str, object]]:
    rows = []
    for model, name in (("", "estimate"), ("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")):
        if model and not count("loads the vocabulary", model).exact:
            continue
        texts = [_source(random.Random(number), TEXT_BYTES) for number in range(runs)]
        rows.append(_row(f"count_tokens of 200 KB, {name}", [_timed(lambda: count(text, model)) for text in texts]))  # noqa: B023
    return rows


def conversation(tokens: int) -> list[Message]:
    """Messages of Anthropic's form with at least so many tokens; the last is a request of the user's."""
    chance, have = random.Random(7), 0
    messages: list[Message] = []
    while have < tokens:
        more = exchange(chance, len(messages))
        messages += more
        have += sum(Meter().message(message) for message in more)
    return [*messages, {"role": "user", "content": "Now change how the total is rounded, and run the tests."}]


def exchange(chance: random.Random, number: int) -> list[Message]:
    """A request with what answers it: some calls with their results, thinking, a last word."""
    messages: list[Message] = [{"role": "user", "content": f"Look at step {number}: {_sentence(chance, 30)}"}]
    for at in range(chance.randint(2, 9)):
        id, path = f"toolu_{number}_{at}", f"src/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}.py"
        name, given, result = chance.choice((_read, _read, _search, _tests, _edit))(chance, path)
        blocks = [{"type": "text", "text": _sentence(chance, 15)}, {"type": "tool_use", "id": id, "name": name, "input": given}]
        if at % 3 == 0:
            blocks.insert(0, {"type": "thinking", "thinking": _sentence(chance, 60), "signature": "s" * 700})
        messages.append({"role": "assistant", "content": blocks})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]})
    return [*messages, {"role": "assistant", "content": [{"type": "text", "text": _sentence(chance, 60)}]}]


def _read(chance: random.Random, path: str) -> tuple[str, dict[str, Any], str]:
    lines = _source(chance, chance.randint(500, 20_000)).split("\n")
    return "Read", {"file_path": f"/project/{path}"}, "\n".join(f"{at:>6}→{line}" for at, line in enumerate(lines, 1))


def _search(chance: random.Random, path: str) -> tuple[str, dict[str, Any], str]:
    found = [f"{path}:{chance.randint(1, 900)}:{_line(chance)}" for _ in range(chance.randint(1, 60))]
    return "Grep", {"pattern": chance.choice(_WORDS), "output_mode": "content"}, "\n".join(found)


def _tests(chance: random.Random, path: str) -> tuple[str, dict[str, Any], str]:
    passed = [f"tests/{path}::test_{chance.choice(_WORDS)}_{at} PASSED" for at in range(chance.randint(5, 80))]
    return "Bash", {"command": "python -m pytest -v"}, "\n".join([*passed, f"{len(passed)} passed in 1.2s"])


def _edit(chance: random.Random, path: str) -> tuple[str, dict[str, Any], str]:
    old, new = (_source(chance, chance.randint(100, 2_000)) for _ in range(2))
    given = {"file_path": f"/project/{path}", "old_string": old, "new_string": new}
    return "Edit", given, f"The file /project/{path} has been updated."


def _source(chance: random.Random, size: int) -> str:
    lines, have = [], 0
    while have < size:
        lines.append(_line(chance))
        have += len(lines[-1]) + 1
    return "\n".join(lines)[:size]


def _line(chance: random.Random) -> str:
    first, second, third = chance.choices(_WORDS, k=3)
    return f"{'    ' * chance.randint(0, 3)}{first}_{second} = {third}.of({first!r}, {chance.randint(1, 9_999)})"


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words)).capitalize() + "."
