"""Which parts of a file that is read will be needed, told as it enters, and what it would bring to let in only those.

    python benchmarks/parts.py --transcripts FOLDER [--door any+strong] [--caution 0.6 1.2 1.6]

A part is a function or a section of 8 to 60 lines. It is needed when the assistant later writes a string that it holds and nothing else
that stands in the context. A logistic model tells how likely that is from what is known as the file enters; for each repository it is
fitted on all others. A part is left out when its odds are below caution x T / (1000 + T), T its tokens, and its result has 2,000 tokens;
in its place stands a line with its line numbers and its short names, in a tenth of its size. A part that is missed brings the whole result
back with one more request.

Printed are the AUC and the log loss on unseen repositories, for names that the last words share with a part (`overlap`) and for all; then
for an oracle and each caution, alone and after a door (see held_out.py): cost, carried, misses per 100 requests, dearer sessions.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from math import exp, log, log1p
from operator import mul
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import held_out
import own_sessions
from lab import fitting

from popkit_retention.core.policy.door.numbering import listed
from popkit_retention.core.policy.door.once import REMINDER
from popkit_retention.core.policy.outlines import outline
from popkit_retention.core.policy.tools import READ
from popkit_retention.core.state import shipped
from popkit_retention.lab import sent_requests
from popkit_retention.lab.recorded import CHARS_PER_TOKEN, Block, Request, Session, strings_of

LEAST_LINES, MOST_LINES = 8, 60
LEAST_SAVED = 300  # characters
NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
PLACE = re.compile(r"([\w.-]+\.\w{1,5})[:(](\d+)")
OVERLAP = ("bias", "prompt", "calls")
FEATURES = (
    *OVERLAP, "lines", "file", "place", "last", "new", "nothing new", "share new", "named lines", "head", "reads", "turn", "test", "prose",
)  # fmt: skip
L2 = 3.0
STEPS = 8
LAST_CALLS = 8
HALF_TOKENS = 1_000  # a part of so many is left out at half the odds of an endless one
LEAST_TOKENS = 2_000  # of a result that parts are left out of: of a smaller one a miss costs more than it brings


class Part(NamedTuple):
    """`lines`: [begin, end) in the result's text."""

    repository: str
    session: Session
    block: Block
    lines: tuple
    chars: int
    features: dict
    needed: int


def parts_of(lines: list) -> list:
    """[(begin, end)] of functions and sections: each begins at a line that is hardly indented, behind an empty one, or at a heading."""
    found, begin = [], 0
    for at in range(1, len(lines)):
        size, indent = at - begin, len(lines[at]) - len(lines[at].lstrip())
        opens = not lines[at - 1].strip() and lines[at].strip() and (indent == 0 or (indent <= 4 and size >= 20) or size >= 40)
        if (size >= LEAST_LINES and (opens or lines[at].startswith("#"))) or size >= MOST_LINES:
            found.append((begin, at))
            begin = at
    if found and len(lines) - begin < LEAST_LINES:
        begin = found.pop()[0]
    return [*found, (begin, len(lines))]


