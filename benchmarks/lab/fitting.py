"""Fits the model of need to recorded sessions: rows of what was and was not needed again, and the logistic regression over them.

    python benchmarks/lab/fitting.py --transcripts FOLDER [--out hooks/utils/data/need-model.json]
    python benchmarks/lab/fitting.py --transcripts FOLDER --soon [--out hooks/utils/data/need-soon-model.json]

Prints from how much it was learnt, and the AUC and the log loss of each fifth of the sessions under what the others teach.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from array import array
from bisect import bisect_left
from math import exp, log
from operator import mul
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "power-mode"))

from popkit_retention.core.policy.need_model import FEATURES, NeedModel, features
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state import shipped
from popkit_retention.lab import sent_requests
from popkit_retention.lab.engine_policies import TrackingPolicy
from popkit_retention.parallel.sources import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from popkit_retention.core.policy.ruleset import Ruleset
    from popkit_retention.lab.recorded import Block, Session

    Row = tuple[list[tuple[str, float]], int, float]  # the features of a result, whether it was needed, weight
    Group = tuple[list[array[float]], array[float], array[float]]

# Smaller results are hardly ever worth clearing.
LEAST_TOKENS = 60
# While a result is younger than this (calls), every request gives a row; later one in so many does, for there is little new to see.
YOUNG = 7
LATER_ONE_IN = 7
_SEED = 20_260_101
_PLACES = {name: place for place, name in enumerate(FEATURES)}
_STEPS = 30
_SMALL_STEP = 1e-5
L2 = 1.0  # how strongly weights are held to zero
FOLDS = 5
# Requests that count as soon: what a compaction has to keep (benchmarks/compacting.py).
AHEAD = 20


def rows_of(session: Session, rules: Ruleset, rng: random.Random, ahead: int = 0) -> list[Row]:
    """[(features of a result right before a request, 1 if that answer or a later one of the segment needed it else 0, weight)]. A result is
    needed when it is the newest that holds what the assistant writes. `rng` draws the rows of older results. `ahead`: 1 only if one of so
    many answers needed it, 0 for any."""
    needing: dict[Block, list[int]] = {}  # numbers of requests, in order
    for request in session.requests:
        for _, holders in request.needs:
            needing.setdefault(_newest(holders), []).append(request.number)
    watcher = TrackingPolicy(rules)
    context: list[Block] = []
    rows: list[Row] = []
    for step in session.steps:
        kind, about = step[0], step[1]
        if kind == "add":
            watcher.add(about)
            context.append(about)
        elif kind == "event":
            watcher.event(about)
        elif kind == "cut":
            context = context[:about] + step[2]
            watcher.cut(context)
        elif kind == "compact":
            watcher.compact(about)
            context = []
        else:
            for block in context:
                result = watcher.result(block) if block.tokens >= LEAST_TOKENS else None
                if result is None or (watcher.state.index - result.index >= YOUNG and rng.random() * LATER_ONE_IN >= 1.0):
                    continue
                found = features(result, watcher.state, watcher.rules.tools)
                rows.append((found, int(_is_needed(needing.get(block, []), about.number, ahead)), 1.0))
    return rows


def _is_needed(needing: list[int], number: int, ahead: int) -> bool:
    if not ahead:
        return bool(needing) and needing[-1] >= number
    at = bisect_left(needing, number)
    return at < len(needing) and needing[at] < number + ahead


def _newest(holders: list[Block]) -> Block:
    return max(holders, key=lambda block: block.place)


class Table:
    """Rows by their columns: those of a fold with the same features beside each other, so that sums over them run without a loop of
    ours."""

    def __init__(self, rows: Iterable[Row] = ()):
        self.groups: dict[
            tuple[int, tuple[int, ...]], Group
        ] = {}  # (fold, places of the features) -> (a column of values for each, needed, weights)
        self.add(rows)

    def add(self, rows: Iterable[Row], fold: int = 0) -> None:
        """More rows, as rows_of gives them."""
        for found, needed, weight in rows:
            places = tuple([_PLACES[name] for name, _ in found])
            group = self.groups.get((fold, places))
            if group is None:
                group = self.groups[fold, places] = ([array("d") for _ in places], array("d"), array("d"))
            for column, (_, value) in zip(group[0], found):
                column.append(value)
            group[1].append(needed)
            group[2].append(weight)

    def of(self, folds: Collection[int]) -> Table:
        """The rows of some folds, which are not copied."""
        part = Table()
        part.groups = {key: group for key, group in self.groups.items() if key[0] in folds}
        return part

    def size(self) -> int:
        return sum([len(needed) for _, needed, _ in self.groups.values()])

    def scores(self, weights: list[float]) -> Iterator[tuple[list[float], tuple[int, ...], Group]]:
        """(probabilities, places, group) for every group of rows."""
        for (_, places), group in self.groups.items():
            totals = [0.0] * len(group[1])
            for place, column in zip(places, group[0]):
                weight = weights[place]
                totals = [total + weight * value for total, value in zip(totals, column)]
            yield [1.0 / (1.0 + exp(-max(-30.0, min(30.0, total)))) for total in totals], places, group


def fit(rows: Iterable[Row] | Table) -> dict[str, float]:
    """Weights by the name of their feature: the logistic regression of rows (or a Table), with a penalty of L2/2 x weight^2."""
    table = rows if isinstance(rows, Table) else Table(rows)
    weights = [0.0] * len(FEATURES)
    for _ in range(_STEPS):
        gradient = [L2 * weight for weight in weights]
        curvature = [[L2 if row == column else 0.0 for column in range(row + 1)] for row in range(len(weights))]
        for chances, places, (columns, needed, counts) in table.scores(weights):
            wrong = [count * (chance - was) for chance, was, count in zip(chances, needed, counts)]
            steep = [count * chance * (1.0 - chance) for chance, count in zip(chances, counts)]
            for at, place in enumerate(places):
                gradient[place] += sum(map(mul, wrong, columns[at]))
                bent = list(map(mul, steep, columns[at]))
                for other_at in range(at + 1):
                    other = places[other_at]
                    curvature[max(place, other)][min(place, other)] += sum(map(mul, bent, columns[other_at]))
        step = solve(curvature, gradient)
        weights = [weight - change for weight, change in zip(weights, step)]
        if max(map(abs, step)) < _SMALL_STEP:
            break
    return dict(zip(FEATURES, weights))


def solve(matrix: list, right: list) -> list:
    """x with matrix x = right, by Cholesky's method; of the symmetric, positive definite matrix the lower triangle is given."""
    size = len(right)
    lower: list = []
    for row in range(size):
        line: list = []
        for column in range(row + 1):
            rest = matrix[row][column] - sum(map(mul, line, lower[column] if column < row else line))
            line.append(rest / lower[column][column] if column < row else rest**0.5)
        lower.append(line)
    half: list = []
    for row in range(size):
        half.append((right[row] - sum(map(mul, lower[row], half))) / lower[row][row])
    solution = [0.0] * size
    for row in range(size - 1, -1, -1):
        rest = half[row] - sum([lower[below][row] * solution[below] for below in range(row + 1, size)])
        solution[row] = rest / lower[row][row]
    return solution


