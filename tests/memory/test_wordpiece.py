"""Token ids are those of the reference tokenizer: the tables below were made with the `tokenizers` package."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory.wordpiece import BEGIN, END, UNKNOWN, VOCABULARY, ids_of


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("   \t\n", []),
        ("Hello, World!", [7592, 1010, 2088, 999]),
        ("unaffable embeddings", [14477, 20961, 3468, 7861, 8270, 4667, 2015]),
        ("don't re-read hooks/utils/state_file.py:12",
         [2123, 1005, 1056, 2128, 1011, 3191, 18008, 1013, 21183, 12146, 1013, 2110, 1035, 5371, 1012, 1052, 2100, 1024, 2260]),
        ("na\xefve caf\xe9 \xc0\xc9\xce", [15743, 7668, 29347, 2072]),
        ("e\u0301te\u0301", [3802, 2063]),
        ("\u6771\u4eac\u90fd\u306b\u4f4f\u3080", [1879, 1755, 1961, 1668, 100, 1679]),
        ("\ud55c\uad6d\uc5b4", [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
        ("Stra\xdfe \u041f\u0440\u0438\u0432\u0435\u0442", [2358, 27807, 1194, 16856, 10325, 25529, 15290, 22919]),
        ("a\x00b\ufffdc\u200bd", [5925, 2094]),
        ("x" * 100, [22038, *[20348] * 49]),
        ("x" * 101, [UNKNOWN]),
        ("$5.00 + 3% ~ `code` ^_^", [1002, 1019, 1012, 4002, 1009, 1017, 1003, 1066, 1036, 3642, 1036, 1034, 1035, 1034]),
        ("\U0001f600 ok", [100, 7929]),
        ("\xa0nbsp\u3000wide", [1050, 5910, 2361, 2898]),
        ("\u201cquoted\u201d \u2014 dash\u2026", [1523, 9339, 1524, 1517, 11454, 1529]),
        ("\u0130stanbul \u01c5 \ufb01", [9960, 100, 1984]),
        ("1,000,000 2023-05-08", [1015, 1010, 2199, 1010, 2199, 16798, 2509, 1011, 5709, 1011, 5511]),
    ],
)  # fmt: skip
def test_a_text_has_the_ids_of_the_reference(text: str, ids: list[int]) -> None:
    assert ids_of(text, 256) == [BEGIN, *ids, END]


def test_a_text_cannot_say_a_special_token() -> None:
    assert ids_of("[CLS] [SEP]", 256)[1:-1] == [1031, 18856, 2015, 1033, 1031, 19802, 1033]


@given(st.text(), st.integers(2, 20))
def test_there_are_never_more_ids_than_allowed_and_they_stand_between_begin_and_end(text: str, most: int) -> None:
    ids = ids_of(text, most)
    assert len(ids) <= most
    assert (ids[0], ids[-1]) == (BEGIN, END)
    assert ids[1:-1] == ids_of(text, 1_000)[1:-1][: most - 2]


def test_the_vocabulary_is_the_published_one() -> None:
    assert hashlib.sha256(VOCABULARY.read_bytes()).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
