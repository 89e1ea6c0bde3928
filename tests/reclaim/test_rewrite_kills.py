"""A rewrite that is killed at any moment leaves the old transcript or the new one, and the original where it was to be kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hooks.utils.reclaim import rewrite
from tests.patience import Moments
from tests.reclaim import transcripts

ROOT = Path(__file__).parents[2]
# More than a rewrite of a small transcript asks of the system.
MOMENTS = 1000
OLDER = b"an older original\n"


class Case:
    """One transcript, put back before every kill."""

    def __init__(self, folder: Path, count: int, chars: int):
        self.path, self.keep = folder / "session.jsonl", folder / "kept" / "session.original"
        self.keep.parent.mkdir()
        self.old = transcripts.lines(count, chars)
        self.new = transcripts.edited(self.old, transcripts.clearing(self.old))

    def restore(self) -> None:
        for folder in (self.path.parent, self.keep.parent):
            for path in folder.iterdir():
                if path.is_file():
                    path.unlink()
        self.path.write_bytes(self.old)
        self.keep.write_bytes(OLDER)

    def start(self, *moment: str) -> subprocess.Popen:
        argv = [sys.executable, "-S", "-E", "-m", "tests.reclaim.drive", str(self.path), str(self.keep), *moment]
        process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        # Past the buffer, in which what it prints next could stay behind.
        assert os.read(process.stdout.fileno(), len(b"ready\n")) == b"ready\n"
        return process

    def assert_whole(self) -> bool:
        """Whether the transcript is the new one already."""
        now = self.path.read_bytes()
        assert now in (self.old, self.new)
        kept = self.keep.read_bytes()
        assert kept == self.old or (kept == OLDER and now == self.old), "whatever is gone from the transcript is kept"
        assert [path.name for path in self.path.parent.glob("*.jsonl")] == [self.path.name]
        rewrite.sweep(str(self.path))
        rewrite.sweep(str(self.keep))
        assert [path.name for path in self.path.parent.iterdir() if path.is_file()] == [self.path.name]
        assert transcripts.names(self.keep.parent) == [self.keep.name]
        return now == self.new


def test_a_rewrite_killed_between_any_two_things_it_asks_of_the_system_is_done_or_undone(tmp_path: Path, count):
    """At every third of them, at each with --slow."""
    case = Case(tmp_path, 9, 300)
    done, step = [], count(3, 1)
    for moment in range(1, MOMENTS, step):
        case.restore()
        process = case.start(str(moment))
        out, err = process.communicate()
        done.append(case.assert_whole())
        if process.returncode == 0:
            assert (out, err) == ("rewritten\n", "")
            break
        assert process.returncode == -9, err
    else:
        pytest.fail("it never came to its end")
    assert step * len(done) > 60, "there were moments to be killed at"
    assert done == sorted(done), "before the rename all is old, after it all is new"
    assert step * done.count(True) > 5


def test_a_rewrite_killed_at_a_random_moment_is_done_or_undone(tmp_path: Path, count):
    case = Case(tmp_path, 1500, 2000)
    case.restore()
    process = case.start()
    began = time.perf_counter()
    process.communicate()
    assert case.assert_whole()
    moments = Moments(20_261_122, time.perf_counter() - began)
    kills, done = count(25, 500), 0
    for _ in range(kills):
        case.restore()
        process = case.start()
        time.sleep(moments.draw())
        process.kill()
        process.communicate()
        was_done = case.assert_whole()
        moments.tell(was_done)
        done += was_done
    assert 0 < done < kills, "some were killed before they were done"


def test_after_a_kill_the_next_rewrite_works(tmp_path: Path):
    case = Case(tmp_path, 9, 300)
    case.restore()
    process = case.start("60")
    process.communicate()
    assert process.returncode == -9
    if case.path.read_bytes() == case.old:
        transcripts.clear(case.path, case.keep)
    assert case.assert_whole()
