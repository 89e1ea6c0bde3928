"""Which strings tell that a result is needed again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.lab.recorded import strings_of, texts_in

# The definitions, as they are written down.
NAME = r"[A-Za-z0-9_][A-Za-z0-9_\-./:@]{10,190}[A-Za-z0-9_]"
PLAIN = r"^[A-Za-z][a-z]+(?:[-/.][A-Za-z]?[a-z]+)?$"


@pytest.mark.parametrize(
    "name",
    ["src/auth/login.ts", "getUserSessions", "snake_case_name", "v1.22.333-rc.1", "user@example.com", "a" * 11 + "1", "well-known-names"],
)
def test_identifiers_paths_versions_and_addresses_count(name: str) -> None:
    assert strings_of(f"({name}") == {name}


@pytest.mark.parametrize("word", ["implementation", "Documentation", "either/otherwise", "command-line", "Something.Other", "short_name1"])
def test_plain_words_and_short_names_do_not(word: str) -> None:
    assert strings_of(f"({word}") == set()


@pytest.mark.parametrize(("length", "counts"), [(11, False), (12, True), (192, True)])
def test_a_name_has_12_to_192_characters(length: int, counts: bool) -> None:
    assert (strings_of("_" * length + "\n") >= {"_" * length}) == counts


def test_a_longer_name_counts_by_its_first_192_characters() -> None:
    assert "_" * 192 in strings_of("_" * 195)


def test_a_name_begins_and_ends_with_a_letter_a_digit_or_an_underscore() -> None:
    assert strings_of("./src/main.test.py.") == {"src/main.test.py"}


@pytest.mark.parametrize(("length", "counts"), [(19, False), (20, True), (400, True), (401, False)])
def test_a_line_counts_with_20_to_400_characters(length: int, counts: bool) -> None:
    line = ("ab " * length)[: length - 1] + "c"
    assert strings_of(line) == ({line} if counts else set())


@pytest.mark.parametrize("number", ["     7\t", "12→", "  3→"])
def test_a_line_counts_without_its_number_and_the_blanks_around_it(number: str) -> None:
    assert strings_of(f"{number}    if a is b and c is d:  \nshort") == {"if a is b and c is d:"}


def test_a_number_that_no_line_number_mark_follows_belongs_to_the_line() -> None:
    assert strings_of("12 of the 30 tests are red") == {"12 of the 30 tests are red"}


def test_lines_end_at_a_line_feed_only() -> None:
    assert strings_of("one and two and\x0bthree and four\r\n") == {"one and two and\x0bthree and four"}


@given(st.text(alphabet="aB1_-./:@ \t\n→é", max_size=300))
def test_strings_are_those_of_the_definition(text: str) -> None:
    names = {name for name in re.findall(NAME, text) if not re.match(PLAIN, name)}
    lines = {re.sub(r"^\s*\d+(?:→|\t)", "", line).strip() for line in text.split("\n")}
    assert strings_of(text) == names | {line for line in lines if 20 <= len(line) <= 400}


def test_all_texts_of_a_value_are_found_but_no_keys_and_no_numbers() -> None:
    assert texts_in({"a": "one", "b": [1, None, {"c": "two"}, ["three"]]}) == ["one", "two", "three"]
    assert texts_in(7) == []
