"""What a compaction would keep of what is needed if it also kept sections of the results that leave.

    python benchmarks/compacting_sections.py --transcripts FOLDER [--lines N]

At the boundaries of compacting.py ours compacts to a smaller target; the room that this gives is filled with sections of so many lines, of
the results that do not stand whole. A logistic regression says how likely one holds something that is needed: by its result (age,
operation, need, whether it has ended, whether it is the newest call on its file), by itself (tokens, strings, how many of these stand in
other results too), by the words that the last 5 and 20 calls and the last prompt share with it, and by its distance from lines that were
edited. It is fitted on the other repositories. *oracle*: the sections that hold most of the needs. Both take what ours takes at the whole
target, in tokens.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compacting  # which puts the folders of the plugin there
import own_sessions
from lab.fitting import solve

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.messages import USER, Message, texts_in
from popkit_retention.core.policy.tools import READ, SHELLS
from popkit_retention.core.policy.ways import UNKNOWN_NEED, file_of
from popkit_retention.lab.recorded import strings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compacting import Case

TARGET, GIVEN = 0.2, (0.02, 0.04, 0.08)  # of the conversation: all that stays, and what of it is sections
_RECENT, _EARLIER = 5, 20  # calls
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_NUMBER = re.compile(r"\s*\d+(?:→|\t)")
_STEPS, _L2 = 8, 1.0
_LEAST_CHARS = 12  # of a line that tells where an edit was
_FAR = 200  # lines from the nearest that was edited, where none was
_MARK = 3  # tokens that tell where a section was


class Section(NamedTuple):
    """Some lines of a result: the id of its call, the lines, their tokens, which needs they hold, the features that a model sees."""

    id: str
    text: str
    tokens: float
    needs: frozenset[str]
    seen: list[float]


def sections(case: Case, size: int) -> list[Section]:
    """All sections of so many lines of a conversation's results that hold strings."""
    calls = [each for message, after in zip(case.messages, case.messages[1:]) for each in zip(message.uses, after.results)]
    state, tools = case.conversation.state, case.conversation.rules.tools
    known = {result.id: result for result in case.conversation.results() if not result.cleared}
    told = [_words("\n".join(texts_in(use.input))) for use, _ in calls]
    recent, earlier = _counted(told[-_RECENT:]), _counted(told[-_EARLIER:])
    asked = _counted([_words(next((each.text for each in reversed(case.messages) if each.role == USER and each.text), ""))])
    spread = _counted(_words(shown.text) for _, shown in calls)
    places = _counted(strings_of(shown.text) for _, shown in calls)
    newest = {file_of(use): use.id for use, _ in calls}
    edited: dict[str, set[str]] = {}
    for use, _ in calls:
        if use.traits.on_disk:
            edited.setdefault(file_of(use), set()).update(line.strip() for text in texts_in(use.input) for line in text.splitlines())

    def shared(words: set[str], with_: Counter[str]) -> float:
        """How much rare words of a section have been on: its three rarest."""
        weights = (math.log((len(calls) + 1) / spread[word]) * math.log1p(with_[word]) for word in words if with_[word])
        return sum(sorted(weights, reverse=True)[:3])

    found = []
    for age, (use, shown) in zip(range(len(calls) - 1, -1, -1), calls):
        result, lines, file = known.get(use.id), shown.text.splitlines(), file_of(use)
        need = UNKNOWN_NEED if result is None else case.soon.probability(result, state, tools)
        of_edit = {
            at
            for at, line in enumerate(lines)
            if len(line) >= _LEAST_CHARS and _NUMBER.sub("", line, count=1).strip() in edited.get(file, ())
        }
        of_result = [
            math.log1p(age), float(use.traits.operation == READ), float(use.traits.operation in SHELLS), math.log(need),
            float(result is not None and result.ended is not None), float(bool(file) and newest[file] == use.id),
        ]  # fmt: skip
        for begin in range(0, len(lines), size):
            text = "\n".join(lines[begin : begin + size])
            held, words, tokens = strings_of(text), _words(text), max(1, estimate_tokens(text))
            if not held:
                continue
            distance = min((abs(begin + size / 2 - at) for at in of_edit), default=_FAR)
            of_itself = [
                math.log(tokens), math.log(len(held)), sum(places[each] > 1 for each in held) / len(held),
                shared(words, recent), shared(words, earlier), shared(words, asked), math.log1p(distance), float(distance == _FAR),
            ]  # fmt: skip
            found.append(
                Section(use.id, text, tokens * state.calibration + _MARK, frozenset(held & case.needs), [1.0, *of_result, *of_itself])
            )
    return found


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _counted(each: Iterable[set[str]]) -> Counter[str]:
    return Counter(word for words in each for word in words)


