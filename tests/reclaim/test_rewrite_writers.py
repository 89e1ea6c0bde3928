"""Whoever appends to a transcript while it is rewritten loses no line, sees none doubled, and finds none torn."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hooks.utils.reclaim import appending, rewrite
from tests.kit.forks import Forks, Function
from tests.patience import HANG_S
from tests.reclaim import transcripts

WRITER = Path(__file__).with_name("writer.py")


class Writers:
    """Processes that append until they are told to stop."""

    def __init__(self, path: Path, ways: dict[str, tuple[float, float]]):
        self.processes = {}
        for name, (hold_ms, pause_ms) in ways.items():
            argv = [sys.executable, "-S", str(WRITER), str(path), name, str(hold_ms), str(pause_ms)]
            self.processes[name] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for process in self.processes.values():
            assert process.stdout.readline() == "ready\n"

    def stop(self) -> dict[str, int]:
        """How many lines each has written."""
        return {name: int(process.communicate()[0]) for name, process in self.processes.items()}


def _assert_each_once(path: Path, written: dict[str, int]) -> None:
    found = collections.Counter()
    for line in path.read_bytes().splitlines(keepends=True):
        entry = json.loads(line)
        assert line.endswith(b"\n")
        if "by" in entry:
            found[entry["by"], entry["n"]] += 1
    assert found == collections.Counter((name, number) for name, count in written.items() for number in range(count))


WAYS = {
    "as the host": {"a": (0, 1), "b": (0, 3)},
    "without a pause": {"a": (0, 0)},
    "slow between opening and writing": {"a": (50, 30), "b": (5, 10)},
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
def test_writers_lose_nothing_to_many_rewrites(transcript: Path, ways: dict, count):
    there = transcript.read_bytes()
    cleared = transcripts.edited(there, transcripts.clearing(there))
    writers = Writers(transcript, ways)
    before, late, refused, done = there, 0, 0, 0
    wanted = count(40, 200)
    began = time.monotonic()
    try:
        while done < wanted:
            after = cleared if before == there else there  # the contents go and come back in turn
            edits = [transcripts.edit(before, 0, len(before), after)]
            try:
                rewritten = rewrite.rewrite(str(transcript), edits, transcripts.seen(transcript, len(before)), patience_s=HANG_S)
            except rewrite.RewriteFailed:  # one writer after the other had it open
                refused += 1
                assert time.monotonic() - began < HANG_S, "the writers never paused"
                continue
            before = after
            late += rewritten.late_bytes
            done += 1
    finally:
        written = writers.stop()
    assert transcript.read_bytes().startswith(before)
    assert all(written.values())
    _assert_each_once(transcript, written)
    assert transcripts.names(transcript.parent) == [transcript.name]
    print(f"{done} rewrites, {refused} refused, {sum(written.values())} lines, {late} bytes came late")


def test_half_a_line_of_a_write_under_way_is_not_taken_for_an_abandoned_one(transcript: Path, tmp_path: Path, count):
    """A file shows how far a single write has come."""
    writers = Writers(transcript, {"a": (0, 0)})
    old, new = os.open(transcript, os.O_RDONLY), os.open(tmp_path / "new", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    carried = 0
    try:
        for _ in range(count(15_000, 150_000)):
            carried = appending.catch_up(old, new, carried)
            assert os.pread(new, 1, carried - 1) == b"\n"
    finally:
        writers.stop()
        os.close(old)
        os.close(new)


class Swap:
    """A transcript at the moment after the rename: `old` and `new` are open as the rewriter has them open."""

    def __init__(self, folder: Path, text: bytes = b'{"n":1}\n', new_text: bytes = b'{"n":0}\n'):
        self.path, self.kept = folder / "session.jsonl", folder / "kept"
        self.kept.write_bytes(text)
        self.path.write_bytes(new_text)
        self.size, self.new_text = len(text), new_text
        self.patience_s = HANG_S
        self.old = os.open(self.kept, os.O_RDONLY)
        self.new = os.open(self.path, os.O_RDWR | os.O_APPEND)

    def carry_over(self) -> int:
        return appending.carry_over(self.old, self.new, self.size, str(self.path), str(self.kept), self.patience_s)

    def carried(self) -> bytes:
        text = self.path.read_bytes()
        assert text.startswith(self.new_text)
        return text[len(self.new_text) :]


@pytest.fixture
def swap(tmp_path: Path):
    swap = Swap(tmp_path)
    yield swap
    os.close(swap.old)
    os.close(swap.new)


def _later(path: Path, *pieces: tuple[float, bytes]) -> threading.Thread:
    """Somebody who has opened the file already and writes each piece so many seconds later."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)

    def write() -> None:
        for pause, piece in pieces:
            time.sleep(pause)
            os.write(fd, piece)
        os.close(fd)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_where_nobody_writes_nobody_is_waited_for(swap: Swap):
    swap.patience_s = 1e9
    assert swap.carry_over() == 0
    assert swap.carried() == b""


