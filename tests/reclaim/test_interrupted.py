"""Clear, undo and restore, killed at any moment: the transcript is the old or the new one, nothing that left it is lost, and the next one
works."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hooks.utils import archive
from hooks.utils.reclaim import access
from tests.kit.forks import Command, Done, Forks, Function, Work
from tests.kit.kills import kill_at_each_call, kill_at_random_moments, lay_down
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


def entries(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


class Case:
    """One operation on one session, laid down anew before every kill."""

    def __init__(self, folder: Path, forks: Forks, operation: str, often: int, larger: int = 0):
        """After every so many kills the same is done again."""
        self.shop, self.often = Shop(folder / "now", forks), often
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
        self.work, self.how = self._work(self.words), {"cwd": str(self.shop.project)}
        self.done: list[bool] = []
        self.template = folder / "template"
        shutil.copytree(self.shop.folder, self.template)
        self.old = self.shop.transcript.read_bytes()
        self._run(self.words)
        self.new = self.shop.transcript.read_bytes()
        assert self.new != self.old

    def _run(self, words: list[str]) -> None:
        done = self.ask(words)
        assert done.code == 0, done

    def _work(self, words: list[str]) -> Work:
        shop = self.shop
        if words != THOUGHTFUL:
            return Command(["context", *words, "--transcript", str(shop.transcript)])
        given = [shop.environ(), shop.session_id, str(shop.project), str(shop.transcript), shop.at]
        return Function("tests.reclaim.thoughtful:clear", given)

    def ask(self, words: list[str]) -> Done:
        return self.shop.forks.run(self._work(words), self.shop.environ(), cwd=str(self.shop.project))

    def world(self) -> dict[str, str]:
        lay_down(self.template, self.shop.folder)
        return self.shop.environ()

    def check(self, done: Done) -> None:
        self.done.append(self.assert_whole())
        if len(self.done) % self.often == 0 or not done.killed or self.done[-2:] == [False, True]:
            self.assert_next(self.done[-1])

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


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_call_that_changes_something_it_is_done_or_undone(memory: Path, forks: Forks, operation: str, count):
    """At every seventh of them, at each with --slow."""
    case, step = Case(memory, forks, operation, count(5, 1)), count(7, 1)
    kills = kill_at_each_call(forks, case.work, case.world, case.check, step, **case.how)
    print(f"{operation}: {kills} kills")
    assert step * kills > 20, "there were moments to be killed at"
    assert case.done == sorted(case.done), "before the rename all is old, after it all is new"
    assert 2 < step * case.done.count(True) < step * len(case.done) - 2


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_a_random_moment_it_is_done_or_undone(memory: Path, forks: Forks, operation: str, count):
    case = Case(memory, forks, operation, count(4, 1), larger=3)
    kill_at_random_moments(forks, case.work, case.world, case.check, count(4, 90), **case.how)
