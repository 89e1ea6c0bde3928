"""The C-only codec reads and writes what `json` does."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from popkit_retention.core.io import codec, files
from popkit_retention.core.state import store

ROOT = Path(__file__).resolve().parents[2]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@given(values)
def test_what_is_written_is_what_json_writes(value):
    assert codec.dumps(value) == json.dumps(value, separators=(",", ":"))


@given(values, st.sampled_from((None, 1)))
def test_what_json_wrote_is_read_back(value, indent):
    assert codec.loads(json.dumps(value, indent=indent)) == value


@given(st.text(max_size=60))
def test_any_text_is_read_as_json_reads_it_or_refused_with_value_error(text):
    try:
        expected = json.loads(text, strict=False, parse_constant=lambda _name: None)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  the message is not ours
            codec.loads(text)
    else:
        assert codec.loads(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "{", '{"a"', "[1,]", "nul", "1 2", '"open', "[" * 200_000, "\x00"])
def test_malformed_documents_are_value_errors(text):
    with pytest.raises(ValueError):  # noqa: PT011
        codec.loads(text)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python reads numbers of any length")
@pytest.mark.parametrize(
    ("text", "message"), [("[" * 200_000, "nested too deeply"), ("[" + "9" * 5_000 + "]", "a number has too many digits")]
)
def test_what_python_cannot_hold_is_refused_in_our_words(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        codec.loads(text)


def test_malformed_documents_are_value_errors_where_json_was_never_imported():
    script = (
        "import sys; sys.path.insert(0, 'hooks')\n"
        "from utils.io.codec import loads\n"
        "for text in ('{broken', '\"abc', '{1:2}', '[1 2]', 'nul', ''):\n"
        "    try: loads(text)\n"
        "    except ValueError: continue\n"
        "    raise SystemExit(text)\n"
        "raise SystemExit('json' in sys.modules and sys.version_info < (3, 12))"
    )
    done = subprocess.run([sys.executable, "-S", "-E", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_not_a_number_is_read_as_nothing_and_never_written():
    assert codec.loads('[NaN, -Infinity, {"a": Infinity}]') == [None, None, {"a": None}]
    for value in (math.nan, math.inf, {1, 2}, object()):
        with pytest.raises(ValueError):  # noqa: PT011
            codec.dumps([value])


# Text that comes from outside may hold any code point: halves of pairs alone, in the wrong order, or side by side.
HALVES = st.text(st.sampled_from('a\ud83d\ude00\ud800\udfff\U0001f600\u2028\x85\n"\\'))


@given(st.recursive(HALVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(HALVES, inner, max_size=5), max_leaves=20))
@example("\ud83d\ude00")
@example({"\ud800\udc00": ["\U00010000", "\udc00\ud800"]})
def test_any_text_survives_saving_and_loading(value):
    assert codec.loads(codec.dumps(value)) == value


@given(st.lists(HALVES, max_size=5))
def test_any_text_survives_a_file_of_lines(tmp_path_factory, texts):
    path = str(tmp_path_factory.getbasetemp() / "lines.jsonl")
    files.replace_text(path, "")
    files.append_text(path, "".join(codec.dumps(text) + "\n" for text in texts))
    assert store.read_lines(path) == texts


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    (tmp_path / "file").write_bytes(b"a\xff\xed\xa0\x80b")
    read = files.read_text(str(tmp_path / "file"))
    assert (read[0], read[-1], read[1]) == ("a", "b", "\ufffd")
