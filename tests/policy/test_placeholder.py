"""What stands for a cleared result: short whatever its label holds, and known again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.placeholder import LONGEST, handle_in, is_handle, placeholder
from hooks.utils.policy.selection import _WHY

HANDLES = st.text(alphabet="abcdefghijklmnopqrstuvwxyz234567", min_size=8, max_size=51)
REASONS = st.sampled_from(sorted({*_WHY.values(), "expired"}))


def test_it_says_what_it_was_why_it_went_and_how_it_comes_back():
    said = placeholder("Read src/auth.ts", "edited later", "abcd2345")
    assert said == "[PopKit cleared Read src/auth.ts (edited later). To see it: popkit restore abcd2345]"


def test_a_long_label_is_cut():
    said = placeholder("Bash " + "npm test " * 30, "a newer one follows", "abcd2345")
    assert len(said) == LONGEST
    assert "npm te… (a newer one follows). To see it: popkit restore abcd2345]" in said or "… (a newer" in said


@given(st.text(max_size=300), REASONS, HANDLES.filter(lambda handle: len(handle) == 8))
def test_it_is_one_line_of_at_most_forty_tokens(label, why, handle):
    said = placeholder(label, why, handle)
    assert len(said) <= LONGEST
    assert estimate_tokens(said) <= 40
    assert said.isprintable()


@given(st.text(max_size=300), REASONS, HANDLES)
def test_it_is_known_again(label, why, handle):
    assert handle_in(placeholder(label, why, handle)) == handle


@given(st.text(max_size=60) | st.lists(st.text()) | st.none() | st.integers())
def test_nothing_else_is_taken_for_one(content):
    assert handle_in(content) == ""


@pytest.mark.parametrize(
    "content",
    [
        "see [PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345]",
        "[PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345] and more",
        "[PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345; rm x]",
        "[PopKit cleared Read a.ts (old). To see it: popkit restore abc]",
        "[PopKit cleared Read a.ts (old)]",
        "[PopKit cleared " + "x" * 400 + " To see it: popkit restore abcd2345]",
    ],
)
def test_a_text_that_quotes_one_is_none(content):
    assert handle_in(content) == ""


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("abcd2345", True), ("a" * 51, True), ("a" * 52, False), ("abcd234", False), ("abcd2340", False), ("ABCD2345", False),
     ("abcd 345", False), ("abcd2345\n", False), ("abcd234é", False), ("", False)],
)  # fmt: skip
def test_a_handle_is_eight_small_letters_and_digits_or_more(word, is_one):
    assert is_handle(word) is is_one