def auc(chances: list, labels: list) -> float:
    """The chance that a needed row ranks above one that was not, ties counted half; 0.5 where there is but one kind."""
    ranked = sorted(zip(chances, labels))
    needed = sum([label for _, label in ranked])
    others = len(ranked) - needed
    if not needed or not others:
        return 0.5
    below = wins = 0.0
    at = 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        hits = sum([label for _, label in ranked[at:end]])
        misses = end - at - hits
        wins += hits * (below + misses / 2)
        below += misses
        at = end
    return wins / (needed * others)


def log_loss(chances: list, labels: list) -> float:
    """The mean of -log of the probability that was given to what came; 0 without rows."""
    return -sum([log(chance if label else 1.0 - chance) for chance, label in zip(chances, labels)]) / max(1, len(labels))


def judged(weights: Mapping[str, float], rows: Iterable[Row] | Table) -> tuple[list[float], list[float]]:
    """(probabilities, labels) of rows (or a Table) under weights."""
    table = rows if isinstance(rows, Table) else Table(rows)
    chances: list[float] = []
    labels: list[float] = []
    for found, _, group in table.scores([weights.get(name, 0.0) for name in FEATURES]):
        chances += found
        labels += group[1]
    return chances, labels


def learn(sessions: Iterable[Session], rules: Ruleset, ahead: int = 0) -> dict:
    """Gives the plain values of a NeedModel that is learnt from sessions (an iterable; each is let go once its rows are taken), and under
    "learnt" how much it was learnt from and how well each fold is told by what the others teach. ValueError where there is nothing to learn
    or nothing to judge by. `ahead`: as rows_of takes it."""
    rng = random.Random(_SEED)
    table, count = Table(), 0
    for session in sessions:
        table.add(rows_of(session, rules, rng, ahead), count % FOLDS)
        count += 1
    if count < 2 or len({was for _, needed, _ in table.groups.values() for was in needed}) < 2:
        raise ValueError("it takes two sessions, results that were needed again, and some that were not")
    chances: list[float] = []
    labels: list[float] = []
    for fold in range(FOLDS):
        fold_chances, was = judged(fit(table.of([other for other in range(FOLDS) if other != fold])), table.of([fold]))
        chances += fold_chances
        labels += was
    scores = {"auc": round(auc(chances, labels), 4), "log_loss": round(log_loss(chances, labels), 4)}
    return {**NeedModel(fit(table)).to_json(), "learnt": {"sessions": count, "rows": table.size(), **scores}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the model there (default: only print how good it is)")
    parser.add_argument("--soon", action="store_true", help=f"needed means: by one of the next {AHEAD} requests, as a compaction asks")
    options = parser.parse_args()
    found = (sent_requests.read(source.address) for source in find([str(options.transcripts)], print))
    model = learn((session for session in found if session.requests), shipped.rules(), AHEAD if options.soon else 0)
    if options.out:
        options.out.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(model["learnt"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
