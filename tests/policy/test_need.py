"""How likely a result is needed again: what the engine knows of it, weighed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.hosts.claude_code import TOOLS
from hooks.utils.policy import kinds
from hooks.utils.policy.worth import FEATURES, SCHEMA, NeedModel, features, model_of
from tests.policy.scenario import Scenario

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


def test_a_file_that_the_shell_printed_is_told_from_a_read(session: Scenario):
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


def test_the_shipped_model_expects_less_of_a_read_that_was_replaced_than_of_the_newer_one(session: Scenario, shipped: NeedModel):
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


def test_a_kind_that_is_not_known_is_another(session: Scenario):
    session.call("mcp__idle__wait", {})
    result = session.result("T1")
    result.kind = "something new"
    assert "kind other" in dict(features(result, session.state, TOOLS))
    assert "other" in kinds.LEARNT
