"""What clearing a result is worth: by its size, the chance that it is needed again, the prices, and what was thought behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.economics import THINKING_AGAIN
from popkit_retention.core.policy.need_model import FEATURES, SCHEMA, NeedModel, features, model_of
from popkit_retention.core.policy.worth import LEAST_QUIET, Candidate, Situation, Tuning, choose, is_in_use, value
from popkit_retention.core.state.shipped import need_model, need_soon_model
from tests.policy.priced import LIFETIMES, READS, prices
from tests.policy.scenario import Scenario

TUNED = Tuning(40, 1.0)
EACH_READ = pytest.mark.parametrize("read", READS)


def candidate(tokens: int = 4_000, need: float = 0.02, thinking: int = 0, placeholder: int = 40) -> Candidate:
    return Candidate(None, tokens, placeholder, need, thinking)


def situation(read: float = 0.1, bound: bool = False, tuned: Tuning = TUNED, prompt: int = 60_000, ttl_s: int = 300) -> Situation:
    return Situation(prompt, prices(ttl_s, read, bound), tuned)


@pytest.mark.parametrize(("read", "units"), [(0.1, 19_965.0), (0.05, 12_385.0), (0.025, 8_595.0)])
def test_a_value_worked_out_by_hand(read: float, units: float):
    # At 0.1 a token is worth 1.25 + 40 x 0.1 = 5.25: 3,960 leave, 20,790. A miss: 4,000 x 5.25 = 21,000 to have it again, and to ask for it
    # 3 x (60,000 x 0.1 + 150 x 5) = 20,250; with a chance of 0.02 that is 825. At 0.05: 3.25, 12,870 - 485; at 0.025: 2.25, 8,910 - 315.
    assert value(candidate(), situation(read)) == pytest.approx(units)


def test_an_hours_cache_is_dearer_to_write_so_more_is_saved():
    # 2.0 + 4.0 = 6.0: 3,960 x 6 - 0.02 x (24,000 + 20,250)
    assert value(candidate(), situation(ttl_s=3_600)) == pytest.approx(22_875.0)


@EACH_READ
def test_what_is_surely_needed_is_worth_less_than_nothing(read: float):
    assert value(candidate(need=1.0), situation(read)) < 0


@EACH_READ
def test_asking_again_weighs_the_more_the_smaller_what_comes_back(read: float):
    # Both are needed with the same chance; each of them would be asked for with a request of its own.
    assert value(candidate(300, 0.2), situation(read)) < 0 < value(candidate(9_000, 0.2), situation(read))


def test_more_caution_asks_for_a_smaller_chance_of_need():
    assert (
        value(candidate(need=0.15), situation(tuned=Tuning(40, 1.0))) > 0 > value(candidate(need=0.15), situation(tuned=Tuning(40, 20.0)))
    )


def test_where_more_was_thought_than_anything_is_worth_nothing_goes():
    # Output costs five units, and half of it is thought again.
    assert choose([(candidate(thinking=17_700), 44_000.0)], situation(bound=True)) == []
    assert choose([(candidate(thinking=17_500), 44_000.0)], situation(bound=True)) != []


def test_results_used_by_the_last_calls_are_in_use_unless_a_newer_one_replaced_them():
    session = Scenario()
    session.read("a.py")
    for quiet in range(LEAST_QUIET):
        assert is_in_use(session.result("T1"), quiet)
    assert not is_in_use(session.result("T1"), LEAST_QUIET)
    session.bash("npm test", "one")
    session.bash("npm test", "two")
    assert not is_in_use(session.result("T2"), 0)


CANDIDATES = st.lists(st.tuples(st.integers(90, 20_000), st.integers(0, 3_000), st.floats(0, 1)), max_size=12)
SITUATIONS = st.builds(
    lambda read, ttl_s, bound, prompt, ahead, caution: situation(read, bound, Tuning(ahead, caution), prompt, ttl_s),
    st.sampled_from(READS), st.sampled_from(LIFETIMES), st.booleans(), st.integers(0, 900_000), st.integers(0, 100),
    st.sampled_from([0.0, 0.7, 1.0, 4.0]),
)  # fmt: skip


def in_a_row(drawn: list[tuple[int, int, float]]) -> list[Candidate]:
    """In the order of the prompt: what was thought behind one of them was thought behind all before it."""
    thinking, found = 0, []
    for tokens, thought, need in reversed(drawn):
        thinking += thought
        found.append(candidate(tokens, need, thinking))
    return found[::-1]


@given(CANDIDATES, SITUATIONS)
def test_what_is_chosen_is_all_from_one_place_on_and_no_other_place_is_worth_more(drawn, where: Situation):
    valued = [(one, units) for one in in_a_row(drawn) for units in [value(one, where)] if units > 0]
    chosen = choose(valued, where)
    assert chosen == [one for one, _ in valued[len(valued) - len(chosen) :]]

    def worth(begin: int) -> float:
        thought = THINKING_AGAIN * valued[begin][0].thinking * where.prices.output if where.prices.bound else 0.0
        return sum(units for _, units in valued[begin:]) - thought

    best = max([0.0, *map(worth, range(len(valued)))])
    assert (worth(len(valued) - len(chosen)) if chosen else 0.0) == pytest.approx(best)


@given(CANDIDATES, SITUATIONS)
def test_more_need_a_larger_placeholder_or_more_caution_is_never_worth_more(drawn, where: Situation):
    warier = Situation(where.prompt, where.prices, Tuning(where.tuned.ahead, where.tuned.caution + 1))
    for one in in_a_row(drawn):
        assert value(candidate(one.tokens, min(1.0, one.need + 0.1)), where) <= value(one, where)
        assert value(candidate(one.tokens, one.need, placeholder=80), where) <= value(one, where)
        assert value(one, warier) <= value(one, where)


@given(CANDIDATES, SITUATIONS, st.integers(0, 9_000))
def test_the_more_was_thought_the_less_goes(drawn, where: Situation, more: int):
    candidates = in_a_row(drawn)
    valued = [(one, value(one, where)) for one in candidates if value(one, where) > 0]
    again = [(candidate(one.tokens, one.need, one.thinking + more), units) for one, units in valued]
    assert len(choose(again, where)) <= len(choose(valued, where))


# --- how likely a result is needed again -------------------------------------------------------------------------------------------------

SHIPPED = Path(__file__).resolve().parents[2] / "hooks" / "utils" / "data" / "need-model.json"


@pytest.fixture
def shipped() -> NeedModel:
    return model_of(json.loads(SHIPPED.read_text(encoding="utf-8")))


def _known(scenario: Scenario, id: str) -> dict[str, float]:
    return dict(features(scenario.result(id), scenario.state, TOOLS))


def test_every_feature_has_a_name_of_the_list_and_none_comes_twice(session: Scenario):
    session.read("/p/a.py")
    session.bash_fails("make")
    session.grep("word")
    session.edit("/p/a.py")
    session.grep("word", "src")  # touches the first one
    for id in ("T1", "T2", "T3", "T4", "T5"):
        names = [name for name, _ in features(session.result(id), session.state, TOOLS)]
        assert len(names) == len(set(names))
        assert set(names) <= set(FEATURES)


@pytest.mark.parametrize(("end", "says"), [(Scenario.end_session, "settled"), (lambda session: session.nothing(9), "old")])
def test_how_a_result_ended_says_how_likely_it_is_needed(session: Scenario, end, says: str):
    session.bash("npm test")
    session.grep("word")
    end(session)
    ended = session.result("T2" if says == "old" else "T1")
    assert dict(features(ended, session.state, TOOLS))[says] == 1.0


def test_a_result_that_was_touched_counts_as_quiet_from_then_on(session: Scenario):
    session.read("/p/a.py")
    session.nothing(5)
    before = _known(session, "T1")
    session.read("/p/a.py", 10, 20)
    after = _known(session, "T1")
    assert "touched" not in before
    assert before["quiet"] > 0
    assert after["touched"] == 1.0
    assert after["quiet"] == 0.0
    assert after["age"] > before["age"]


def test_an_edited_read_says_that_it_was_edited_and_how_long_ago(session: Scenario):
    session.read("/p/a.py")
    session.edit("/p/a.py")
    just = _known(session, "T1")
    session.nothing(5)
    later = _known(session, "T1")
    assert just["edited"] == later["edited"] == 1.0
    assert just["since edited"] == 0.0
    assert later["since edited"] > 1.0


def test_a_newer_read_of_the_same_file_replaces_the_older_one(session: Scenario):
    session.read("/p/a.py")
    session.read("/p/a.py")
    assert _known(session, "T1")["replaced"] == 1.0
    assert "replaced" not in _known(session, "T2")


def test_a_file_that_the_shell_printed_is_distinguished_from_a_read(session: Scenario):
    session.bash("cat /p/a.py")
    session.read("/p/b.py")
    assert _known(session, "T1")["kind read"] == _known(session, "T2")["kind read"] == 1.0
    assert "shell read" in _known(session, "T1")
    assert "shell read" not in _known(session, "T2")


def test_the_shipped_model_forgets_a_read_that_nobody_comes_back_to(session: Scenario, shipped: NeedModel):
    session.read("/p/a.py", 1, 200)
    chances = []
    for _ in range(4):
        chances.append(shipped.probability(session.result("T1"), session.state, TOOLS))
        session.nothing(10)
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < 0.7 * chances[0]


def test_the_shipped_model_expects_less_of_a_replaced_read_than_of_the_newer_one(session: Scenario, shipped: NeedModel):
    session.read("/p/a.py", 1, 200)
    session.read("/p/a.py", 1, 200)
    assert shipped.probability(session.result("T1"), session.state, TOOLS) < shipped.probability(session.result("T2"), session.state, TOOLS)


def test_the_shipped_model_expects_more_of_a_read_than_of_an_acknowledgement(session: Scenario, shipped: NeedModel):
    session.read("/p/a.py", 1, 50)
    session.edit("/p/b.py")
    assert shipped.probability(session.result("T2"), session.state, TOOLS) < shipped.probability(session.result("T1"), session.state, TOOLS)


def test_the_shipped_model_holds_nothing_but_weights_and_counts():
    plain = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert set(plain) <= {"schema", "weights", "learnt"}
    assert set(plain["weights"]) <= set(FEATURES)
    assert all(isinstance(value, (int, float)) for value in plain["learnt"].values())


@given(st.dictionaries(st.sampled_from(FEATURES), st.floats(-900, 900), min_size=1), st.integers(0, 40))
def test_a_probability_is_one_whatever_the_weights(weights: dict[str, float], quiet: int):
    given_ = Scenario()
    given_.read("/p/a.py")
    given_.nothing(quiet)
    assert 0.0 <= NeedModel(weights).probability(given_.result("T1"), given_.state, TOOLS) <= 1.0


@given(st.dictionaries(st.sampled_from(FEATURES), st.integers(-9_000_000, 9_000_000).filter(bool), min_size=1))
def test_a_model_is_read_back_as_it_was_written(ten_thousandths: dict[str, int]):
    model = NeedModel({name: units / 10_000 for name, units in ten_thousandths.items()})
    assert model_of(json.loads(json.dumps(model.to_json()))).weights == model.weights


@pytest.mark.parametrize(
    "value",
    [
        None, [], {}, {"schema": SCHEMA}, {"schema": SCHEMA, "weights": {}},
        {"schema": SCHEMA - 1, "weights": {"bias": 1.0}}, {"schema": 99, "weights": {"bias": 1.0}},
        {"schema": SCHEMA, "weights": {"unheard of": 1.0}},
        {"schema": SCHEMA, "weights": {"bias": "1"}}, {"schema": SCHEMA, "weights": {"bias": True}},
        {"schema": SCHEMA, "weights": {"bias": float("nan")}}, {"schema": SCHEMA, "weights": {"bias": float("inf")}},
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(value: object):
    with pytest.raises(ValueError, match="not a "):
        model_of(value)


@pytest.mark.parametrize("shipped_model", [need_model, need_soon_model])
def test_every_kind_that_is_learnt_has_weights_in_the_shipped_models(shipped_model: Callable[[], NeedModel]):
    assert {f"{of} {kind}" for of in ("kind", "quiet") for kind in kinds.LEARNT} <= shipped_model().weights.keys()


def test_a_kind_that_is_not_known_is_another(session: Scenario):
    session.call("mcp__idle__wait", {})
    result = session.result("T1")
    result.kind = "something new"
    assert "kind other" in dict(features(result, session.state, TOOLS))
    assert "other" in kinds.LEARNT
