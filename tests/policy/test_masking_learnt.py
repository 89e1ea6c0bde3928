"""Secrets that another masker has taken out are learnt, and masked from then on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy import masking
from popkit_retention.core.policy.masking import MASK, learn, mask
from popkit_retention.core.policy.masking.learnt import taken_out
from tests.examples import examples


@pytest.fixture
def nothing_learnt() -> Iterator[None]:
    known = masking.secrets_learnt()
    masking.learn_again([])
    yield
    masking.learn_again(known)


@pytest.mark.parametrize(
    ("text", "redacted", "secrets"),
    [
        ("deploy --with heron-blue now", "deploy --with [REDACTED] now", ["heron-blue"]),
        ("a heron-blue b 'heron red'", "a [REDACTED_KEY] b [REDACTED]", ["heron-blue", "heron red"]),
        ("heron-blue", "[REDACTED]", ["heron-blue"]),
        ("nothing", "nothing", []),
        ("nothing", "something else", []),
        ("says [REDACTED in a text that goes on", "says [REDACTED in a text that goes on", []),
        ("one two", "[REDACTED][REDACTED]", []),
        # Between the same words.
        ("a heron b", f"a [REDACTED{'x' * 60}] b", ["heron"]),
        ("a heron b", f"a [REDACTED{'x' * 61}] b", []),
        ("x heron b", "a [REDACTED] b", []),
        ("a heron b owl c", "a [REDACTED] b [REDACTED] d", ["heron"]),
        ("a heron", "a [REDACTED]", ["heron"]),
        ("heron b", "[REDACTED] b", ["heron"]),
        ("'heron' b", "[REDACTED] b", ["heron"]),
    ],
)
def test_what_another_masker_took_out_is_found_by_its_marks(text: str, redacted: str, secrets: list[str]):
    assert taken_out(text, redacted) == secrets


@settings(deadline=None, max_examples=examples(25, 200))
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_are_compared(text: str, redacted: str):
    assert all(part in text for part in taken_out(text, redacted))


def test_a_learnt_secret_is_masked_from_then_on_and_texts_stay_equally_distinct(nothing_learnt):
    line = "./deploy --with heron-grey-17x now"
    key = mask(line, tell_apart=True)
    assert mask(line) == line
    learn(line, "./deploy --with [REDACTED] now")
    assert mask(line) == "./deploy --with **** now"
    assert mask(f"1 failed: heron-grey-17x, {'x' * 500}").startswith("1 failed: ****,")
    assert mask(line, tell_apart=True) == key


def learn_all(*secrets: str) -> None:
    for secret in secrets:
        learn(f"use {secret} now", "use [REDACTED] now")


def test_what_is_learnt_is_kept_once_the_longest_first(nothing_learnt):
    learn_all("heron-1", "heron-1-grey", "heron-1", "heron-22")
    assert masking.secrets_learnt() == ["heron-1-grey", "heron-22", "heron-1"]
    assert mask("heron-1-grey heron-1") == f"{MASK} {MASK}"


def test_nothing_short_is_learnt(nothing_learnt):
    learn_all("heron", "herons")
    assert masking.secrets_learnt() == ["herons"]


def test_of_too_many_the_newest_are_kept(nothing_learnt):
    learn_all(*(f"secret-{number:04}" for number in range(502)))
    assert sorted(masking.secrets_learnt()) == [f"secret-{number:04}" for number in range(2, 502)]


def test_another_process_masks_what_one_has_learnt(nothing_learnt):
    assert mask("see herons") == "see herons"
    masking.learn_again(["herons"])
    assert mask("see herons") == f"see {MASK}"
    masking.secrets_learnt().clear()
    assert masking.secrets_learnt() == ["herons"]


def test_numbers_are_taken_off_and_what_was_learnt_is_masked(nothing_learnt):
    told = mask("TOKEN=heron-grey see herons", tell_apart=True)
    assert re.fullmatch(r"TOKEN=\*{4}#[0-9a-f]{4} see herons", told)
    assert mask("TOKEN=heron-grex see herons", tell_apart=True) != told
    assert masking.without_numbers(told) == f"TOKEN={MASK} see herons"
    masking.learn_again(["herons"])
    assert masking.without_numbers(told) == f"TOKEN={MASK} see {MASK}"
    assert mask(told, tell_apart=True) == told
