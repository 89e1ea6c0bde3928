"""Up to which lengths a secret, a word, an address and a call are looked at: both sides of each boundary."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy import secret_shapes
from popkit_retention.core.policy.masking import MASK, mask

MIXED = "g7h2j9k4m1n8p3q6" * 8  # changes at each character, and is no hash


@pytest.mark.parametrize(("inside", "before", "behind"), secret_shapes._INSIDE)
def test_what_occurs_inside_a_key_needs_so_much_of_it_on_both_sides(inside: str, before: int, behind: int):
    def found(left: int, right: int) -> list[tuple[int, int]]:
        return [area for area in secret_shapes.spans("! " + MIXED[:left] + inside + MIXED[:right]) if area[1] - area[0] > len(inside)]

    assert found(before - 1, behind) == [(2, 2 + before - 1 + len(inside) + behind)]
    assert found(before - 2, behind) == []
    assert found(before - 1, behind - 1) == []


@pytest.mark.parametrize(("least", "beginning"), [(secret_shapes._SURE_CHARS, "ghp_"), (secret_shapes._DOUBTFUL_CHARS, "sk-")])
def test_behind_the_beginning_of_a_key_comes_so_much_of_it(least: int, beginning: str):
    assert secret_shapes.spans(beginning + MIXED[:least]) == [(0, len(beginning) + least)]
    assert secret_shapes.spans(beginning + MIXED[: least - 1]) == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a ghp_abcdefgh b", "a   b"),
        ("ghp_abcdefgh", " "),
        ("a", "a"),
        ("", ""),
        ("ghp_abcdefgh:ghp_ijklmnop!", " : !"),
        ("-----BEGIN PRIVATE KEY-----ghp_abcdefgh-----END PRIVATE KEY-----.", " ."),
    ],
)
def test_a_blank_takes_the_place_of_what_is_known_by_its_form(text: str, rest: str):
    assert secret_shapes.without(text) == rest


@pytest.mark.parametrize("before", [0, 1, 2, 50, 150, 190, 195, 196, 197, 198, 199, 200, 201, 390, 399, 400, 401])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quoted_word_is_one_word_wherever_it_stands(before: int, quote: str):
    line = f"{'x' * before};tool create-user {quote}b;ob{quote} heron"
    assert mask(line) == line.replace("heron", MASK)


def test_a_quoted_word_is_one_word_up_to_a_length():
    for length, is_masked in ((197, True), (198, True), (199, False)):
        line = f"tool create-user 'b;{'o' * (length - 2)}' heron"
        assert (MASK in mask(line)) is is_masked


def test_an_address_is_examined_up_to_a_length():
    for length, is_masked in ((1_995, True), (1_996, False)):
        line = f"https://bob:{'a' * length}@host.invalid more"
        assert mask(line) == (line.replace("a" * length, MASK) if is_masked else line)


def test_a_call_is_read_up_to_a_length():
    for length, is_masked in ((275, True), (290, False)):
        line = f"connect({' ' * length}'a', 'b', 'heron')"
        assert (MASK in mask(line)) is is_masked


def test_no_name_of_a_program_is_so_long():
    for length, is_masked in ((79, True), (80, False)):
        line = "/" * (length - len("mysql")) + "mysql -pheron"
        assert (MASK in mask(line)) is is_masked