def test_a_line_written_through_the_old_file_is_carried_over(swap: Swap):
    writer = _later(swap.kept, (0.05, b'{"late":1}\n'), (0.05, b'{"late":2}\n'))
    assert swap.carry_over() == 22
    writer.join()
    assert swap.carried() == b'{"late":1}\n{"late":2}\n'


def test_a_line_written_in_two_halves_is_carried_over_in_one_piece(swap: Swap):
    new = os.open(swap.path, os.O_WRONLY | os.O_APPEND)
    writer = _later(swap.kept, (0.03, b'{"late":1}\n{"la'), (0.08, b'te":2}\n'))
    other = _later(swap.path, *[(0.01, b'{"new":1}\n')] * 10)
    swap.carry_over()
    for thread in (writer, other):
        thread.join()
    os.close(new)
    assert sorted(swap.carried().splitlines()) == sorted([b'{"late":1}', b'{"late":2}', *[b'{"new":1}'] * 10])


def test_half_a_line_whose_writer_never_comes_back_is_carried_over_and_closed(swap: Swap):
    _later(swap.kept, (0, b'{"late":1}\n{"la')).join()
    swap.carry_over()
    assert swap.carried() == b'{"late":1}\n{"la\n', "what the host appends next is not glued to it"


def test_a_late_line_is_not_glued_to_an_unfinished_one(tmp_path: Path):
    swap = Swap(tmp_path, new_text=b'{"n":0}')
    _later(swap.kept, (0, b'{"late":1}\n')).join()
    swap.carry_over()
    assert swap.carried() == b'\n{"late":1}\n'


def test_many_late_writers_and_many_new_ones_lose_nothing(tmp_path: Path, count):
    for number in range(count(5, 60)):
        folder = tmp_path / str(number)
        folder.mkdir()
        swap = Swap(folder)
        late = [_later(swap.kept, (0.01 * one, b'{"late":%d}\n' % one)) for one in range(8)]
        new = [_later(swap.path, *[(0.004, b'{"new":%d}\n' % one)] * 10) for one in range(3)]
        swap.carry_over()
        for thread in late + new:
            thread.join()
        found = collections.Counter(swap.carried().splitlines())
        assert found == collections.Counter([b'{"late":%d}' % one for one in range(8)] + [b'{"new":%d}' % one for one in range(3)] * 10)


def test_a_program_that_keeps_the_transcript_open_for_writing_stops_the_rewrite(transcript: Path):
    if sys.platform != "linux":
        pytest.skip("only Linux tells")
    before = transcript.read_bytes()
    with transcript.open("ab"), pytest.raises(rewrite.RewriteFailed, match=r"open for writing.*nothing was changed"):
        transcripts.clear(transcript)
    assert transcript.read_bytes() == before
    assert transcripts.names(transcript.parent) == [transcript.name]


def test_programs_that_only_read_the_transcript_do_not_matter(transcript: Path):
    with transcript.open("rb") as reader:
        transcripts.clear(transcript)
        assert reader.read() == transcripts.lines(30), "they keep what they have opened"


def test_somebody_who_opens_the_transcript_at_any_moment_does_not_end_the_rewriter(transcript: Path):
    """The lease that tells whether there are writers is broken by a signal, and the usual one is deadly."""
    stop = threading.Event()
    fd = os.open(transcript, os.O_RDONLY)

    def open_and_close() -> None:
        while not stop.is_set():
            os.close(os.open(transcript, os.O_WRONLY | os.O_APPEND))

    threads = [threading.Thread(target=open_and_close) for _ in range(2)]
    for thread in threads:
        thread.start()
    answers = {appending.unwritten_by_anybody(fd) for _ in range(3000)}
    stop.set()
    for thread in threads:
        thread.join()
    os.close(fd)
    assert answers <= {True, False} or answers == {None}


def test_late_lines_that_find_no_room_are_handed_to_the_caller(forks: Forks, tmp_path: Path):
    late = b'{"late":"%s"}\n' % (b"x" * 200)
    swap = Swap(tmp_path)
    _later(swap.kept, (0, late)).join()
    done = forks.run(Function("tests.reclaim.transcripts:carry_over", [str(swap.kept), str(swap.path)]), {}, file_bytes=100)
    assert repr(late) in done.out
    assert "it was rewritten, but" in done.out
    assert str(swap.kept) in done.out
    assert swap.carried() == b"", "no part of a line stays"
