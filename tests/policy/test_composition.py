"""What prompts are made of: what came between two requests shares what the second has more, and the parts are the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.composition import CALLED, OTHER, SAID, SUMMARY, THOUGHT, Composition
from popkit_retention.core.policy.usage import Usage

READ, BASH = "result Read", "result Bash"
STANDING = 10_000


def usage(tokens: int, read: int = 0, created: int = 0, model: str = "claude-opus-4-6") -> Usage:
    return Usage(STANDING + tokens, 0.0, model, 300, read and STANDING + read, created)


def sizes(composition: Composition, tokens: int, model: str = "claude-opus-4-6") -> dict[str, int]:
    """kind -> tokens, of a request whose conversation has so many."""
    shares = composition.sent(usage(tokens, tokens, model=model), STANDING, 0)
    return {kind: round(sum(row[:3])) for kind, row in shares.items()}


@pytest.fixture
def begun() -> Composition:
    """A conversation of 100 tokens of words, a file of 3,000 and a run of 1,000, as they were measured."""
    composition = Composition()
    composition.add(SAID, 100, "u1")
    assert sizes(composition, 100) == {SAID: 100}
    composition.add(READ, 1_500, "u2")
    composition.add(BASH, 500, "u3")
    assert sizes(composition, 4_100) == {SAID: 100, READ: 3_000, BASH: 1_000}
    return composition


def test_growth_that_nothing_accounts_for_is_of_no_kind_that_is_known(begun: Composition):
    begun.add(BASH, 100)
    assert sizes(begun, 5_100) == {SAID: 100, READ: 3_000, BASH: 1_250, OTHER: 750}


def test_what_has_left_unseen_makes_all_that_stood_smaller(begun: Composition):
    assert sizes(begun, 2_050) == {SAID: 50, READ: 1_500, BASH: 500}
    assert sizes(begun, 0) == {SAID: 0, READ: 0, BASH: 0}


def test_a_compaction_leaves_what_it_names_at_its_size(begun: Composition):
    begun.keep({"u3"})
    begun.add(SUMMARY, 400)
    assert sizes(begun, 1_500) == {BASH: 1_000, SUMMARY: 500}


def test_a_rewind_leaves_the_beginning(begun: Composition):
    begun.cut(2)
    begun.add(SAID, 50)
    assert sizes(begun, 3_150) == {SAID: 150, READ: 3_000}


def test_thinking_can_leave_by_itself(begun: Composition):
    begun.add(THOUGHT, 500)
    begun.add(CALLED, 200)
    sizes(begun, 4_800)
    begun.drop(THOUGHT)
    assert sizes(begun, 4_300) == {SAID: 100, READ: 3_000, BASH: 1_000, CALLED: 200}


def test_another_model_measures_all_of_it_again(begun: Composition):
    assert sizes(begun, 8_200, model="claude-opus-5") == {SAID: 200, READ: 6_000, BASH: 2_000}


def test_a_prompt_is_read_from_its_beginning_and_what_was_lost_counts_as_read(begun: Composition):
    begun.add(BASH, 500)
    # 2,100 of 4,600 are read, the 2,000 behind them were lost, 480 are new, 20 are not cached.
    shares = begun.sent(usage(4_600, read=2_100, created=2_480), STANDING, 2_000)
    rounded = {kind: [round(tokens) for tokens in row] for kind, row in shares.items()}
    assert rounded == {SAID: [0, 100, 0, 100], READ: [0, 3_000, 0, 2_000], BASH: [20, 1_000, 480, 500]}


steps = st.one_of(
    st.tuples(st.just("add"), st.sampled_from([SAID, READ, BASH, THOUGHT]), st.integers(0, 5_000)),
    st.tuples(st.just("keep"), st.sets(st.integers(0, 20))),
    st.tuples(st.just("cut"), st.integers(0, 10)),
    st.tuples(st.just("drop"), st.sampled_from([THOUGHT, READ])),
    st.tuples(
        st.just("sent"), st.integers(0, 30_000), st.integers(0, 30_000), st.integers(0, 30_000), st.sampled_from("ab"),
        st.integers(0, 12_000), st.integers(0, 1_000_000),
    ),
)  # fmt: skip


@given(st.lists(steps, max_size=30))
def test_shares_are_never_negative_and_add_up_to_the_conversation_by_use(events: list[tuple]):
    composition = Composition()
    for number, (word, *rest) in enumerate(events):
        if word == "add":
            composition.add(*rest, key=number)
        elif word != "sent":
            getattr(composition, word)(*rest)
        else:
            plain, read, created, model, standing, lost = rest
            lost = min(lost, created + plain)
            shares = composition.sent(Usage(plain + read + created, 0.0, model, 300, read, created), standing, lost).values()
            assert min((min(row) for row in shares), default=0) > -0.001
            whole = plain + read + created
            parts = [
                whole - max(standing, read + max(created, lost)),
                read + lost - standing,
                read + created - max(standing, read + lost),
                max(0, read - standing) + max(0, whole - max(standing, read + lost)),
            ]
            for column, tokens in enumerate(parts):
                assert sum(row[column] for row in shares) == pytest.approx(max(0, tokens), abs=0.01)
