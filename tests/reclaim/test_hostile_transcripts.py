"""A transcript that is not understood, and a disk that takes nothing: a clear error, and everything as it was. Symbolic
links are read where they lead to a file, and never written through."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.reclaim.shops import EXPIRED, SESSION, Shop, contents_of, worked

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
WORDS = {"clear": ["clear", "--now"], "undo": ["undo"]}


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _line_of(data: bytes, id: str) -> int:
    """Which line holds the result of a call."""
    return next(at for at, line in enumerate(_lines(data)) if id in contents_of(line))


def _changed(data: bytes, at: int, **fields: object) -> bytes:
    lines = _lines(data)
    lines[at] = json.dumps({**json.loads(lines[at]), **fields}).encode() + b"\n"
    return b"".join(lines)


def _inserted(data: bytes, at: int, *more: bytes) -> bytes:
    lines = _lines(data)
    return b"".join([*lines[:at], *more, *lines[at:]])


def _twice(data: bytes) -> bytes:
    """The result of a call stands in a second line."""
    at = _line_of(data, "read-old")
    return _inserted(data, at + 1, json.dumps({**json.loads(_lines(data)[at]), "uuid": "again", "parentUuid": "u3"}).encode() + b"\n")


def _unknown_in_chain(data: bytes) -> bytes:
    last = json.loads(_lines(data)[-1])
    unknown = {**last, "type": "reflection", "uuid": "new", "parentUuid": last["uuid"]}
    return data + b"".join(json.dumps(entry).encode() + b"\n" for entry in (unknown, {**last, "uuid": "newer", "parentUuid": "new"}))


NOT_UNDERSTOOD = {
    "its last line is cut off": lambda data: data[:-40],
    "its last line is another tool's and has no end": lambda data: data + b'{"level": "info"}',
    "bytes that are no UTF-8": lambda data: data.replace(b"please fix", b"please \xff\xfe fix"),
    "CR LF": lambda data: data.replace(b"\n", b"\r\n"),
    "one line ends in CR LF": lambda data: data.replace(b"\n", b"\r\n", 1),
    "two results of one call": _twice,
    "an entry of an unknown type in the chain": _unknown_in_chain,
    "an entry whose parent is missing": lambda data: _changed(data, 20, parentUuid="nowhere"),
    "a line of garbage": lambda data: _inserted(data, 9, b"\x00\x01 garbage\n"),
    "a line that is a list": lambda data: _inserted(data, 9, b"[1, 2]\n"),
    "zeros at its end": lambda data: data + b"\0" * 512,
    "an entry twice": lambda data: _inserted(data, 9, _lines(data)[8]),
}
NO_TRANSCRIPT = {
    "empty": lambda data: b"",
    "blank": lambda data: b"\n\n",
    "a text": lambda data: b"Dear diary,\ntoday I cleared the context.\n",
    "binary": lambda data: bytes(range(256)) * 40,
    "JSON of something else": lambda data: b'{"a": 1}\n' * 5,
}


def _ready(shop: Shop, operation: str) -> bytes:
    """The transcript of a session in which the operation has something to do."""
    before = shop.write(worked(str(shop.project)))
    if operation == "clear":
        return before
    shop.clear()
    return shop.transcript.read_bytes()


def _assert_untouched(shop: Shop, words: list, data: bytes, expected: str = "") -> None:
    """The words end in an error that says something, and change nothing."""
    stat = shop.transcript.lstat()
    known = shop.archive_report()[1]
    done = shop.context(*words)
    assert (done.code, done.out) == (1, ""), done
    assert len(done.err) > 30
    assert "Traceback" not in done.err
    assert expected in " ".join(done.err.split())
    assert shop.transcript.read_bytes() == data
    assert shop.transcript.lstat().st_ino == stat.st_ino
    assert shop.archive_report()[1] == known, "no clear more, none undone"
    assert (shop.noted().only, shop.noted().back) == ([], [])


@pytest.mark.parametrize("operation", WORDS)
@pytest.mark.parametrize("wrong", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_a_transcript_that_is_not_understood_is_refused(shop: Shop, wrong, operation: str):
    before = _ready(shop, operation)
    data = wrong(before)
    assert data != before
    shop.transcript.write_bytes(data)
    _assert_untouched(shop, WORDS[operation], data, "not understood")


@pytest.mark.parametrize("operation", WORDS)
@pytest.mark.parametrize("wrong", NO_TRANSCRIPT.values(), ids=NO_TRANSCRIPT)
def test_what_is_no_transcript_is_refused(shop: Shop, wrong, operation: str):
    before = _ready(shop, operation)
    data = wrong(before)
    shop.transcript.write_bytes(data)
    _assert_untouched(shop, WORDS[operation], data)


def test_what_is_refused_does_not_count_as_cleared(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    shop.transcript.write_bytes(before[:-2])
    assert shop.context("clear").code == 1
    state = shop.state()
    assert [result.id for result in state.expired.values() if result.cleared] == []
    assert state.counts.ledger == {}
    shop.transcript.write_bytes(before)
    assert shop.context("clear").code == 0
    assert set(shop.noted().only) == EXPIRED


def test_what_has_no_say_may_be_as_it_likes(shop: Shop):
    """Lines outside of the chain of a type that is not known, doubled ids of what stays, blank lines."""
    before = shop.write(worked(str(shop.project)))
    unknown = json.dumps({"type": "mood", "sessionId": "x", "value": "fine"}).encode() + b"\n"
    data = _inserted(before, 9, unknown, b"\n")
    shop.transcript.write_bytes(data)
    assert shop.context("clear").code == 0
    assert set(shop.noted().only) == EXPIRED


def test_a_line_that_came_late_is_understood(shop: Shop):
    """What the host was writing while an earlier version rewrote the file stands behind the line that follows it."""
    talk = worked(str(shop.project))
    talk.prompt("and then?")
    talk.say("That.")
    before = shop.write(talk)
    lines = _lines(before)
    data = b"".join([*lines[:-2], lines[-1], lines[-2]])
    shop.transcript.write_bytes(data)
    assert shop.context("clear").code == 0
    assert set(shop.noted().only) == EXPIRED


def test_a_chain_that_leads_in_a_circle_ends(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    data = _changed(before, 4, parentUuid=json.loads(_lines(before)[30])["uuid"])
    shop.transcript.write_bytes(data)
    assert shop.context("clear").code in (0, 1)


# --- what is no regular file ----------------------------------------------------------------------------------------------------------


def _as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("make", [_as_fifo, _as_folder, Path.unlink])
@pytest.mark.parametrize("operation", WORDS)
def test_what_is_no_file_is_refused(shop: Shop, make, operation: str):
    _ready(shop, operation)
    make(shop.transcript)
    done = shop.context(*WORDS[operation])
    assert (done.code, done.out) == (1, ""), done
    assert done.err


# --- symbolic links ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def moved(shop: Shop, tmp_path: Path) -> Path:
    """The transcript, moved elsewhere; a link stands in its place."""
    shop.write(worked(str(shop.project)))
    real = tmp_path / "elsewhere.jsonl"
    shop.transcript.rename(real)
    shop.transcript.symlink_to(real)
    return real


@pytest.mark.parametrize("words", [["retention"], ["timeline"], ["stats"], ["why", "1"]], ids=" ".join)
def test_a_transcript_behind_a_link_is_reported_on(shop: Shop, moved: Path, words: list[str]):
    done = shop.popkit("context", *words, "--session", SESSION)
    assert (done.code, moved.exists()) == (0, True), done


@pytest.mark.parametrize("target", ["loop", "nothing", "folder", "device"])
def test_a_link_that_leads_to_no_file_is_reported_and_holds_nobody_up(shop: Shop, tmp_path: Path, target: str):
    shop.transcript.unlink(missing_ok=True)
    shop.transcript.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "folder").mkdir()
    leads = {"loop": shop.transcript, "nothing": tmp_path / "gone", "folder": tmp_path / "folder", "device": Path("/dev/zero")}
    shop.transcript.symlink_to(leads[target])
    for words in (["context", "retention"], ["context", "clear"], ["uninstall", "--dry-run"]):
        more = ["--session", SESSION] if words[0] != "uninstall" else []
        done = shop.popkit(*words, *more)
        assert "Traceback" not in done.err, done
        assert done.code == (0 if words[0] == "uninstall" else 1), (words, done)


def test_a_sessions_folder_that_is_a_link_is_not_written_through(working: Shop, tmp_path: Path):
    elsewhere = tmp_path / "theirs"
    elsewhere.mkdir()
    working.home.mkdir(parents=True, exist_ok=True)
    (working.home / "sessions").mkdir(exist_ok=True)
    (working.home / "sessions" / SESSION).symlink_to(elsewhere)
    done = working.popkit("context", "clear", "--session", SESSION)
    assert "Traceback" not in done.err
    assert list(elsewhere.iterdir()) == []
