"""JSON-RPC in lines: what a message is, and what is said of one that is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.mcp import rpc
from popkit_retention.mcp.rpc import Fault, Lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
NO_JSON = {
    b"{": "not JSON",
    b"{} {}": "not JSON",
    b"nonsense": "not JSON",
    b"\xff\xfe": "not UTF-8",
    b"\xef\xbb\xbf{}": "not JSON",
    b'{"id": NaN}': "NaN is not a number",
    b"[Infinity]": "Infinity is not a number",
    b"[-Infinity]": "-Infinity is not a number",
    b"[1e999]": "too large",
    b'{"id": 1, "id": 2}': 'the key "id" stands twice',
    b"[" * 200_000: "nested too deeply",
    b"[" + b"9" * 10_000 + b"]": "not JSON",
    b'"\x01"': "not JSON",
}


@pytest.mark.parametrize(("line", "said"), NO_JSON.items(), ids=lambda value: str(value)[:24])
def test_what_is_no_json_is_a_parse_error_that_says_why(line: bytes, said: str) -> None:
    with pytest.raises(Fault) as raised:
        rpc.read(line)
    assert (raised.value.code, raised.value.id) == (rpc.PARSE_ERROR, None)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 200


NO_MESSAGE = [
    (1, "an object, not a number", None),
    ("x", "an object, not a text", None),
    (None, "an object, not null", None),
    ({}, 'jsonrpc must be "2.0"', None),
    ({"jsonrpc": "1.0", "id": 7, "method": "ping"}, 'jsonrpc must be "2.0"', 7),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, "id must be a text or a number, not null", None),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, "not true or false", None),
    ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, "not an object", None),
    ({"jsonrpc": "2.0", "id": "a"}, "method must be a text, not null", "a"),
    ({"jsonrpc": "2.0", "method": 1, "params": "bar"}, "method must be a text, not a number", None),
]


@pytest.mark.parametrize(("value", "said", "id"), NO_MESSAGE)
def test_what_is_no_message_is_an_invalid_request_under_the_id_that_it_has(value: object, said: str, id: object) -> None:
    with pytest.raises(Fault, match=said) as raised:
        rpc.message_of(value)
    assert raised.value.answer()["error"]["code"] == rpc.INVALID_REQUEST
    assert raised.value.answer()["id"] == id


def test_params_of_a_request_are_an_object() -> None:
    with pytest.raises(Fault, match="params must be an object, not a list") as raised:
        rpc.message_of({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]})
    assert (raised.value.code, raised.value.id) == (rpc.INVALID_PARAMS, 3)
    assert rpc.message_of({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}) is None


@pytest.mark.parametrize("answer", [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": None, "error": {"code": 1}}])
def test_an_answer_that_nobody_asked_for_is_no_message(answer: dict) -> None:
    assert rpc.message_of(answer) is None


@given(JSON)
def test_what_is_sent_is_one_line_that_reads_as_the_same(value: object) -> None:
    line = rpc.encoded(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert rpc.read(line) == value


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20), max_size=8), st.data())
def test_lines_are_the_same_however_the_bytes_are_cut(texts: list[str], data: st.DataObject) -> None:
    stream = "".join(text + "\n" for text in texts).encode()
    lines, found = Lines(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += lines.feed(stream[:size])
        stream = stream[size:]
    assert [line.decode().strip() for line in found] == [text.strip() for text in texts if text.encode().strip()]
    assert lines.rest() == b""


@given(st.integers(1, 40))
def test_a_line_that_is_too_long_is_said_once_and_passed_over(size: int) -> None:
    stream = b"ab\n" + b"x" * 100 + b"\ncd\nrest"
    lines, found = Lines(longest=20), []
    for at in range(0, len(stream), size):
        found += lines.feed(stream[at : at + size])
    first, fault, last = found
    assert (first, last, lines.rest()) == (b"ab", b"cd", b"rest")
    assert fault.code == rpc.INVALID_REQUEST
    assert "longer than 20 bytes and was skipped" in str(fault)


def test_a_line_of_the_longest_size_is_read() -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * 1_000_000}}).encode()
    assert [len(line) for line in Lines().feed(message + b"\n")] == [len(message)]
    assert Lines(len(message)).feed(message + b"\n") == [message]
