"""How good the estimates of tokens are, step by step against the usage of recorded requests.

    python benchmarks/tokens.py --transcripts FOLDER [FOLDER …]

A step is what the prompt of one request has more than the one before: results, calls, words, thinking. It counts as the kind that most of
it is (60 % of the estimate), where nothing came with it that the recording does not hold as text (attachments, pictures, characters of
CJK), and the model is the same. For each model and kind, and for all models of one factor: how many steps, characters a token (of all
text, by the growth of the prompt), and estimate by usage: the median, and the middle half. An estimate is the engine's, times the model's
factor (`tokens` in the table of models); the session's own calibration, which mends what is left, has no part in it.

Below: the context as it is shown right before a request, from the tenth on, by that request's own usage: the median, the share of requests
that are met within 5 %, and how far the worst twentieth is off. `from the first`: base, and all that was estimated since the first request
or the last compaction, with the calibration that the session had then, by usage.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from popkit_retention.core.hosts.transcripts import entries, transcript, usage
from popkit_retention.core.policy import events, kinds
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.estimate import RESULT_TOKENS, estimate_tokens, tokens_of, wide_chars
from popkit_retention.core.policy.messages import call_tokens, texts_in, thinking_tokens
from popkit_retention.core.state import rebuild, shipped

SHARE, LEAST, FEWEST = 0.6, 300, 8
FROM = 10
WITHIN = 0.05
# A prompt that grows by so many times less or more has lost or got something that the recording does not tell of.
MOST = 4


class Part(NamedTuple):
    kind: str
    chars: int
    tokens: int


class Step(NamedTuple):
    """`model`: id · `parts`: what came, `grown`: tokens that the prompt has more."""

    model: str
    parts: list[Part]
    grown: int

    @property
    def estimated(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def kind(self) -> str:
        """The kind that most of it is; "" for none."""
        sums: dict = defaultdict(int)
        for part in self.parts:
            sums[part.kind] += part.tokens
        kind = max(sums, key=sums.__getitem__, default="")
        return kind if kind and sums[kind] >= SHARE * self.estimated else ""


class Steps:
    """Reads a transcript as the steps of its main thread, or of a subagent's own file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.index = transcript.index(path)
        self.reader = transcript.Reader(self.index)
        self.rules = shipped.rules()
        self.cwd = ""
        self.before: tuple = ("", 0)  # model and tokens of the request before; 0 where a compaction came since
        self.message: object = None
        self._empty()

    def _empty(self) -> None:
        self.parts: list[Part] = []
        self.is_all = True  # whether everything that came is text in the recording

    def read(self) -> Iterator[Step]:
        for entry in entries.read(self.path, self.index.size):
            for event in self.reader.events(entry):
                if isinstance(event, events.Call):
                    self._result(event)
                elif isinstance(event, events.Compacted):
                    self.before = ("", 0)
            if isinstance(entry.get("attachment"), dict):
                self.is_all = False
            blocks = entries.blocks_of(entry)
            if entry.get("uuid") in self.index.chain or any(block.get("id") in self.index.calls for block in blocks):
                yield from self._request(entry)
                self._words(entry, blocks)

    def _request(self, entry: dict) -> Iterator[Step]:
        sent = usage.usage_of(entry)
        if sent is None or entry["message"].get("id") == self.message:
            return
        model, tokens = self.before
        step = Step(sent.model, self.parts, sent.tokens - tokens)
        if self.is_all and tokens and model == sent.model and step.grown >= LEAST and 1 / MOST < step.estimated / step.grown < MOST:
            yield step
        self.message, self.before = entry["message"].get("id"), (sent.model, sent.tokens)
        self._empty()

    def _add(self, kind: str, text: str, tokens: int) -> None:
        self.is_all &= not wide_chars(text)
        self.parts.append(Part(kind, len(text), tokens))

    def _result(self, call: events.Call) -> None:
        outcome, classified = call.outcome, classify(call, self.cwd or call.cwd, self.rules)
        self.cwd = call.cwd or self.cwd
        self.is_all &= not (outcome.image_tokens or outcome.wide)
        kind = "edited" if classified.kind == kinds.ACK else classified.content
        self.parts.append(Part(kind, outcome.chars, RESULT_TOKENS + tokens_of(outcome.chars, 0, classified.content)))

    def _words(self, entry: dict, blocks: list) -> None:
        said = "wrote" if entry.get("type") == "assistant" else "said"
        content = entry["message"].get("content") if isinstance(entry.get("message"), dict) else None
        if isinstance(content, str):
            self._add(said, content, estimate_tokens(content))
        for block in blocks:
            if isinstance(block.get("text"), str):
                self._add(said, block["text"], entries.text_tokens(block))
            elif block.get("type") == "tool_use":
                self._add("called", "".join(texts_in(block.get("input"))), call_tokens(block.get("input")))
            elif thinking_tokens(block):
                self.parts.append(Part("thought", round(2.7 * thinking_tokens(block)), thinking_tokens(block)))
            elif block.get("type") == "image":
                self.is_all = False


