"""Text becomes terms: prose by its words, code by its names and what these are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory.terms import LONGEST_TERM, STOP_WORDS, stem, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("to be or not to be", []),
        ("Caroline's kids don't like hiking & we’re painting", ["carolin", "kid", "like", "hike", "paint"]),
        ("utils/fooBar.py", ["utils/foobar.py", "util", "foobar.py", "foobar", "foo", "bar", "py"]),
        ("hooks\\utils\\state_file.py:12",
         ["hooks/utils/state_file.py", "hook", "util", "state_file.py", "state_file", "state", "file", "py", "12"]),
        ("HTTPServer2 getURLs SHA256 IDs", ["httpserver2", "http", "server2", "geturls", "get", "url", "sha256", "id"]),
        ("__init__", ["__init__", "init"]),
        ("git commit --no-verify", ["git", "commit", "no-verify", "verify"]),
        ("self-care", ["self-care", "self", "care"]),
        ("os.path.join", ["os.path.join", "os", "path", "join"]),
        ("version 3.10.1, 1/2 on 2023-05-08", ["version", "3.10.1", "1/2", "2023-05-08", "2023", "05", "08"]),
        ("café CAFÉ cafe\u0301 naïve", ["cafe", "cafe", "cafe", "naiv"]),
        ("Привет, straße", ["привет", "straße"]),
        ("東京都に", ["東京", "京都", "都に"]),
        ("x" * 400, []),
    ],
)  # fmt: skip
def test_a_text_has_these_terms(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


@pytest.mark.parametrize(
    "forms",
    [
        "paint paints painted painting", "hike hikes hiked hiking", "hop hops hopped hopping", "cache caches cached caching",
        "box boxes boxed boxing", "try tries tried trying", "tie ties tied", "agree agrees agreed", "make makes made making",
        "go goes went gone going", "buy buys bought buying", "child children", "person people", "create creates created creating",
        "class classes", "use uses used using", "write writes wrote written writing",
    ],
)  # fmt: skip
def test_the_forms_of_a_word_are_one_term(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("words", ["need feed", "sing sting", "bus us", "red reed", "thing thine", "news new's test"])
def test_words_that_only_look_like_forms_stay_apart(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == len(words.split())


@given(st.text())
def test_a_term_is_in_lower_case_without_spaces_quotes_or_stop_words(text: str) -> None:
    for term in terms_of(text):
        assert 0 < len(term) <= LONGEST_TERM
        assert term == term.lower()
        assert all(char.isalnum() or char in "_./-" or ord(char) > 127 for char in term)
        term.encode()


@given(st.text(), st.text())
def test_texts_on_two_lines_have_the_terms_of_both(one: str, other: str) -> None:
    assert terms_of(f"{one}\n{other}") == terms_of(one) + terms_of(other)


@given(st.lists(st.sampled_from("abcdfghk"), min_size=1), st.sampled_from("/_-"))
def test_a_name_is_found_by_itself_and_by_each_of_its_parts(letters: list[str], joint: str) -> None:
    parts = [letter * 4 for letter in letters]
    name = joint.join(parts)
    terms = terms_of(name)
    assert set(parts) <= set(terms)
    assert name in terms or len(name) > LONGEST_TERM


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=30))
def test_case_does_not_matter_to_a_word(word: str) -> None:
    assert terms_of(word) == terms_of(word.title()) == terms_of(word.upper())


def test_a_megabyte_without_a_word_break_costs_no_more_than_its_length() -> None:
    assert terms_of("a" * 1_000_000 + " end") == ["end"]
    assert terms_of("a/" * 500_000) == []
    assert "while" in STOP_WORDS
