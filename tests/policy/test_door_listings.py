"""Listings: a run that stands there with numbers is the same as one without, or with others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.policy.door.once import listed
from tests.examples import examples
from tests.policy.entering import FORMS, Told, body, read_of, references

LISTED = re.compile(r"( *)([0-9]+)(→|\t)")


def _put_back(before: str, hidden: list[str]) -> list[str]:
    """Lines as they stood behind one with a listing's number, or without."""
    told = LISTED.match(before)
    if told is None:
        return hidden
    width = len(told[1]) + len(told[2])
    return [f"{number:>{width}}{told[3]}{line}" for number, line in enumerate(hidden, int(told[2]) + 1)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_a_read_repeats_a_read_in_either_form_of_numbers_and_from_another_line_on(form: str, other: str):
    told = Told()
    told.reads(["\tif ready:", *(f"\t\t{line}" for line in body("a"))], 1, form)
    entry = told.reads([f"\t\t{line}" for line in body("a")], 41, other)
    assert entry.leans_on == ("toolu_1",)
    entered = entry.text.split("\n")
    assert entered[0] == FORMS[other].format(number=41, line="\t\t" + body("a")[0])
    assert entered[2] == FORMS[other].format(number=70, line="\t\t" + body("a")[-1])


@pytest.mark.parametrize("one", ["raw", *FORMS])
@pytest.mark.parametrize("other", ["raw", *FORMS])
def test_a_listing_repeats_what_any_other_tool_has_printed_with_numbers_or_without(one: str, other: str):
    lines = body("a")
    texts = {"raw": "\n".join(lines), **{form: read_of(lines, 90, form) for form in FORMS}}
    told = Told()
    told.arrives(texts[one])
    entry = told.arrives("The file now reads:\n" + texts[other] + "\nDone.")
    assert entry.leans_on == ("toolu_1",)
    entered, whole = entry.text.split("\n"), texts[other].split("\n")
    assert entered[:2] == ["The file now reads:", whole[0]]
    assert entered[3:] == [whole[-1], "Done."]


@pytest.mark.parametrize("numbers", [[5, 9, 11, 30, 31, 70, 71, 90, 91, 95] * 2, list(range(20, 0, -1)), [7] * 20])
def test_numbers_that_do_not_count_on_are_part_of_their_lines(numbers: list[int]):
    told = Told()
    lines = body("a", 20)
    told.arrives("\n".join(lines))
    text = "\n".join(f"{number}\t{line}" for number, line in zip(numbers, lines))
    assert told.arrives(text) == (text, (), ())


def test_where_the_numbers_jump_a_run_ends():
    told = Told()
    lines = body("a", 30)
    told.reads(lines)
    entry = told.arrives(read_of(lines[:15], 1) + "\n" + read_of(lines[15:], 101), "Grep")
    kept = [line for line in entry.text.split("\n") if not references(line)]
    assert kept == [f"{number:>6}→{lines[at]}" for number, at in ((1, 0), (15, 14), (101, 15), (115, 29))]


@given(
    st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["", " ", "     ", "0", "1", "9"]),
            st.integers(0, 12),
            st.sampled_from(["→x", "\tx", "x", "→1\t", ""]),
        ),
        max_size=12,
    )
)
@settings(max_examples=examples(50, 10_000))
def test_the_stretches_of_a_listing_cover_it_and_number_all_of_their_lines_or_none(whole: list[str]):
    lines, stretches = listed(whole)
    assert [at for begin, end, _ in stretches for at in range(begin, end)] == list(range(len(whole)))
    for begin, end, first in stretches:
        changed = [lines[at] != whole[at] for at in range(begin, end)]
        assert all(changed) if first is not None else not any(changed)
        if all(changed):
            assert [*whole[begin : begin + 1], *_put_back(whole[begin], lines[begin + 1 : end])] == whole[begin:end]