class Shown:
    """Follows a rebuild: (model, shown by usage, from the first by usage) of each request from the tenth on."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float]] = []
        self.prompt = self.count = self.since = self.begin = 0

    def watch(self, entry: dict, conversation: Conversation) -> None:
        if conversation.count > self.count:
            self.count = conversation.count
            sent, added = conversation.requests[-1]
            if len(conversation.requests) == 1 or not conversation.requests[-2][0].tokens:
                self.begin, self.since = sent.tokens, 0
            else:
                self.since += added
                whole = self.begin + self.since * conversation.state.calibration
                if self.count > FROM:
                    self.rows.append((sent.model, self.prompt / sent.tokens, whole / sent.tokens))
        self.prompt = conversation.prompt


def steps_of(path: Path) -> list[Step]:
    """The steps of a transcript."""
    return list(Steps(str(path)).read())


def shown_of(path: Path) -> list[tuple[str, float, float]]:
    """What a session showed before each request, by that request's usage."""
    shown = Shown()
    rebuild.rebuild(str(path), [], shipped.rules, watch=shown.watch)
    return shown.rows


def ratios(steps: list[Step], factor: float) -> dict[str, list[float]]:
    """kind -> estimate by usage of each step that is of it."""
    by_kind: dict = defaultdict(list)
    for step in steps:
        if step.kind:
            by_kind[step.kind].append(step.estimated * factor / step.grown)
    return by_kind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, nargs="+", required=True, help="folders of *.jsonl")
    options = parser.parse_args()
    models = shipped.rules().models
    steps: dict = defaultdict(list)  # (model, its factor)
    shown: dict = defaultdict(list)
    for path in sorted(path for folder in options.transcripts for path in folder.glob("*.jsonl")):
        for step in steps_of(path):
            factor = models.model(step.model).tokens
            steps[step.model, factor].append(step)
            steps[f"all of factor {factor:g}", factor].append(step)
        for model, *row in shown_of(path):
            shown[model].append(row)
    print(f"{'model':<28} {'kind':<9} steps   chars/token   estimate by usage")
    for (model, factor), every in sorted(steps.items()):
        for kind, found in sorted(ratios(every, factor).items()):
            if len(found) >= FEWEST:
                rate = statistics.median(sum(part.chars for part in one.parts) / one.grown for one in every if one.kind == kind)
                low, median, high = statistics.quantiles(found, n=4)
                print(f"{model:<28} {kind:<9} {len(found):>5}   {rate:>11.2f}   {median:.2f} ({low:.2f} to {high:.2f})")
    print(f"\n{'model':<28} requests   shown by usage   within 5 %   worst 5 % off by   from the first")
    for model, rows in sorted(shown.items()):
        if len(rows) >= FEWEST:
            off = sorted(abs(one - 1) for one, _ in rows)
            share = sum(one <= WITHIN for one in off) / len(off)
            median, whole = (statistics.median(row[at] for row in rows) for at in (0, 1))
            print(f"{model:<28} {len(rows):>8}   {median:>14.4f}   {share:>9.1%}   {off[int(0.95 * len(off))]:>15.1%}   {whole:>13.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
