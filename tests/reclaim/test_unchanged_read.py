"""What a Read would show of a file now, counted as the host counts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.reclaim.unchanged_read import MOST_BYTES, WHOLE_BYTES, full_read


def shown(folder: Path, data: bytes, name: str = "a.txt", **asked: object) -> tuple | None:
    """(content, numLines, startLine, totalLines) of a Read of a file with this content."""
    path = folder / name
    path.write_bytes(data)
    answer = full_read({"file_path": str(path), **asked}, "/")
    if answer is None:
        return None
    assert set(answer) == {"type", "file"}
    assert answer["type"] == "text"
    assert answer["file"]["filePath"] == str(path)
    return tuple(answer["file"][key] for key in ("content", "numLines", "startLine", "totalLines"))


# Each row was seen in the real client's payloads.
SEEN = [
    (b"", {}, ("", 1, 1, 1)),
    (b"\n", {}, ("\n", 2, 1, 2)),
    (b"a\nb\n", {}, ("a\nb\n", 3, 1, 3)),
    (b"a\nb", {}, ("a\nb", 2, 1, 2)),
    (b"a\r\nb\r\n", {}, ("a\nb\n", 3, 1, 3)),
    (b"a\r\nb\r\nc", {}, ("a\nb\nc", 3, 1, 3)),
    (b"a\r\r\nb\n", {}, ("a\r\nb\n", 3, 1, 3)),
    (b"a\rb\rc\n", {}, ("a\rb\rc\n", 2, 1, 2)),
    (b"a\rb\nc\r\nd\r", {}, ("a\rb\nc\nd", 3, 1, 3)),
    (b"\xef\xbb\xbfa\nb\n", {}, ("a\nb\n", 3, 1, 3)),
    ("a\ufeffb\n\ufeffc\n".encode(), {}, ("a\ufeffb\n\ufeffc\n", 3, 1, 3)),
    ("a\u2028b\x0cc\x85d\n".encode(), {}, ("a\u2028b\x0cc\x85d\n", 2, 1, 2)),
    (b"a\nb\n", {"offset": 2}, ("b\n", 2, 2, 3)),
    (b"a\nb\n", {"offset": 3}, ("", 1, 3, 3)),
    (b"a\nb\n", {"offset": 4}, ("", 0, 4, 3)),
    (b"a\nb\n", {"offset": 9000, "limit": 5}, ("", 0, 9000, 3)),
    (b"a\nb\n", {"offset": 0}, ("a\nb\n", 3, 0, 3)),
    (b"a\nb\n", {"offset": 0, "limit": 1}, ("a", 1, 0, 3)),
    (b"a\nb\n", {"offset": 1, "limit": 1}, ("a", 1, 1, 3)),
    (b"a\nb\n", {"limit": 2}, ("a\nb", 2, 1, 3)),
    (b"a\nb\n", {"limit": 5000}, ("a\nb\n", 3, 1, 3)),
    (b"a\nb", {"offset": 2, "limit": 1}, ("b", 1, 2, 2)),
    (b"a\nb", {"offset": 3, "limit": 500}, ("", 0, 3, 2)),
    (b"", {"offset": 2}, ("", 0, 2, 1)),
    (b"", {"offset": 1, "limit": 1}, ("", 1, 1, 1)),
    (b"a\r\nb\r\nc", {"offset": 2, "limit": 1}, ("b", 1, 2, 3)),
    (b"\xef\xbb\xbfa\nb\n", {"offset": 1, "limit": 1}, ("a", 1, 1, 3)),
]


@pytest.mark.parametrize(("data", "asked", "expected"), SEEN, ids=range(len(SEEN)))
def test_a_read_is_counted_as_the_host_counts_it(tmp_path, data, asked, expected):
    assert shown(tmp_path, data, **asked) == expected


def test_no_line_is_cut_and_no_line_left_out(tmp_path):
    long = b"x" * 60_000 + b"\n"
    assert shown(tmp_path, long * 2) == ((long * 2).decode(), 3, 1, 3)
    many = b"".join(b"%d\n" % number for number in range(5_000))
    assert shown(tmp_path, many) == (many.decode(), 5_001, 1, 5_001)


LINES = st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff\0", exclude_categories=("Cs",)), max_size=5), min_size=1, max_size=8)


@given(lines=LINES, ends=st.sampled_from(["\n", "\r\n"]), offset=st.integers(1, 12), limit=st.integers(1, 12))
def test_a_range_shows_its_lines_and_the_ranges_together_the_file(tmp_path_factory, lines, ends, offset, limit):
    folder = tmp_path_factory.getbasetemp()
    data = ends.join(lines).encode()
    content, count, start, total = shown(folder, data, offset=offset, limit=limit)
    assert (start, total) == (offset, len(lines))
    expected = lines[offset - 1 : offset - 1 + limit]
    assert (content, count) == ("\n".join(expected), len(expected))
    pieces = [shown(folder, data, offset=first, limit=limit)[0] for first in range(1, len(lines) + 1, limit)]
    assert "\n".join(pieces) == shown(folder, data)[0]


def test_a_large_file_is_read_only_with_a_limit(tmp_path):
    line = b"y" * 63 + b"\n"
    most = line * (WHOLE_BYTES // 64)
    assert shown(tmp_path, most)[3] == WHOLE_BYTES // 64 + 1
    larger = most + b"z"
    assert shown(tmp_path, larger) is None
    assert shown(tmp_path, larger, offset=2) is None
    assert shown(tmp_path, larger, offset=4097, limit=1) == ("z", 1, 4097, 4097)


def test_a_huge_file_is_not_read_at_all(tmp_path):
    path = tmp_path / "huge.txt"
    path.write_bytes(b"a\n")
    os.truncate(path, MOST_BYTES + 1)
    assert full_read({"file_path": str(path), "limit": 1}, "/") is None


@pytest.mark.parametrize(
    "data",
    [b"caf\xe9\n", b"a\0b\n", "a\n".encode("utf-16"), b"\xed\xa0\x80\n", b"\xff"],
    ids=["latin-1", "a NUL byte", "UTF-16", "half a surrogate pair", "a stray byte"],
)
def test_what_is_no_utf_8_text_is_left_to_the_host(tmp_path, data):
    assert shown(tmp_path, data) is None


@pytest.mark.parametrize("name", ["a.ipynb", "a.pdf", "a.PDF", "a.png", "a.JPG", "a.jpeg", "a.gif", "a.webp"])
def test_what_the_host_shows_in_another_form_is_left_to_it(tmp_path, name):
    assert shown(tmp_path, b"{}", name) is None
    assert shown(tmp_path, b"<svg/>", "a.svg") is not None


@pytest.mark.parametrize(
    "asked",
    [
        {"offset": -1},
        {"offset": "2"},
        {"offset": 1.0},
        {"offset": True},
        {"offset": None},
        {"limit": 0},
        {"limit": -1},
        {"limit": "2"},
        {"limit": True},
        {"pages": "1-2"},
        {"allow_large": True},
        {"something": "new"},
    ],
    ids=str,
)
def test_an_input_that_is_not_understood_is_left_to_the_host(tmp_path, asked):
    assert shown(tmp_path, b"a\n", **asked) is None


def test_an_input_that_asks_for_nothing_more_is_understood(tmp_path):
    assert shown(tmp_path, b"a\n", limit=None, pages="", allow_large=False) == ("a\n", 2, 1, 2)


@pytest.mark.parametrize("number", [10**6, 2**63, 10**400])
def test_numbers_of_any_size_are_lines_past_the_end(tmp_path, number):
    assert shown(tmp_path, b"a\nb\n", offset=number) == ("", 0, number, 3)
    assert shown(tmp_path, b"a\nb\n", limit=number) == ("a\nb\n", 3, 1, 3)


@pytest.mark.parametrize("path", ["", "none.txt", "a\0b", "\ud800", ".", None, 5, ["a"]], ids=repr)
def test_what_names_no_file_is_left_to_the_host(tmp_path, path):
    assert full_read({"file_path": path}, str(tmp_path)) is None
    assert full_read({}, str(tmp_path)) is None


def test_a_path_may_be_relative_and_lead_over_a_link(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    for path in ("a.txt", "./a.txt", "link.txt", str(tmp_path / "link.txt")):
        answer = full_read({"file_path": path}, str(tmp_path))
        assert (answer["file"]["filePath"], answer["file"]["content"]) == (path, "a")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_pipes_devices_and_folders_are_never_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (str(tmp_path / "pipe"), str(tmp_path / "zero"), "/dev/zero", str(tmp_path)):
        assert full_read({"file_path": path}, "/") is None


def test_a_file_that_may_not_be_read_is_left_to_the_host(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    assert full_read({"file_path": str(path)}, "/") is None
