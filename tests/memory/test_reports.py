"""What compression loses, measured; and the specification's four monitoring queries, over any store."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.memory.information_loss import METRICS, InformationLossMetrics, report
from popkit_retention.memory.items import ARCHIVE, COLD, HOT, KEYWORDS, SUMMARY, WARM
from popkit_retention.memory.monitoring import Compressed, monitor
from popkit_retention.memory.terms import terms_of

from .remembering import DAY, NOW, Remembering
from .spec_code import block_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

number = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-6)
pairs = st.integers(0, 6).flatmap(lambda size: st.tuples(*[st.lists(number, min_size=size, max_size=size)] * 2))
results = st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=1, max_size=6)


def theirs() -> InformationLossMetrics:
    return block_with("InformationLossMetrics")["InformationLossMetrics"]()


@given(pairs)
def test_semantic_preservation_is_the_specifications(pair: tuple[list[float], list[float]]):
    assert METRICS.calculate_semantic_preservation(*pair) == pytest.approx(theirs().calculate_semantic_preservation(*pair), abs=1.01e-4)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.floats(-1, 1))
def test_token_efficiency_is_the_specifications(original: int, compressed: int, preservation: float):
    ours = METRICS.calculate_token_efficiency(original, compressed, preservation)
    assert ours == theirs().calculate_token_efficiency(original, compressed, preservation)


@given(results.flatmap(lambda before: st.tuples(st.just(before), st.permutations(before))))
def test_query_accuracy_is_the_specifications(both: tuple[list[list[str]], list[list[str]]]):
    queries = ["q"] * len(both[0])
    ours = METRICS.estimate_query_accuracy(queries, *both)
    assert ours == pytest.approx(theirs().estimate_query_accuracy(queries, *both), abs=1e-4)


@pytest.mark.parametrize(
    ("original", "compressed", "preserved"),
    [
        ([1.0, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([1.0, 0.0], [-2.0, 0.0], -1.0),
        ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], 0.7143),
        ([1.0, 1.0], [1.0, 0.0], 0.7071),
        ([0.0, 0.0], [1.0, 1.0], 0.0),
        ([], [], 0.0),
        ([1e300, 1e300], [1e300, 0.0], 0.7071),  # whose squares are infinite
    ],
)
def test_semantic_preservation_is_the_cosine(original: list[float], compressed: list[float], preserved: float):
    assert METRICS.calculate_semantic_preservation(original, compressed) == preserved


@pytest.mark.parametrize(("original", "compressed"), [([1.0], [1.0, 2.0]), ([math.nan], [1.0]), ([1.0], [math.inf])])
def test_what_cannot_be_compared_is_an_error(original: list[float], compressed: list[float]):
    with pytest.raises(ValueError, match="embedding"):
        METRICS.calculate_semantic_preservation(original, compressed)


@pytest.mark.parametrize(
    ("tokens", "efficiency"), [((4500, 150, 0.85), 25.5), ((4500, 20, 0.6), 135.0), ((10, 0, 0.5), 5.0), ((0, 0, 1.0), 0.0)]
)
def test_token_efficiency_is_ratio_times_preservation(tokens: tuple[int, int, float], efficiency: float):
    assert METRICS.calculate_token_efficiency(*tokens) == efficiency


def test_fewer_than_no_tokens_are_an_error():
    with pytest.raises(ValueError, match="-3 is not a number of tokens"):
        METRICS.calculate_token_efficiency(5, -3, 1.0)


@pytest.mark.parametrize(
    ("before", "after", "precision", "recall", "f1_score"),
    [
        ([["a", "b"]], [["a", "b"]], 1.0, 1.0, 1.0),
        ([["a", "b"]], [["b", "c", "d"]], 0.3333, 0.5, 0.4),
        ([["a"], ["b"]], [["a"], ["c"]], 0.5, 0.5, 0.5),
        ([["a"]], [[]], 0.0, 0.0, 0.0),  # nothing found
        ([[]], [["a"]], 0.0, 1.0, 0.0),  # nothing to find
        ([[], ["a"]], [[], ["a"]], 0.5, 1.0, 0.6667),
        ([], [], 0.0, 0.0, 0.0),  # no queries
    ],
)
def test_query_accuracy_compares_results_before_and_after(before, after, precision, recall, f1_score):
    expected = {"precision": precision, "recall": recall, "f1_score": f1_score}
    assert METRICS.estimate_query_accuracy(["q"] * len(before), before, after) == expected


@pytest.mark.parametrize(
    ("queries", "before", "after"), [(["q"], [], []), (["q"], [["a"]], []), (["q", "r"], [["a"]], [["a"]]), ([], [], [[]])]
)
def test_every_query_has_results_before_and_after(queries, before, after):
    with pytest.raises(ValueError, match="one of each for every query"):
        METRICS.estimate_query_accuracy(queries, before, after)


TERMS = 64


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Counts of terms, many to a number."""
    vectors = []
    for text in texts:
        vector = [0.0] * TERMS
        for term in terms_of(text):
            vector[sum(term.encode()) % TERMS] += 1.0
        vectors.append(vector)
    return vectors


