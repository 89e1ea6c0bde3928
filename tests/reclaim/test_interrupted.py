"""Clear, undo and restore, killed at any moment: the transcript is the old or the new one, nothing that left it is lost, and the next one
works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hooks.utils import archive
from hooks.utils.reclaim import access
from tests.patience import Moments
from tests.reclaim.errands import SYSTEM_CALLS, Done, Errands
from tests.reclaim.shops import Shop, Talk, Thinker, code, contents_of, worked

CLEAR, UNDO, RESTORE = ["clear"], ["undo"], ["restore", "read-old", "found", "--in-place"]
THOUGHTFUL = ["clear", "--with-thinking"]  # of a session that thought before everything
# operation -> what has been done before it.
OPERATIONS = {
    "clear": ([], CLEAR),
    "undo": ([CLEAR], UNDO),
    "restore": ([CLEAR], RESTORE),
    "a second clear": ([CLEAR], ["clear", "--tier", "medium"]),
    "a clear with thinking": ([], THOUGHTFUL),
    "the undo of one": ([THOUGHTFUL], UNDO),
}
# More than any of them asks of the system.
MOMENTS = 1000


def entries(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


class Case:
    """One operation on one session, laid down anew before every kill."""

    def __init__(self, folder: Path, errands: Errands, operation: str, larger: int = 0):
        self.shop = Shop(folder / "now", errands)
        before, self.words = OPERATIONS[operation]
        talk = worked(str(self.shop.project), Thinker if THOUGHTFUL in (*before, self.words) else Talk)
        for number in range(larger):
            talk.read(f"more-{number}", f"{talk.cwd}/more{number}.ts", code(1500))
            talk.edit(f"edit-more-{number}", f"{talk.cwd}/more{number}.ts")
        talk.idle(22 if larger else 0)
        talk.say("Done.")
        self.original = self.shop.write(talk)
        self.texts = contents_of(self.original)
        for words in before:
            self._run(words)
        self.template = folder / "template"
        shutil.copytree(self.shop.folder, self.template)
        self.old = self.shop.transcript.read_bytes()
        began = time.perf_counter()
        self._run(self.words)
        self.took_s = time.perf_counter() - began
        self.new = self.shop.transcript.read_bytes()
        assert self.new != self.old

    def _run(self, words: list[str]) -> None:
        done = self.ask(words)
        assert done.code == 0, done

    def ask(self, words: list[str], **moment) -> Done:
        """What a command ends with; it is killed at this moment."""
        if words != THOUGHTFUL:
            return self.shop.context(*words, **moment)
        shop = self.shop
        given = [shop.environ(), shop.session_id, str(shop.project), str(shop.transcript), shop.at]
        return shop.errands.call("tests.reclaim.thoughtful:clear", given, shop.environ(), **moment)

    def kill(self, **moment) -> bool:
        """Whether it was killed: at this moment, on a session as it was."""
        shutil.rmtree(self.shop.folder)
        shutil.copytree(self.template, self.shop.folder)
        done = self.ask(self.words, **moment)
        assert done.code in (0, -9), done
        return done.code == -9

    def assert_whole(self) -> bool:
        """Whether the transcript is the new one; everything else is as it must be."""
        shop = self.shop
        found = shop.transcript.read_bytes()
        assert found in (self.old, self.new)
        for id, handle in shop.cleared().items():
            assert shop.archived(handle) == self.texts[id], "what left the transcript is in the archive"
        shop.archive_report()
        assert self._thinking_lost(found) == []
        return found == self.new

    def _thinking_lost(self, found: bytes) -> list[str]:
        """The uuids of lines whose content left, and is not in the archive."""
        left = [entry for entry, now in zip(entries(self.original), entries(found)) if entry["type"] == "assistant" and entry != now]
        if not left:
            return []
        with access.Opened(str(self.shop.home)) as db:
            kept = {record.tool_use_id: record.id for record in archive.find_records(db)}
        return [one["uuid"] for one in left if self.shop.archived(kept.get(one["uuid"], "")) != one["message"]["content"]]

    def assert_next(self, done: bool) -> None:
        """The same again works, which has nothing left to do where it was done; then all is taken back."""
        shop = self.shop
        shop.assert_state_follows()
        if self.words in (CLEAR, THOUGHTFUL) and not done:
            undone = shop.context("undo")
            assert (undone.code, shop.transcript.read_bytes()) == (1, self.old), "there is nothing to undo"
        again = self.ask(self.words)
        assert again.code == (1 if done and self.words[0] != "clear" else 0), again
        assert shop.transcript.read_bytes() == self.new
        for _ in range(3):
            if shop.cleared():
                assert shop.context("undo").code == 0
        assert shop.transcript.read_bytes() == self.original
        shop.assert_state_follows()
        assert list(shop.folder.rglob("*.popkit-*")) == [], "the next one sweeps up"


@pytest.fixture(scope="module")
def way() -> str:
    """How a process is killed: at a system call, SQLite's own too, or where that is not allowed before a call that Python makes."""
    inject = ["-e", f"inject={SYSTEM_CALLS}:signal=SIGKILL:when=1"]
    argv = ["strace", "-qq", "-o", os.devnull, "-e", "trace=" + SYSTEM_CALLS, *inject, sys.executable, "-c", "print(1)"]
    can = shutil.which("strace") and subprocess.run(argv, capture_output=True, check=False).returncode == -9
    return "call" if can else "moment"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_call_that_changes_something_it_is_done_or_undone(memory: Path, errands: Errands, operation: str, way: str, count):
    """At every third of them, at each with --slow."""
    case = Case(memory, errands, operation)
    step, often = count(3, 1), count(5, 1)
    done = []
    for moment in range(1, MOMENTS, step):
        was_killed = case.kill(**{way: moment})
        done.append(case.assert_whole())
        if len(done) % often == 0 or not was_killed or done[-2:] == [False, True]:
            case.assert_next(done[-1])
        if not was_killed:
            break
    else:
        pytest.fail("it never came to its end")
    print(f"{operation}: {len(done) - 1} kills, each at a {way} of its own")
    assert step * len(done) > 20, "there were moments to be killed at"
    assert done == sorted(done), "before the rename all is old, after it all is new"
    assert 2 < step * done.count(True) < step * len(done) - 2


def test_killed_at_a_random_moment_it_is_done_or_undone(memory: Path, errands: Errands, count):
    cases = [Case(memory / operation, errands, operation, larger=3) for operation in OPERATIONS]
    moments = Moments(20_261_123, 1.0)  # of the life of each
    kills, killed, done = count(24, 500), 0, 0
    for number in range(kills):
        case = cases[number % len(cases)]
        was_killed = case.kill(kill_after_s=moments.draw() * case.took_s)
        moments.tell(not was_killed)
        whole = case.assert_whole()
        if number % count(4, 1) == 0:
            case.assert_next(whole)
        killed += was_killed
        done += whole
    assert killed > 0
    assert 0 < done < kills
