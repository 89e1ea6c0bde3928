"""A state is sound if every value in it is of its type: the rest is rebuilt."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.conversation import Conversation
from popkit_retention.core.policy.events import Call
from popkit_retention.core.policy.parts import FILE
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.state.soundness import is_sound
from tests.policy.scenario import SHIPPED

INFINITE, NOT_ONE = float("inf"), float("nan")


@pytest.fixture
def state() -> ContextState:
    """That of a context with one result."""
    conversation = Conversation(ContextState("s"), lambda profile: Ruleset.from_config(SHIPPED, TOOLS, profile or "spec"))
    tool, given = TOOLS.of("Read"), {"file_path": "/p/a.py"}
    outcome = outcomes.outcome_of_text(tool, given, "     1\tone\n     2\ttwo")
    conversation.observe(Call("toolu_1", tool, given, outcome, 1_000.0, "/p", "turn 1"))
    assert list(conversation.state.live) == ["toolu_1"]
    return conversation.state


def test_what_the_engine_makes_is_sound(state: ContextState) -> None:
    assert is_sound(state)
    assert is_sound(ContextState("s"))


@pytest.mark.parametrize("value", [INFINITE, -INFINITE, NOT_ONE])
@pytest.mark.parametrize("name", ["at", "calibration"])
def test_a_time_or_a_factor_is_finite(state: ContextState, name: str, value: float) -> None:
    setattr(state, name, value)
    assert not is_sound(state)


@pytest.mark.parametrize("value", [INFINITE, NOT_ONE])
def test_so_is_the_time_of_a_result(state: ContextState, value: float) -> None:
    state.live["toolu_1"].at = value
    assert not is_sound(state)


@pytest.mark.parametrize("amount", [INFINITE, NOT_ONE, True, "1", None])
def test_an_amount_of_a_ledger_is_a_finite_number(state: ContextState, amount: object) -> None:
    state.counts.ledger["tokens"] = 0.5
    assert is_sound(state)
    state.counts.ledger["tokens"] = amount
    assert not is_sound(state)


@pytest.mark.parametrize("name", ["tool", "label", "hash", "verdict"])
def test_the_texts_of_a_result_are_texts(state: ContextState, name: str) -> None:
    setattr(state.live["toolu_1"], name, 1)
    assert not is_sound(state)


def test_so_are_its_subjects_and_what_was_said_lately(state: ContextState) -> None:
    state.live["toolu_1"].subjects = ["/p/a.py", 1]
    assert not is_sound(state)
    state.live["toolu_1"].subjects = ["/p/a.py"]
    assert is_sound(state)
    state.recent = {"a": 1}
    assert not is_sound(state)


@pytest.mark.parametrize(
    ("part", "sound"),
    [
        ([FILE + "/p/a.py", [1, 2]], True),
        ([FILE + "/p/a.py", [1]], False),
        ([FILE + "/p/a.py", [1, 2, 3]], False),
        ([FILE + "/p/a.py", [1, "2"]], False),
        (["run", ["a"]], True),
        (["run", []], True),
        (["run", ["a", "b", "c"]], True),
        (["run", ["a", 2]], False),
        (["run", "a"], False),
        ([1, []], False),
        (["run"], False),
        (["run", [], []], False),
        ("ru", False),
        (None, False),
    ],
)
def test_a_part_is_a_key_and_its_scope(state: ContextState, part: object, sound: bool) -> None:
    state.live["toolu_1"].parts = [part]
    assert is_sound(state) == sound
