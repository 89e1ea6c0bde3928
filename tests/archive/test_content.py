"""Contents: compressed and back, hashed, whatever text they are."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.archive import (
    RetentionIntegrityError,
    compress_content,
    decompress_content,
    gunzip_content,
    gzip_content,
    hash_content,
)
from popkit_retention.core.archive.content import names_of, stamp

# Every code point, lone surrogates too.
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_i6_compression_gives_back_64_kib_of_mixed_text() -> None:
    dice = random.Random(64)
    text = "".join(dice.choice('abc \n\t{}"\\é→漢🙂\u2028\x00') for _ in range(65_536))
    assert decompress_content(compress_content(text)) == text


@given(ANY_TEXT)
def test_i6_any_text_comes_back_from_base64_too(text: str) -> None:
    assert gunzip_content(gzip_content(text)) == text


def test_the_base64_is_gzip_as_other_tools_read_it() -> None:
    assert gzip.decompress(base64.b64decode(gzip_content("mixed text, ü"))).decode() == "mixed text, ü"


@pytest.mark.parametrize("garbage", ["", "no base64!", "AAAA", None, 7, gzip_content("x" * 100)[:-8], base64.b64encode(b"plain").decode()])
def test_what_is_no_base64_of_gzip_is_an_integrity_error(garbage: object) -> None:
    with pytest.raises(RetentionIntegrityError):
        gunzip_content(garbage)


def test_base64_that_would_grow_beyond_its_bound_is_not_opened() -> None:
    with pytest.raises(RetentionIntegrityError, match="more than 1,000 bytes"):
        gunzip_content(gzip_content("x" * 1001), 1000)


@given(ANY_TEXT)
def test_any_text_comes_back(text: str) -> None:
    assert decompress_content(compress_content(text)) == text


@given(ANY_TEXT)
def test_a_compressed_content_is_never_larger_than_the_content(text: str) -> None:
    assert len(compress_content(text)) <= len(text.encode("utf-8", "surrogatepass"))


def test_a_long_content_is_gzip_as_other_tools_read_it_and_always_the_same() -> None:
    text = '"1\tvalue = 1\\n"' * 100
    squeezed = compress_content(text)
    assert gzip.decompress(squeezed).decode() == text
    assert squeezed[:2] == b"\x1f\x8b"
    assert squeezed[4:8] == bytes(4), "no time in it"
    assert compress_content(text) == squeezed


def test_what_would_grow_beyond_its_bound_stays_plain_and_a_bomb_is_not_opened() -> None:
    text = "x" * 5_000
    for most in (4_999, 5_000):
        assert decompress_content(compress_content(text, most), most) == text
    with pytest.raises(RetentionIntegrityError, match="expands to more than 4,999 bytes"):
        decompress_content(compress_content(text), 4_999)


def test_a_short_content_stays_plain() -> None:
    assert compress_content('"ok"') == b'"ok"'
    assert compress_content("") == b""


@given(ANY_TEXT)
def test_the_hash_is_the_sha_256_of_the_bytes(text: str) -> None:
    assert hash_content(text) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8bnonsense", b"\xff", b"\x80abc", "text", None, 7])
def test_garbage_is_an_integrity_error(data: object) -> None:
    with pytest.raises(RetentionIntegrityError):
        decompress_content(data)


@given(st.data())
def test_a_compressed_content_that_was_cut_or_lengthened_is_an_integrity_error(data: st.DataObject) -> None:
    squeezed = compress_content("value\n" * 200)
    cut = data.draw(st.integers(2, len(squeezed) - 1))
    for broken in (squeezed[:cut], squeezed + b"more"):
        with pytest.raises(RetentionIntegrityError):
            decompress_content(broken)


@given(st.binary())
def test_any_bytes_are_a_text_or_an_integrity_error(data: bytes) -> None:
    try:
        text = decompress_content(data)
    except RetentionIntegrityError:
        return
    assert isinstance(text, str)


@given(st.lists(st.integers(0, 4_000_000_000_000), min_size=2, max_size=2))
def test_times_as_texts_sort_as_the_times_do(milliseconds: list[int]) -> None:
    first, second = milliseconds
    assert (first < second) == (stamp(first / 1000) < stamp(second / 1000))
    assert stamp(1_771_690_530.639) == "2026-02-21T16:15:30.639Z"


def test_a_record_is_looked_up_by_the_ends_of_its_paths_and_by_whole_commands() -> None:
    assert names_of(["/p/src/a.py", "C:\\shop\\b.py", "npm run test/c", "d.py"]) == {"a.py", "b.py", "npm run test/c", "c", "d.py"}
