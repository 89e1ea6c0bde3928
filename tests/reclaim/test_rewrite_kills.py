"""A rewrite that is killed at any moment leaves the old transcript or the new one, and the original where it was to be kept."""

from __future__ import annotations

from pathlib import Path

from hooks.utils.reclaim import rewrite
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import kill_at_each_call, kill_at_random_moments
from tests.reclaim import transcripts

OLDER = b"an older original\n"


class Case:
    """One transcript, put back before every kill."""

    def __init__(self, folder: Path, count: int, chars: int):
        self.path, self.keep = folder / "session.jsonl", folder / "kept" / "session.original"
        self.keep.parent.mkdir()
        self.old = transcripts.lines(count, chars)
        self.new = transcripts.edited(self.old, transcripts.clearing(self.old))
        self.work = Function("tests.reclaim.transcripts:clear", [str(self.path), str(self.keep)])
        self.done: list[bool] = []

    def world(self) -> dict[str, str]:
        for folder in (self.path.parent, self.keep.parent):
            for path in folder.iterdir():
                if path.is_file():
                    path.unlink()
        self.path.write_bytes(self.old)
        self.keep.write_bytes(OLDER)
        return {}

    def check(self, done: Done) -> None:
        """All of it is old or new; nothing is left behind, and the next rewrite works."""
        assert done.killed or (done.out, done.err) == ("", "")
        now, kept = self.path.read_bytes(), self.keep.read_bytes()
        assert now in (self.old, self.new)
        assert kept == self.old or (kept == OLDER and now == self.old), "whatever is gone from the transcript is kept"
        assert [path.name for path in self.path.parent.glob("*.jsonl")] == [self.path.name]
        rewrite.sweep(str(self.path))
        rewrite.sweep(str(self.keep))
        assert [path.name for path in self.path.parent.iterdir() if path.is_file()] == [self.path.name]
        assert transcripts.names(self.keep.parent) == [self.keep.name]
        self.done.append(now == self.new)
        if now == self.old:
            transcripts.clear(self.path, self.keep)
            assert (self.path.read_bytes(), self.keep.read_bytes()) == (self.new, self.old)


def test_a_rewrite_killed_at_any_call_that_changes_something_is_done_or_undone(forks: Forks, tmp_path: Path):
    case = Case(tmp_path, 9, 300)
    kills = kill_at_each_call(forks, case.work, case.world, case.check)
    print(f"a rewrite: {kills} kills")
    assert kills > 10, "there were moments to be killed at"
    assert case.done == sorted(case.done), "before the rename all is old, after it all is new"
    assert case.done.count(True) > 2


def test_a_rewrite_killed_at_a_random_moment_is_done_or_undone(forks: Forks, tmp_path: Path, count):
    case = Case(tmp_path, 1500, 2000)
    kill_at_random_moments(forks, case.work, case.world, case.check, count(25, 500))
    assert len(set(case.done)) == 2, "some were killed before they were done"
