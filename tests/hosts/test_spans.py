"""The byte ranges of contents: exactly the values, for any line that is JSON, and a refusal for any other."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.transcripts.spans import LineNotUnderstood, content_spans
from tests.examples import examples
from tests.work import steps

TEXTS = st.text(max_size=12) | st.sampled_from(["tool_result", "content", 'a"b\\', "ä\u2028🎉", "\ud800", "\x00\x1f", "</script>"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NO_OBJECTS = VALUES.filter(lambda value: not isinstance(value, dict))
KEYS = st.text(max_size=6).filter(lambda key: key not in ("type", "message", "content", "tool_use_id"))


@st.composite
def objects(draw, **members):
    """The members, in any order, among others; a strategy that gives ... leaves its member out."""
    found = {name: draw(strategy) for name, strategy in members.items()}
    found |= draw(st.dictionaries(KEYS, VALUES, max_size=2))
    order = draw(st.permutations(list(found)))
    return {name: found[name] for name in order if found[name] is not ...}


def results(ids):
    return st.tuples(*[
        objects(type=st.just("tool_result"), tool_use_id=st.just(id), content=VALUES | st.just(...)) for id in ids
    ])  # fmt: skip


OTHERS = objects(type=st.sampled_from(["text", "image", 7, None, ...]), content=VALUES | st.just(...), tool_use_id=VALUES) | NO_OBJECTS
BLOCKS = st.tuples(st.lists(TEXTS, unique=True, max_size=3).flatmap(results), st.lists(OTHERS, max_size=2)).flatmap(
    lambda both: st.permutations([*both[0], *both[1]])
)
ENTRIES = objects(
    type=st.sampled_from(["user", "user", "user", "assistant", "system", 3, None, ...]),
    message=objects(content=BLOCKS | TEXTS | st.none() | st.just(...)) | NO_OBJECTS | st.just(...),
)


@st.composite
def serialized(draw):
    """An entry, and a line that says it with odd spacing and escapes."""
    entry = draw(ENTRIES)
    random = draw(st.randoms(use_true_random=False))

    def space() -> str:
        return random.choice(["", "", "", " ", "\t", "\r", "  \r "])

    def text(value: str) -> str:
        plain = json.dumps(value, ensure_ascii=random.random() < 0.5 or any("\ud800" <= char <= "\udfff" for char in value))
        return plain.replace("t", "\\u0074") if random.random() < 0.1 and "\\" not in plain else plain

    def write(value) -> str:
        if isinstance(value, dict):
            inner = ",".join(space() + text(key) + space() + ":" + space() + write(one) + space() for key, one in value.items())
            return "{" + (inner or space()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(space() + write(one) + space() for one in value) or space()) + "]"
        return text(value) if isinstance(value, str) else json.dumps(value)

    end = random.choice(["\n", "\r\n", "", " \n"])
    return entry, (space() + write(entry) + space() + end).encode()


def expected(entry: dict) -> dict:
    """tool_use_id -> content, by the plain reading of the parsed entry."""
    message = entry.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if entry.get("type") != "user" or not isinstance(blocks, list):
        return {}
    mine = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    return {block["tool_use_id"]: block["content"] for block in mine if "content" in block}


@given(serialized())
@settings(max_examples=examples(50, 150), deadline=None)
def test_the_ranges_hold_exactly_the_contents(given_):
    entry, line = given_
    spans = content_spans(line)
    assert {id: json.loads(line[start:end]) for id, (start, end) in spans.items()} == expected(entry)
    assert all(line[start:end].strip(b" \t\r\n") == line[start:end] for start, end in spans.values())


@given(serialized(), VALUES)
@settings(max_examples=examples(40, 80), deadline=None)
def test_another_value_in_a_range_changes_that_content_alone(given_, other):
    entry, line = given_
    for id, (start, end) in content_spans(line).items():
        changed = json.loads(line[:start] + json.dumps(other).encode() + line[end:])
        assert expected(changed) == {**expected(entry), id: other}
        for block in changed["message"]["content"]:
            if isinstance(block, dict) and block.get("type") == "tool_result" and block["tool_use_id"] == id:
                block["content"] = expected(entry)[id]
        assert changed == entry


@given(st.binary(max_size=60) | serialized().flatmap(lambda both: st.integers(0, len(both[1])).map(lambda end: both[1][:end])))
@settings(max_examples=examples(30, 150), deadline=None)
def test_any_bytes_are_understood_or_refused(line: bytes):
    try:
        spans = content_spans(line)
    except LineNotUnderstood:
        return
    assert spans.keys() == expected(json.loads(line)).keys()


def _line(message: str) -> bytes:
    return ('{"type":"user","message":' + message + "}\n").encode()


BLOCK = '{"type":"tool_result","tool_use_id":"a","content":"x"}'
REFUSED = {
    "empty": b"",
    "a list": b"[]",
    "cut off": _line('{"content":[' + BLOCK)[:-4],
    "two objects": b"{} {}",
    "no UTF-8": b'{"a":"\xff"}',
    "a lone surrogate in bytes": b'{"a":"\xed\xa0\x80"}',
    "UTF-8 cut off at the end": b'{"a":1}\xe2\x82',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "no number": b'{"a":NaN}',
    "infinite": b'{"a":-Infinity}',
    "a control character": b'{"a":"\x01"}',
    "a trailing comma": b'{"a":1,}',
    "a name without quotes": b"{a:1}",
    "another space": "{\u00a0}".encode(),
    "two messages": b'{"type":"user","message":{},"message":{}}',
    "two types": b'{"type":"user","type":"user"}',
    "two types, one escaped": b'{"type":"user","\\u0074ype":"user"}',
    "two lists": _line('{"content":[],"content":[]}'),
    "two contents": _line('{"content":[{"type":"tool_result","tool_use_id":"a","content":"x","content":"y"}]}'),
    "two ids": _line('{"content":[{"type":"tool_result","tool_use_id":"a","tool_use_id":"b","content":"x"}]}'),
    "two types of a block": _line('{"content":[{"type":"tool_result","type":"text","tool_use_id":"b","content":"x"}]}'),
    "an id twice": _line('{"content":[' + BLOCK + "," + BLOCK + "]}"),
    "an id twice, once without content": _line('{"content":[' + BLOCK + ',{"type":"tool_result","tool_use_id":"a"}]}'),
    "no id": _line('{"content":[{"type":"tool_result","content":"x"}]}'),
    "an id that is a number": _line('{"content":[{"type":"tool_result","tool_use_id":1,"content":"x"}]}'),
    "nested without end": b'{"a":' + b"[" * 100_000,
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_what_is_not_clear_is_refused(line: bytes):
    with pytest.raises(LineNotUnderstood):
        content_spans(line)


def test_other_keys_may_be_there_twice():
    spans = content_spans(_line('{"content":[{"a":1,"a":2,"type":"tool_result","tool_use_id":"a","content":"x"}],"role":1,"role":2}'))
    assert list(spans) == ["a"]


def test_a_number_of_any_length_is_a_number():
    assert content_spans(b'{"a":' + b"9" * 10_000 + b"}") == {}


def test_a_result_without_content_is_left_out():
    assert content_spans(_line('{"content":[{"type":"tool_result","tool_use_id":"a"}]}')) == {}


def test_a_result_of_a_side_chain_is_left_out_unless_asked_for():
    content = '{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}'
    line = b'{"type":"user","message":' + content.encode() + b',"isSidechain":true}'
    assert content_spans(line) == {}
    assert [line[start:end] for start, end in content_spans(line, side_chains=True).values()] == [b'"x"']


def _odd_line(factor: int) -> bytes:
    """Much space, many blocks, text of many bytes per character."""
    space, text = " " * 20_000 * factor, "ä🎉\\n" * 20_000 * factor
    blocks = ",".join(f'{{"type":"tool_result","tool_use_id":"{number}","content":[{space[:20]}]}}' for number in range(500 * factor))
    return _line(f'{{"content":[{space}{{"type":"tool_result","tool_use_id":"a","content":"{text}"}},{blocks}]}}')


def test_the_steps_grow_with_the_length():
    assert steps(content_spans, _odd_line(8)) < 12 * steps(content_spans, _odd_line(1))


@pytest.mark.bench
def test_the_time_grows_with_the_length():
    def took(factor: int) -> float:
        line, times = _odd_line(factor), []
        for _ in range(5):
            began = time.perf_counter()
            content_spans(line)
            times.append(time.perf_counter() - began)
        return min(times)

    assert took(8) < 8 * 4 * took(1)


@pytest.mark.bench
def test_a_long_content_is_passed_over_at_50_mb_a_second():
    content = '    def größe(self):\n        return "x"  # 🎉\n' * 200_000
    line = _line(json.dumps({"content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]}, ensure_ascii=False))
    began = time.perf_counter()
    content_spans(line)
    speed = len(line) / 1e6 / (time.perf_counter() - began)
    print(f"{speed:.0f} MB/s")
    assert speed > 50