class Watch:
    """What is known of a context while a session goes on."""

    def __init__(self, repository: str, session: Session) -> None:
        self.repository, self.session = repository, session
        self.needed: dict = {}  # Block -> strings that only it and later ones held when they were needed
        for request in session.requests:
            for string, holders in request.needs:
                self.needed.setdefault(min(holders, key=lambda block: block.place), set()).add(string)
        self.parts: list = []
        self.prompt, self.prompted, self.calls, self.number, self.turn = "", False, [""], 0, 0
        self.compact()

    def compact(self, event: object = None) -> None:
        self.context: list = []
        self.spoken: set = set()  # strings of the user and the assistant
        self.held: Counter = Counter()  # string -> results that stand and hold it
        self.named: dict = {}  # file name -> numbers of lines that were spoken of
        self.reads = 0

    def event(self, event: object) -> None:
        self.prompted = True  # what the user says comes next

    def request(self, request: Request) -> None:
        self.number += 1

    def cut(self, kept: int, stays: list) -> None:
        before, after = set(self.context[kept:]), set(stays)
        for block in before - after:
            self.held -= Counter(strings_of(block.text))
        for block in after - before:  # of a branch that was left, and goes on
            self.held += Counter(strings_of(block.text))
        self.context = self.context[:kept] + stays

    def add(self, block: Block) -> None:
        self.context.append(block)
        text = block.text or self.session.texts.get(block, "")
        if block.id and block.call.operation == READ and not block.call.outcome.error and text:
            self.parts += self._parts(block)
            self.reads += 1
        else:
            for file, line in PLACE.findall(text[:60_000]):
                self.named.setdefault(file, set()).add(int(line))
        if block.id:
            self.held.update(strings_of(block.text))
            self.calls = [
                *self.calls[1 - LAST_CALLS :],
                " ".join(value for value in block.call.tool_input.values() if isinstance(value, str)),
            ]
        elif block in self.session.texts:
            self.spoken |= strings_of(text)
            if self.prompted:
                self.prompt, self.turn, self.prompted = text, self.number, False

    def _parts(self, block: Block) -> list:
        """The Parts of a Read that enters now."""
        whole = block.text.partition(REMINDER)[0].split("\n")
        lines = listed(whole)[0]
        places = parts_of(lines)
        names = [set(NAMES.findall("\n".join(lines[begin:end]))) for begin, end in places]
        rare = Counter(name for some in names for name in some)
        number = re.match(r"\s*(\d+)", whole[0])
        first, left, found = int(number[1]) if number else 1, set(self.needed.get(block, ())), []
        for at, (begin, end) in enumerate(places):
            strings = strings_of("\n".join(whole[begin:end]))
            features = {
                **self._of_file(block, lines, first + begin, first + end),
                **self._of_words(lines[begin:end], {name: log(1 + len(places) / rare[name]) for name in names[at]}),
                **self._of_strings(strings),
                "place": at / len(places),
                "last": float(at == len(places) - 1),
            }
            chars = sum(map(len, whole[begin:end])) + end - begin
            found.append(Part(self.repository, self.session, block, (begin, end), chars, features, int(not strings.isdisjoint(left))))
            left -= strings
        return found

    def _of_file(self, block: Block, lines: list, begin: int, end: int) -> dict:
        file = str(block.call.tool_input.get("file_path") or "").rpartition("/")[2]
        return {
            "bias": 1.0,
            "lines": log(end - begin),
            "file": log(len(lines)),
            "named lines": log1p(sum(begin <= line < end for line in self.named.get(file, ()))),
            "reads": log1p(self.reads),
            "turn": log1p(self.number - self.turn),
            "test": float("test" in file or "spec" in file),
            "prose": float(file.endswith(".md")),
        }

    def _of_words(self, lines: list, weights: dict) -> dict:
        """What a part's names have in common with the prompt and the last calls; `weights`: how rare each is in the file."""
        asked, called = set(NAMES.findall(self.prompt[:6_000])), set(NAMES.findall("\n".join(self.calls)[:8_000]))
        prompt, calls = (log1p(sum(weights[name] for name in some & weights.keys())) for some in (asked, called))
        head = set(NAMES.findall(" ".join(lines[:2])))
        return {"prompt": prompt, "calls": calls, "head": float(bool(head & (asked | called)))}

    def _of_strings(self, strings: set) -> dict:
        """How much of a part nothing else in the context holds."""
        new = sum(string not in self.spoken and not self.held[string] for string in strings)
        return {"new": log1p(new), "nothing new": float(not new), "share new": new / max(1, len(strings))}


def read_parts(folder: Path) -> tuple:
    """([(repository, Session)], [Part])."""
    read, parts = [], []
    for path in own_sessions.below(folder):
        session = sent_requests.read(str(path), with_texts=True)
        if len(session.requests) >= held_out.LEAST_REQUESTS:
            watch = Watch(own_sessions.repository_of(path), session)
            for kind, *what in session.steps:
                getattr(watch, kind)(*what)
            read.append((watch.repository, session))
            parts += watch.parts
    return read, parts


def fitted(parts: list, names: tuple) -> list:
    """The weights of the logistic regression over these parts."""
    columns = [[part.features[name] for part in parts] for name in names]
    weights = [0.0] * len(names)
    for _ in range(STEPS):
        chances = probabilities(columns, weights)
        wrong = [chance - part.needed for chance, part in zip(chances, parts)]
        steep = [chance * (1 - chance) for chance in chances]
        gradient = [sum(map(mul, wrong, column)) + L2 * weight for column, weight in zip(columns, weights)]
        bent = [list(map(mul, steep, column)) for column in columns]
        curvature = [[sum(map(mul, bent[row], columns[at])) + L2 * (row == at) for at in range(row + 1)] for row in range(len(names))]
        weights = [weight - step for weight, step in zip(weights, fitting.solve(curvature, gradient))]
    return weights


