"""Sentences of chat turns, notes and Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory.sentences import split

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
def test_markdown_is_cut_into_what_stands_for_itself(text: str, sentences: list[str]):
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
