"""Collections, archives and restores that are killed at any call that changes something, and at random moments: the next run ends where
an undisturbed one ends, nothing is deleted twice or unlogged, and everything verifies."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from popkit_retention.governance import archives
from tests.governance.case import KINDS, Case
from tests.governance.collecting import at_work
from tests.governance.stored import DAY, NOW
from tests.kit.forks import Done, Forks, Function
from tests.kit.kills import Check, calls_of, kill_at_each_call, kill_at_random_moments


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["at each call", "at random moments"])
def case(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Case:
    """Few resources where it is every call, many where it is any moment; two batches either way."""
    return Case(tmp_path, kind, 3 if request.param == "at each call" else 100)


@pytest.fixture
def kill(forks: Forks, case: Case, count: Callable[[int, int], int]) -> Callable[[Function, Check], None]:
    """Kills work at its calls (each of them with --slow, else every seventeenth), or at random moments."""

    def kill(work: Function, check: Check) -> None:
        if len(case.ids) < 10:
            kills = kill_at_each_call(forks, work, case.world, check, step=count(17, 1))
            assert kills > count(2, 30), "there were moments to be killed at"
        else:
            kills = kill_at_random_moments(forks, work, case.world, check, count(5, 500))
        print(f"{case.kind}, {work.function.rpartition(':')[2]} of {len(case.ids)}: {kills} kills")

    return kill


def test_a_collection_that_is_killed_is_ended_by_the_next_one(case: Case, kill: Callable[[Function, Check], None]):
    def check(done: Done) -> None:
        with case.desk() as desk:
            left = set(case.data(desk))
            assert left >= case.ready | case.young, "only what was marked a day ago may be gone"
            with desk.changing():
                pass
            case.check_log(desk)
            assert set(case.data(desk)) == left, "finishing what was left undone deletes nothing more"
            desk.gc(NOW)
            case.check_log(desk)
            assert set(case.data(desk)) == case.ready | case.young
            assert {id: mark.at for id, mark in desk.domain.marked().items()} == dict.fromkeys(case.ready, NOW)
            marked = Counter(id for ids in desk.logged("marked") for id in ids)
            assert marked == Counter(case.due | case.ready), "nothing is marked twice"
        case.check_folder()

    kill(case.work("gc", NOW), check)


def test_an_archive_that_is_killed_is_whole_or_not_there(case: Case, kill: Callable[[Function, Check], None]):
    seen = set()

    def check(done: Done) -> None:
        with case.desk() as desk:
            with desk.changing():
                pass
            found = archives.summaries(desk.folder)
            assert len(found) == len(desk.logged("archived")) == (not done.killed or bool(found))
            assert all(each["resource_count"] == len(case.ids) for each in found)
            seen.add(len(found))
            case.check_log(desk)
            assert case.data(desk) == case.before
            desk.archive(*case.ids[:2], now=NOW)
            case.check_log(desk)
        case.check_folder()

    kill(case.work("archive", case.ids, NOW), check)
    assert seen == {0, 1} or len(case.ids) > 10


def test_a_restore_that_is_killed_is_ended_by_the_next_one(case: Case, kill: Callable[[Function, Check], None]):
    with at_work(case.template, case.kind, NOW) as desk:
        archive_id = desk.archive(*case.ids, now=NOW - DAY / 2).archive_id
        assert {each.id for each in desk.gc(NOW).deletes} == case.due

    def check(done: Done) -> None:
        with case.desk() as desk:
            with desk.changing():
                pass
            back = Counter(id for id in case.data(desk) if id in case.due)
            assert Counter(id for ids in desk.logged("restored") for id in ids) == back, "what is back was logged, once"
            desk.restore(archive_id, NOW)
            assert case.data(desk) == case.before
            assert Counter(id for ids in desk.logged("restored") for id in ids) == Counter(case.due)
            assert desk.log.verify() == []
            assert desk.verify(read_data=True) == []
        case.check_folder()

    kill(case.work("restore", archive_id, NOW), check)


def test_an_archive_is_on_disk_before_it_is_logged_and_its_name_before_it_is_done(kind: str, tmp_path: Path):
    case = Case(tmp_path, kind, 3)
    script = "import json, sys; from tests.governance.collecting import archive; archive(*json.loads(sys.argv[1]))"
    given = json.dumps(case.work("archive", case.ids, NOW).given)
    lines = calls_of(script, [given], "fsync,fdatasync,?rename,?renameat,renameat2", case.world(), tmp_path / "trace")
    said = [line for line in lines if "/data/" in line]
    steps = [
        what
        for line in said
        for what, tells in (
            ("contents", line.startswith("fsync") and "/contents>" in line),
            ("manifest", line.startswith("fsync") and "/manifest.json" in line),
            ("its folder", line.startswith("fsync") and re.search(r"/\.new-[^/]*>", line)),
            ("logged", "retention-log.sqlite" in line),
            ("renamed", line.startswith("rename") and "manifest" not in line),
            ("archives", line.startswith("fsync") and "/data/archive>" in line),
        )
        if tells
    ]
    order = [what for what, before in zip(steps, ["", *steps]) if what != before]
    assert order == ["archives", "contents", "manifest", "its folder", "logged", "renamed", "archives", "logged"]