def probabilities(columns: list, weights: list) -> list:
    """The probabilities of rows that stand in columns."""
    totals = [0.0] * len(columns[0])
    for weight, column in zip(weights, columns):
        totals = [total + weight * value for total, value in zip(totals, column)]
    return [1 / (1 + exp(-max(-30.0, min(30.0, total)))) for total in totals]


def chances_of(parts: list, names: tuple) -> list:
    """How likely each part is needed, by what the other repositories teach."""
    chances = [0.0] * len(parts)
    for held in sorted({part.repository for part in parts}):
        weights = fitted([part for part in parts if part.repository != held], names)
        places = [at for at, part in enumerate(parts) if part.repository == held]
        columns = [[parts[at].features[name] for at in places] for name in names]
        for at, chance in zip(places, probabilities(columns, weights)):
            chances[at] = chance
    return chances


def goes(part: Part, chance: float, most: float) -> bool:
    """Whether a part stays outside, at these odds at most."""
    return part.block.tokens >= LEAST_TOKENS and chance < most * (1 - chance)


def texts_with(parts: list, out: list, entered: dict) -> dict:
    """{Session: {Block: text}}: what enters without the parts that are out, where that is shorter than what a door lets in."""
    texts = {session: dict(some) for session, some in entered.items()}
    blocks: dict = {}
    for part, gone in zip(parts, out):
        blocks.setdefault(part.block, []).append((part, gone))
    for block, some in blocks.items():
        text, mine = shortened(block, some), texts[some[0][0].session]
        if len(text) < len(mine.get(block, block.text)):
            mine[block] = text
    return texts


def shortened(block: Block, parts: list) -> str:
    """A result's text with a line in the place of each row of parts that are out."""
    text, added, rest = block.text.partition(REMINDER)
    whole, kept, at = text.split("\n"), [], 0
    while at < len(parts):
        end = at + 1
        while end < len(parts) and parts[end][1] == parts[at][1]:
            end += 1
        begin, stop = parts[at][0].lines[0], parts[end - 1][0].lines[1]
        hidden = "\n".join(whole[begin:stop])
        names = outline(hidden)
        note = f"[lines {begin + 1}-{stop} of this not shown{': ' if names else ''}{names}]"
        kept += [note] if parts[at][1] and len(hidden) - len(note) >= LEAST_SAVED else whole[begin:stop]
        at = end
    return "\n".join(kept) + added + rest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--door", type=held_out.door_named, default="any+strong", help="what else enters shorter (default: any+strong)")
    parser.add_argument("--caution", nargs="+", type=float, default=[0.6, 1.2, 1.6], help="odds up to which a part stays outside")
    options = parser.parse_args()
    read, parts = read_parts(options.transcripts)
    labels = [part.needed for part in parts]
    print(f"{len(parts):,} parts, {sum(labels) / len(parts):.1%} needed", flush=True)
    for name, features in (("overlap", OVERLAP), ("all", FEATURES)):
        chances = chances_of(parts, features)
        print(f"{name:<8} AUC {fitting.auc(chances, labels):.3f}, log loss {fitting.log_loss(chances, labels):.3f}", flush=True)
    named = held_out.Named(options.door, shipped.rules(), {})
    named.read(read)
    nothing: dict = {session: {} for _, session in read}
    rules = [("oracle", [not needed for needed in labels])]
    for caution in options.caution:
        odds = [caution * part.chars / (HALF_TOKENS * CHARS_PER_TOKEN + part.chars) for part in parts]
        rules.append((f"caution {caution:g}", [goes(*some) for some in zip(parts, chances, odds)]))
    for name, out in rules:
        for after, entered in (("", nothing), (f" after {options.door}", named.entered)):
            texts = texts_with(parts, out, entered)
            print(f"{name}{after}\n{held_out.HEAD}")
            for prices in held_out.all_prices():
                found = held_out.compared(read, prices, lambda repository, session, texts=texts: held_out.Entered(dict(texts[session])))
                print(held_out.row(prices, found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
