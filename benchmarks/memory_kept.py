"""What a conversation's best sentences, chosen under a budget without a look at any question, still tell those who ask later.

LoCoMo's questions of categories 1 to 4 are asked. To each of its evidence turns belongs one sentence: the one that shares most terms
(stemmed words without those of the stop list) with question and answer; of several the one with most terms, then the first. It counts as
kept where what was kept of its turn has all its terms. A question's share is that of its evidence turns whose sentence is kept; printed is
the mean over questions, and as `one` the mean for the best of these sentences alone. The budget is a share of the conversation's estimated
tokens; speakers' names before each turn count, there and in what is kept.

Rows: random sentences (mean of 20 seeds); whole turns by the mean idf of their words; the plain formula, (sum of idf / √max(4,
characters))² times 1.45 with a date, 1.3 first person, 1.25 proper noun, 1.2 action verb, 1.1 number, 0.7 question, on whole turns, on
sentences, and on sentences for each token; what ships.
"""

from __future__ import annotations

import random
from math import log, sqrt
from pathlib import Path
from statistics import fmean

from memory_data import LOCOMO, REPORT, TUNING, conversations

from popkit_retention.memory import compression, sentences
from popkit_retention.memory.sentences import Sentence, split
from popkit_retention.memory.terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from memory_data import Conversation, Question

BUDGETS = (0.1, 0.2)
SEEDS = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=LOCOMO, help="LoCoMo's file of ten conversations")
    parser.add_argument("--tuning", action="store_true", help="conversations 1 to 3, which constants are chosen on, instead of 4 to 10")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each way to choose: `kept at 10 %`, `one at 10 %`, … as shares."""
    talks = [_Talk(each) for each in conversations(TUNING if options.tuning else REPORT, options.data)]
    ways: list[tuple[str, list[Callable[[_Talk, float], Texts]]]] = [
        ("random sentences", [_Random(seed) for seed in range(SEEDS)]),
        ("whole turns by mean idf", [lambda each, budget: _filled(each, budget, each.turns, _mean_idf)]),
        ("whole turns by the plain formula", [lambda each, budget: _filled(each, budget, each.turns, _plain)]),
        ("sentences by the plain formula", [lambda each, budget: _filled(each, budget, each.sentences, _plain)]),
        ("the same for each token", [lambda each, budget: _filled(each, budget, each.sentences, _plain_for_each_token)]),
        ("what ships", [_shipped]),
    ]
    return [_row(name, talks, choices) for name, choices in ways]


Texts = dict[int, str]  # place of a turn -> what is kept of it


class _Talk:
    """A conversation, and what its questions need: for each the sentences of its evidence, as (place, terms, how many it shares)."""

    def __init__(self, conversation: Conversation) -> None:
        self.texts = [turn.text for turn in conversation.turns]
        self.speakers = [turn.speaker for turn in conversation.turns]
        self.turns = [compression.KeptSentence(place, Sentence(text, 0, len(text))) for place, text in enumerate(self.texts)]
        self.sentences = [compression.KeptSentence(place, sentence) for place, text in enumerate(self.texts) for sentence in split(text)]
        self.corpus = sentences.Corpus(each.sentence.text for each in self.sentences)
        self.tokens = compression.tokens_of(compression.as_text(self.turns, self.speakers))
        self.needs = [self._needs(asked) for asked in conversation.questions]

    def _needs(self, asked: Question) -> list[tuple[int, set[str], int]]:
        wanted = set(terms_of(f"{asked.text} {asked.answer}"))
        return [self._best(place, wanted) for place in asked.evidence]

    def _best(self, place: int, wanted: set[str]) -> tuple[int, set[str], int]:
        terms = [set(terms_of(sentence.text)) for sentence in split(self.texts[place])]
        best = max(terms, key=lambda each: (len(each & wanted), len(each)), default=set())
        return place, best, len(best & wanted)


def _row(name: str, talks: list[_Talk], choices: Iterable[Callable[[_Talk, float], Texts]]) -> dict[str, object]:
    row: dict[str, object] = {"way": name}
    for budget in BUDGETS:
        shares: list[float] = []
        ones: list[float] = []
        for choose in choices:
            for each in talks:
                kept = {place: set(terms_of(text)) for place, text in choose(each, budget * each.tokens).items()}
                for needs in each.needs:
                    met = [terms <= kept.get(place, set()) and place in kept for place, terms, _ in needs]
                    shares.append(sum(met) / len(met))
                    ones.append(float(met[max(range(len(needs)), key=lambda at: needs[at][2])]))
        row[f"kept at {budget:.0%}"] = fmean(shares)
        row[f"one at {budget:.0%}"] = fmean(ones)
    return row


def _filled(talk: _Talk, budget: float, pieces: list[compression.KeptSentence], worth: Callable[[_Talk, str], float]) -> Texts:
    """The pieces of most worth that fit."""
    return _taken(talk, budget, sorted(pieces, key=lambda each: -worth(talk, each.sentence.text)))


def _taken(talk: _Talk, budget: float, pieces: Iterable[compression.KeptSentence]) -> Texts:
    kept: Texts = {}
    for each in pieces:
        piece = each.sentence.text + " "
        cost = compression.tokens_of(piece if each.place in kept else f"{talk.speakers[each.place]}: {piece}")
        if cost <= budget:
            budget -= cost
            kept[each.place] = kept.get(each.place, "") + piece
    return kept


class _Random:
    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, talk: _Talk, budget: float) -> Texts:
        pieces = list(talk.sentences)
        random.Random(self.seed).shuffle(pieces)
        return _taken(talk, budget, pieces)


def _idf(talk: _Talk, text: str) -> list[float]:
    return [log((talk.corpus.texts + 1) / (talk.corpus.holding[term] + 0.5)) for term in set(terms_of(text))]


def _mean_idf(talk: _Talk, text: str) -> float:
    return fmean(_idf(talk, text) or [0.0])


def _plain(talk: _Talk, text: str) -> float:
    value = (sum(_idf(talk, text)) / sqrt(max(4, len(text)))) ** 2
    traits = ((sentences.DATES, 1.45), (sentences.FIRST, 1.3), (sentences.ACTIONS, 1.2), (sentences.NUMBERS, 1.1))
    for trait, factor in traits:
        value *= factor if trait.search(text.lower()) else 1.0
    value *= 1.25 if sentences.names_in(text, talk.speakers) else 1.0
    return value * (0.7 if text.rstrip().endswith("?") else 1.0)


def _plain_for_each_token(talk: _Talk, text: str) -> float:
    return _plain(talk, text) / max(1.0, compression.tokens_of(text))


def _shipped(talk: _Talk, budget: float) -> Texts:
    kept: Texts = {}
    for each in compression.keep(talk.texts, budget, talk.speakers):
        kept[each.place] = f"{kept.get(each.place, '')}{each.sentence.text} "
    return kept
