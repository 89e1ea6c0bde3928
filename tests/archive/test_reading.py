"""An archived content is shown to people as its text, without the JSON around it."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.archive.reading import media_of, text_of, value_of

CALLS = {"text": "I look.", "toolUses": [{"tool": "Read", "input": {"path": "ä.py"}}, 7], "toolResults": ["said", {"text": "done"}]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "one"}, {"type": "thinking", "thinking": "two"}], "one\ntwo"),
        ([{"type": "other", "ä": 1}], '{"type": "other", "ä": 1}'),
        ([{"type": "image", "source": {"media_type": "image/png", "data": "A" * 4_000}}], "[image: image/png, 3,000 bytes]"),
        ([{"type": "image", "source": {"url": "x"}}], '{"type": "image", "source": {"url": "x"}}'),
        ([CALLS], 'I look.\nRead {"path": "ä.py"}\n7\n"said"\ndone'),
        ([{**CALLS, "text": None, "toolResults": None}], 'Read {"path": "ä.py"}\n7'),
    ],
)
def test_a_content_reads_as_its_blocks_do(value: object, text: str) -> None:
    assert text_of(json.dumps(value)) == text


def test_what_an_image_holds_is_given_with_its_kind() -> None:
    blocks = [{"type": "image", "source": {"media_type": "image/png", "data": "AA"}}, {"type": "text", "text": "x"}]
    assert media_of(json.dumps(blocks)) == [("image/png", "AA")]
    assert media_of(json.dumps("text")) == []


def test_a_content_has_the_value_of_its_json() -> None:
    assert value_of('[{"type": "text", "text": "x"}]') == [{"type": "text", "text": "x"}]
    assert value_of('"a text"') == "a text"
    for content in ('"a" text', '"two\nlines"'):
        assert value_of(content) == content, "no JSON"