def fitted(found: Sequence[Section]) -> list[float]:
    """Weights of what is seen: by the regression of whether a section holds a need."""
    rows = [(section.seen, bool(section.needs)) for section in found]
    weights = [0.0] * len(rows[0][0])
    for _ in range(_STEPS):
        right = [_L2 * weight for weight in weights]
        matrix = [[_L2 if row == column else 0.0 for column in range(row + 1)] for row in range(len(weights))]
        for seen, needed in rows:
            chance = _chance(weights, seen)
            wrong, steep = chance - needed, chance * (1 - chance)
            for row, value in enumerate(seen):
                right[row] += wrong * value
                bent = steep * value
                of_row = matrix[row]
                for column in range(row + 1):
                    of_row[column] += bent * seen[column]
        weights = [weight - step for weight, step in zip(weights, solve(matrix, right))]
    return weights


def _chance(weights: Sequence[float], seen: Sequence[float]) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, sum(weight * value for weight, value in zip(weights, seen))))))


def report(found: list[Case], size: int) -> None:
    """Prints the needs that still stand at TARGET: ours, and with sections in so much of it."""
    cut = [sections(case, size) for case in found]
    repositories = [own_sessions.repository_of(case.path) for case in found]
    weights = {
        name: fitted([section for of, each in zip(repositories, cut) if of != name for section in each])
        for name in sorted(set(repositories))
    }
    alone = [compacting.ours(case, round(TARGET * case.tokens)) for case in found]
    print(f"{len(found)} boundaries at {TARGET:.0%}, {sum(map(len, cut)):,} sections of {size} lines\n\nsections take    needs   oracle")
    print(f"{'nothing':<13}{statistics.fmean(map(_kept, found, alone)):>9.3f}")
    for given in GIVEN:
        by_model, by_oracle = [], []
        for case, name, each, whole in zip(found, repositories, cut, alone):
            stays = compacting.ours(case, round((TARGET - given) * case.tokens))
            room = _size(case, whole) - _size(case, stays)
            texts = {shown.text for part in stays for shown in part.results}
            standing = {shown.id for part in case.messages for shown in part.results if shown.text in texts}
            out = [section for section in each if section.id not in standing]
            out.sort(key=lambda section: -_chance(weights[name], section.seen) / section.tokens)
            by_model.append(_kept(case, [*stays, *_filled(out, room)]))
            by_oracle.append(
                _kept(case, compacting.best(case, _size(case, whole), stays, [Message(USER, section.text) for section in out]))
            )
        print(f"{given:<13.0%}{statistics.fmean(by_model):>9.3f}{statistics.fmean(by_oracle):>9.3f}")


def _size(case: Case, stays: Iterable[Message]) -> int:
    return sum(compacting.tokens_of(case, part) for part in stays)


def _kept(case: Case, stays: Iterable[Message]) -> float:
    return len(case.needs & compacting.strings(stays)) / len(case.needs)


def _filled(ordered: Iterable[Section], room: float) -> list[Message]:
    kept = []
    for section in ordered:
        if section.tokens <= room:
            room -= section.tokens
            kept.append(Message(USER, section.text))
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--lines", type=int, default=12, help="of a section")
    options = parser.parse_args()
    found = compacting.cases(options.transcripts)
    if len({own_sessions.repository_of(case.path) for case in found}) < 2:
        print("no two repositories with a boundary that has enough needs behind it", file=sys.stderr)
        return 1
    report(found, options.lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