def find(texts: Mapping[str, str]) -> Callable[[str], list[str]]:
    """By how many terms of the query a text holds."""
    held = {id: set(terms_of(text)) for id, text in texts.items()}

    def ask(query: str) -> list[str]:
        asked = set(terms_of(query))
        return [id for _, id in sorted((-len(terms & asked), id) for id, terms in held.items() if terms & asked)]

    return ask


FRUITS = ("apples", "cherries", "walnuts", "pears")
LONG = {
    f"m{at}": " ".join(
        f"On day {day} the {animal} of {name} ate {day + at} {FRUITS[(day - at) % 4]} near {name}'s {place}." for day in range(30)
    )
    for at, (animal, name, place) in enumerate([("horse", "Alice", "stable"), ("cat", "Bob", "kitchen"), ("parrot", "Carol", "balcony")])
}


def test_the_report_tells_what_each_level_loses_of_real_texts():
    by_level = {each.level: each for each in report(LONG, embed, find)}
    assert list(by_level) == ["summary", "keywords", "embedding"]
    short, words, vector = by_level.values()
    assert short.items == 3
    assert short.tokens > short.tokens_at_level > words.tokens_at_level > vector.tokens_at_level == 0
    assert 1 > short.semantic_preservation > words.semantic_preservation > 0
    assert vector.semantic_preservation == 1.0
    assert short.token_efficiency < words.token_efficiency
    assert short.f1_score > 0
    assert all(0 <= rate <= 1 for each in by_level.values() for rate in (each.precision, each.recall, each.f1_score))


def test_short_texts_lose_nothing_as_summary_and_keywords():
    short, words, _ = report({"a": "Alice rides", "b": "Bob cooks"}, embed, find)
    for each in (short, words):
        assert (each.semantic_preservation, each.token_efficiency, each.f1_score) == (1.0, 1.0, 1.0)


def test_a_summariser_of_ones_own_is_measured():
    assert report(LONG, embed, find, summarise=lambda text: "")[0].semantic_preservation == 0.0


def test_of_nothing_there_is_nothing_to_report():
    assert report({}, embed, find) == []


# --- monitoring ---------------------------------------------------------------------------------------------------------------------------


def test_items_are_counted_by_tier_and_level(remembering: Remembering):
    for number, tier in enumerate((WARM, WARM, WARM, COLD, COLD, ARCHIVE)):
        remembering.keep(f"m{number}", tier=tier)
    remembering.keep("s1", tier=COLD, level=SUMMARY, text="y" * 29, score=0.25)
    remembering.keep("s2", tier=COLD, level=SUMMARY, text="y" * 58, score=0.75, project="other")
    remembering.keep("k1", tier=COLD, level=KEYWORDS, text="y" * 29, score=0.5)
    short, monitored = estimate_tokens("y" * 29), monitor(remembering.store, NOW)
    assert list(monitored.tiers.items()) == [(COLD, 5), (WARM, 3), (ARCHIVE, 1)]
    assert monitored.levels == [
        Compressed(SUMMARY, 2, (short + estimate_tokens("y" * 58)) / 2, 0.5),
        Compressed(KEYWORDS, 1, float(short), 0.5),
    ]
    assert monitor(remembering.store, NOW, "other").tiers == {COLD: 1}


def test_candidates_are_those_of_the_specification(remembering: Remembering):
    for number in range(12):
        remembering.keep(f"h{number:02}", tier=HOT, created_at=NOW - 2 * DAY, score=0.59 - number / 100)
    remembering.keep("good", tier=HOT, created_at=NOW - 2 * DAY, score=0.6)
    remembering.keep("young", tier=HOT, created_at=NOW - DAY / 2, score=0.1)
    for number in range(6):
        remembering.keep(f"w{number}", tier=WARM, score=0.8 + number / 100, access_count=5)
    remembering.keep("rare", tier=WARM, score=0.9, access_count=4)
    monitored = monitor(remembering.store, NOW)
    assert [item.id for item in monitored.demotion] == [f"h{number:02}" for number in range(11, 1, -1)]
    assert [item.id for item in monitored.archive] == ["w5", "w4", "w3", "w2", "w1"]
    archived = monitored.to_json()["archive"]
    assert archived[0] == {"id": "w5", "project": remembering.project, "score": 0.8 + 5 / 100, "accesses": 5, "preview": "the text of w5"}
