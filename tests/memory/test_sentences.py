"""Text becomes terms: prose by its words, code by its names and what these are made of. Sentences of chat turns, notes and Markdown;
what they tell, and which of them stay within a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.memory.compression import as_text, keep
from popkit_retention.memory.sentences import Corpus, information, split
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


# --- sentences ----------------------------------------------------------------------------------------------------------------------------

# Pieces that sentences end with, or only seem to.
PIECES = [
    "We went home", "I", "e.g.", "Dr.", "No.", "3.5", "p.m.", "etc.", "U.S.", "J.", "ok", "The", "and", "foo", "`a. B`", "(See it. Now!)",
    "https://a.b/c.d?e=f", ".", "!", "?", "...", "…", "?!", ". ", "! ", "? ", '."', ".) ", "。", "！", "😊", " 😊 ", ":)", "\n", "\n\n",
    "- ",
    "1. ", "# ", "> ", "| ", "```\n", "~~~", " ", "\t", "(", ")", "`", "*", '"',
    "a line that is long enough to have been wrapped by an editor",
]  # fmt: skip
written = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200)


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It works. I like it!", ["It works.", "I like it!"]),
        ("Why? Nobody knows. Really?!", ["Why?", "Nobody knows.", "Really?!"]),
        ("Hi Dr. Smith, e.g. Mr. Jones vs. Mrs. Li.", ["Hi Dr. Smith, e.g. Mr. Jones vs. Mrs. Li."]),
        ("It took 3.5 hours. Then 2.0 came.", ["It took 3.5 hours.", "Then 2.0 came."]),
        ("See No. 5 on p. 3. No. I did not.", ["See No. 5 on p. 3.", "No.", "I did not."]),
        ("At 5 p.m. we ate. He left at 6 p.m. Then it rained.", ["At 5 p.m. we ate.", "He left at 6 p.m.", "Then it rained."]),
        ("The U.S. Army and J. Smith came.", ["The U.S. Army and J. Smith came."]),
        ("So do I. They left.", ["So do I.", "They left."]),
        ("Well... maybe not. Hmm… Perhaps.", ["Well... maybe not.", "Hmm…", "Perhaps."]),
        ("went home. then slept. great", ["went home.", "then slept.", "great"]),
        ("Look at https://a.b/c.html?d=e. It helps.", ["Look at https://a.b/c.html?d=e.", "It helps."]),
        ("Run `make a. B` first. Then go.", ["Run `make a. B` first.", "Then go."]),
        ("He left (why? who knows. Nobody) at once. Good.", ["He left (why? who knows. Nobody) at once.", "Good."]),
        ("(It rained. A lot.) We stayed.", ["(It rained. A lot.)", "We stayed."]),
        ('"Really?" he said. "Yes." She nodded.', ['"Really?" he said.', '"Yes."', "She nodded."]),
        ("Thanks! 😊 See you. :) Bye", ["Thanks! 😊", "See you. :)", "Bye"]),
        ("I love it 😊 We should go :) It is near", ["I love it 😊", "We should go :)", "It is near"]),
        ("今日は。明日も！ok", ["今日は。", "明日も！", "ok"]),
        ("", []),
        (" \n\t ", []),
        ("...", ["..."]),
    ],
)
def test_a_chat_turn_is_cut_where_sentences_end(text: str, sentences: list[str]):
    assert texts(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("# Why\nBecause it is so.", ["# Why", "Because it is so."]),
        ("- milk\n- eggs. Ten of them\n* bread", ["- milk", "- eggs.", "Ten of them", "* bread"]),
        ("1. First do this. Then that.\n2. Second", ["1. First do this.", "Then that.", "2. Second"]),
        ("- [x] write it\n- [ ] test it", ["- [x] write it", "- [ ] test it"]),
        ("> quoted once\n> quoted twice\nand an answer", ["> quoted once", "> quoted twice", "and an answer"]),
        ("| a | b |\n|---|---|\n| 1. | 2 |", ["| a | b |", "|---|---|", "| 1. | 2 |"]),
        ("Do it:\n```py\na = 1. \n\nb. C\n```\nThen go.", ["Do it:", "```py\na = 1. \n\nb. C\n```", "Then go."]),
        ("```\nnever. Closed", ["```\nnever. Closed"]),
        ("~~~\n```\nx\n~~~\nAfter", ["~~~\n```\nx\n~~~", "After"]),
        (
            "This paragraph was wrapped by an editor that is set to sixty\ncolumns. It goes on.\n\nThe next",
            ["This paragraph was wrapped by an editor that is set to sixty columns.", "It goes on.", "The next"],
        ),
        ("short\nLines stand alone", ["short", "Lines stand alone"]),
        ("but what goes on\nsmall is one", ["but what goes on small is one"]),
        ("Title\n=====\nText", ["Title", "=====", "Text"]),
    ],
)
def test_markdown_is_cut_into_parts_that_make_sense_alone(text: str, sentences: list[str]):
    assert texts(text) == sentences


@given(written)
def test_no_character_but_blanks_is_lost_and_the_order_stays(text: str):
    end = 0
    for sentence in split(text):
        assert not text[end : sentence.start].strip()
        assert "".join(text[sentence.start : sentence.end].split()) == "".join(sentence.text.split())
        assert end <= sentence.start < sentence.end
        end = sentence.end
    assert not text[end:].strip()


@given(written)
def test_a_sentence_split_again_is_itself(text: str):
    for sentence in texts(text):
        assert texts(sentence) == [sentence]


# --- what they tell -----------------------------------------------------------------------------------------------------------------------

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
    turns = [*SMALL_TALK[:3], "Oh wow! I sold the old boat to Alice in Hamburg last Friday. How cool is that?"]
    kept = keep(turns, 22, ["Ann", "Tom", "Ann", "Tom"])
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
    every_sentence = [sentence.text for text in texts for sentence in split(text)]
    assert kept <= set(every_sentence)
    assert {frozenset(Corpus([text]).holding) for text in kept} == {frozenset(Corpus([text]).holding) for text in every_sentence}
