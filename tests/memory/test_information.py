"""What sentences tell, and which of them stay within a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy.estimate import estimate_tokens
from popkit_retention.memory.compression import as_text, keep
from popkit_retention.memory.sentences import Corpus, information, split

from .test_sentences import written

SMALL_TALK = ["Hey Tom! How are you doing?", "Great to hear from you! That sounds awesome.", "Thanks, you always support me."] * 3
CORPUS = Corpus(sentence.text for text in [*SMALL_TALK, "I sold the old boat to Alice in Hamburg last Friday."] for sentence in split(text))
turns = st.lists(written, max_size=8)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("We bought a boat yesterday", "We bought a boat somewhere"),  # a date
        ("I repaired the boat", "They repaired the boat"),  # the first person
        ("They saw the old Titanic", "They saw the old titanic"),  # a proper noun
        ("They painted the boat", "They paint the boat"),  # an action
        ("There were 7 boats", "There were blue boats"),  # a number
        ("My sister sails", "My lawyer sails"),  # somebody near
        ("They just sail", "They all sail"),  # news
        ("They sail a boat", "They could sail a boat"),  # what is, before what may be
        ("They sail a boat.", "They sail a boat?"),
        ("They sail a boat", "You sail a boat"),
        ("They sail a boat", "Sailing a boat"),
        ("Harbour dues rose", "Wonderful dues rose"),  # no courtesy
    ],
)
def test_a_trait_says_what_will_be_asked_for(more: str, less: str):
    assert information(more, CORPUS) > information(less, CORPUS)


def test_rare_words_tell_more_than_those_that_everybody_uses():
    assert information("Alice has it", CORPUS) > information("Tom has it", CORPUS)
    assert information("a zeppelin", CORPUS) > information("a week", CORPUS)


def test_to_call_each_other_by_name_tells_nothing():
    assert information("They met Tom there", CORPUS, ["Tom"]) < information("They met Tom there", CORPUS)


@pytest.mark.parametrize("nothing", ["", "!", "It is", "..."])
def test_what_has_no_words_tells_nothing(nothing: str):
    assert information(nothing, CORPUS) == 0.0


def test_the_sentence_that_will_be_asked_for_stays():
    told = [*SMALL_TALK[:3], "Oh wow! I sold the old boat to Alice in Hamburg last Friday. How cool is that?"]
    kept = keep(told, 22, ["Ann", "Tom", "Ann", "Tom"])
    assert as_text(kept, ["Ann", "Tom", "Ann", "Tom"]) == "Tom: I sold the old boat to Alice in Hamburg last Friday."


def test_what_is_said_twice_stays_once():
    kept = keep(["The key lies under the mat.", "The key lies under the mat!"], 100)
    assert [each.place for each in kept] == [0]


def test_there_is_a_speaker_for_each_text_or_none():
    with pytest.raises(ValueError, match="2 texts have 1 speakers"):
        keep(["a", "b"], 10, ["Ann"])


@given(turns, st.integers(0, 60), st.booleans())
def test_the_budget_holds_and_the_order_stays(texts: list[str], budget: int, named: bool):
    speakers = ["Ann", "Tom"] * 4 if named else []
    speakers = speakers[: len(texts)]
    kept = keep(texts, budget, speakers)
    assert estimate_tokens(as_text(kept, speakers)) <= budget
    assert [(each.place, each.sentence.start) for each in kept] == sorted((each.place, each.sentence.start) for each in kept)
    assert all(each.sentence in split(texts[each.place]) for each in kept)


@given(turns, st.integers(0, 60))
def test_what_was_kept_is_kept_again(texts: list[str], budget: int):
    kept = [each.sentence.text for each in keep(texts, budget)]
    assert [each.sentence.text for each in keep(kept, budget)] == kept


@given(turns)
def test_with_tokens_enough_all_but_repetitions_stays(texts: list[str]):
    kept = {each.sentence.text for each in keep(texts, 1e6)}
    said = [sentence.text for text in texts for sentence in split(text)]
    assert kept <= set(said)
    assert {frozenset(Corpus([text]).holding) for text in kept} == {frozenset(Corpus([text]).holding) for text in said}
