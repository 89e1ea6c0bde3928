"""What stands for a cleared result: short whatever its label holds, and known again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.placeholder import _WHY, LONGEST, LONGEST_WHY, handle_in, is_handle, outline, placeholder, why, with_outline
from tests.policy.scenario import Scenario
from tests.policy.test_outline import texts

HANDLES = st.text(alphabet="abcdefghijklmnopqrstuvwxyz234567", min_size=8, max_size=51)
REASONS = st.sampled_from(sorted({*_WHY.values(), "expired", "unused for 22 calls", "unused for 100000 calls"}))
NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@ ~=<>!"
NOTICE = "[PopKit cleared Read a.ts (old). To see it: popkit restore abcd2345]"


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


# --- with an outline --------------------------------------------------------------------------------------------------------------


def test_an_outline_stands_on_a_line_of_its_own_and_none_changes_nothing():
    assert with_outline(NOTICE, "src/auth/session.ts handleCheckout7") == NOTICE + "\nsrc/auth/session.ts handleCheckout7"
    assert with_outline(NOTICE, "") == NOTICE


@given(st.text(max_size=300), REASONS, HANDLES, texts)
def test_it_is_known_again_with_the_outline_of_any_text(label, why, handle, text):
    kept = outline(text)
    said = with_outline(placeholder(label, why, handle), kept)
    assert handle_in(said) == handle
    assert said.count("\n") == bool(kept)


@pytest.mark.parametrize(
    "content",
    [
        NOTICE + "\n" + NOTICE,
        NOTICE + "\nsrc/a.ts src/b.ts\n" + NOTICE,
        NOTICE + "\nsrc/a.ts\nsrc/b.ts",
        NOTICE + "\nsrc/a.ts\n",
        NOTICE + "\n",
        NOTICE + "\n\nsrc/a.ts",
        NOTICE + "\r\nsrc/a.ts",
        NOTICE + "\nsrc/a.ts, src/b.ts",
        NOTICE + "\nrm -rf $HOME",
        NOTICE + "\nsrc/é.ts",
        NOTICE + "\nsrc/a.ts\tsrc/b.ts",
        "src/a.ts\n" + NOTICE,
        "12:" + NOTICE + "\n13:" + NOTICE,
    ],
)
def test_several_of_them_as_a_search_prints_them_and_lines_that_are_no_outline_are_none(content):
    assert handle_in(content) == ""


@given(REASONS, HANDLES, st.text(max_size=40) | st.text(NAME_CHARS, max_size=40))
def test_only_a_line_of_names_behind_it_leaves_it_a_placeholder(why, handle, line):
    named = line != "" and set(line) <= set(NAME_CHARS)
    assert handle_in(placeholder("Read a.ts", why, handle) + "\n" + line) == (handle if named else "")


@pytest.mark.parametrize(("calls", "said"), [(1, "unused for 1 call"), (2, "unused for 2 calls"), (999_999, "unused for 999999 calls")])
def test_for_how_long_it_was_unused_fits_into_the_notice(session: Scenario, calls, said):
    session.read("a.py")
    assert why(session.result("T1"), calls) == said
    assert len(said) <= LONGEST_WHY
    assert f"({said})" in placeholder("Read a.py", said, "abcd2345")
