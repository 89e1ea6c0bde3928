"""Undo: what the last clear took goes back, and nothing else happens; where something is gone for good, what can come back does."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hooks.utils.reclaim.access import Refused
from tests.kit.forks import Command, Done, Forks
from tests.kit.kills import kill_at_each_call, kill_at_random_moments, lay_down
from tests.reclaim.shops import EXPIRED, LATELY, LIVE, SESSION, Shop, code, contents_of, worked


def test_without_a_clear_there_is_nothing_to_undo(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    done = shop.context("undo")
    assert (done.code, done.out) == (1, "")
    assert "nothing has been archived yet" in done.err
    assert shop.transcript.read_bytes() == before


def test_an_undo_says_what_came_back_and_how_the_client_gets_it(working: Shop):
    handles = working.clear()[1].handles
    done = working.context("undo")
    assert done.code == 0
    assert all(handle in done.out for handle in handles.values())
    assert f"/resume {SESSION}" in done.out


def test_as_data_it_says_the_same(working: Shop):
    prospect = working.clear()[0]
    answer = working.context("undo", "--json").json
    assert {row["id"] for row in answer["restored"]} == EXPIRED
    assert (answer["gone"], answer["trouble"]) == ([], "")
    assert answer["tokens"] == prospect.plan.sum.leaves


def test_the_clear_of_another_session_stays_undone(working: Shop):
    working.clear()
    other = Shop(working.folder, working.forks, "5e551019-0000-4000-8000-000000000002")
    before = other.write(worked(str(working.project), session_id=other.session_id))
    with pytest.raises(Refused, match="nothing to undo"):
        other.undo()
    assert other.transcript.read_bytes() == before
    assert set(working.cleared()) == EXPIRED


def test_a_placeholder_that_the_model_repeats_is_no_placeholder(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    notice = shop.contents()["read-old"]
    there = len(talk.entries)
    talk.use("echo", "Bash", {"command": "echo it"})
    talk.result("echo", notice)
    shop.goes_on(talk, there)
    shop.undo()
    assert shop.contents()["echo"] == notice
    assert shop.cleared().keys() == {"echo"}


def test_what_was_pruned_meanwhile_is_named_and_the_rest_comes_back(working: Shop):
    handles = working.clear()[1].handles
    forget(working, handles["found"])
    done = working.context("undo")
    assert "Gone for good" in done.out
    assert set(working.cleared()) == {"found"}
    working.assert_state_follows()


def test_an_undo_is_booked(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    shop.at += 1
    shop.undo()
    ledger = shop.ledger()
    assert (ledger["clears"], ledger["undone"], ledger["reclaimed_tokens"]) == (1, 1, 0)


def test_results_that_had_expired_are_expired_again(working: Shop):
    before = working.state()
    working.clear(now=True)
    working.undo()
    after = working.state()
    assert after.expired.keys() == before.expired.keys()
    for id in EXPIRED | LATELY:
        assert after.expired[id].ended == before.expired[id].ended
        assert after.expired[id].cleared == ""


def test_hooks_that_run_after_an_undo_know_of_it(shop: Shop):
    """Also when they run before anybody has looked at the transcript."""
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear(ids=tuple(LIVE))
    shop.undo()
    ran = shop.hook("session-start", hook_event_name="SessionStart", source="resume")
    assert (ran.code, ran.err) == (0, "")
    known = shop.known()[0]["live"]
    shop.state()
    assert known == shop.known()[0]["live"]


def test_an_undo_of_a_larger_clear_is_whole(shop: Shop):
    talk = worked(str(shop.project))
    for number in range(120):
        talk.read(f"more-{number}", f"{talk.cwd}/more{number % 40}.ts", code(60 + number, f"m{number}"))
    before = shop.write(talk)
    _, done = shop.clear(tier="medium")
    assert len(done.handles) > 120
    shop.undo()
    assert shop.transcript.read_bytes() == before


# --- where something is gone for good ----------------------------------------------------------------------------------------------------

FORK = "5e551019-0000-4000-8000-00000000000f"


def forget(shop: Shop, *handles: str) -> None:
    """These contents are gone for good, as a prune leaves them."""
    with closing(sqlite3.connect(shop.home / "archive.sqlite")) as db, db:
        for handle in handles:
            gone = "zone = 'cold', content = NULL, content_compressed = NULL, source = NULL"
            db.execute(f"UPDATE thought_records SET {gone} WHERE id = ?", (handle,))  # noqa: S608  our own columns


@pytest.fixture
def twice(shop: Shop) -> Shop:
    """Cleared twice: first what had expired, then the Reads."""
    shop.write(worked(str(shop.project)))
    shop.clear()
    shop.at += 60
    shop.clear(tier="medium")
    return shop


def newer(shop: Shop) -> set[str]:
    return set(shop.cleared()) - EXPIRED


def test_what_can_come_back_does_and_the_next_undo_goes_on(twice: Shop):
    before = twice.cleared()
    assert newer(twice) >= {"read-lib", "read-app"}
    forget(twice, before["read-lib"])
    done = twice.context("undo")
    assert (done.code, "Gone for good" in done.out, "lib.ts" in done.out) == (0, True, True)
    assert set(twice.cleared()) == EXPIRED | {"read-lib"}
    done = twice.context("undo")
    assert done.code == 0, done
    assert set(twice.cleared()) == {"read-lib"}, "the older clear is taken back"
    twice.assert_state_follows()


def test_a_clear_that_is_lost_altogether_is_named_and_passed_over(twice: Shop):
    before = twice.cleared()
    lost = newer(twice)
    forget(twice, *(before[id] for id in lost))
    back = twice.undo()
    assert {record.tool_use_id for record in back.records} == EXPIRED
    assert {record.tool_use_id for record in back.lost} == lost
    assert set(twice.cleared()) == lost


def test_where_nothing_can_come_back_it_says_what_is_lost_and_changes_nothing(twice: Shop):
    forget(twice, *twice.cleared().values())
    before = twice.transcript.read_bytes()
    for _ in range(2):
        done = twice.context("undo")
        error = " ".join(done.err.split())
        assert (done.code, done.out) == (1, "")
        assert "gone for good" in error
        assert "npm test" in error
    assert twice.transcript.read_bytes() == before


def test_placeholders_that_the_archive_knows_nothing_of_are_reported(twice: Shop):
    twice.at += 90 * 86_400
    assert twice.popkit("archive", "prune", "--older-than", "30d", "--yes").code == 0
    error = " ".join(twice.context("undo").err.split())
    assert f"{len(twice.cleared())} placeholders" in error
    assert "no longer in the archive" in error


def forked(shop: Shop) -> Shop:
    """A fork of the session: the same lines under another id, as the host copies them."""
    fork = Shop(shop.folder, shop.forks, FORK, shop.profile)
    fork.transcript.write_bytes(shop.transcript.read_bytes().replace(shop.session_id.encode(), FORK.encode()))
    fork.at = shop.at
    return fork


def test_a_fork_undoes_what_its_copied_placeholders_stand_for(shop: Shop):
    original = shop.write(worked(str(shop.project)))
    shop.clear()
    fork = forked(shop)
    cleared = shop.transcript.read_bytes()
    done = fork.context("undo")
    assert done.code == 0, done
    assert contents_of(fork.transcript.read_bytes()) == contents_of(original)
    fork.assert_state_follows()
    assert shop.transcript.read_bytes() == cleared, "the session itself stays as it was"
    shop.undo()
    assert shop.transcript.read_bytes() == original


def test_a_fork_undoes_its_own_clear_first(shop: Shop):
    original = shop.write(worked(str(shop.project)))
    shop.clear()
    fork = forked(shop)
    fork.at += 60
    fork.clear(tier="medium")
    fork.undo()
    assert set(fork.cleared()) == EXPIRED
    fork.undo()
    assert contents_of(fork.transcript.read_bytes()) == contents_of(original)
    with pytest.raises(Refused, match="nothing to undo"):
        fork.undo()
    ledger = fork.ledger()
    assert (ledger["reclaimed_tokens"], ledger["clears"]) == (0, 1)


class Case:
    """An undo of two clears, of which the newer has lost a content, laid down anew before every kill."""

    def __init__(self, folder: Path, forks: Forks, often: int):
        """After every so many kills it goes on."""
        self.shop, self.often = Shop(folder / "now", forks), often
        self.texts = contents_of(self.shop.write(worked(str(self.shop.project))))
        self.shop.clear()
        self.shop.at += 60
        self.shop.clear(tier="medium")
        self.old = self.shop.transcript.read_bytes()
        forget(self.shop, self.shop.cleared()["read-lib"])
        self.template = folder / "template"
        shutil.copytree(self.shop.folder, self.template)
        self.shop.undo()
        self.new = self.shop.transcript.read_bytes()
        self.work = Command(["context", "undo", "--transcript", str(self.shop.transcript)])
        self.how = {"cwd": str(self.shop.project)}
        self.done: list[bool] = []

    def world(self) -> dict[str, str]:
        lay_down(self.template, self.shop.folder)
        return self.shop.environ()

    def check(self, done: Done) -> None:
        assert self.shop.transcript.read_bytes() in (self.old, self.new)
        self.done.append(self.shop.transcript.read_bytes() == self.new)
        if len(self.done) % self.often == 0 or not done.killed or self.done[-2:] == [False, True]:
            self.assert_goes_on()

    def assert_goes_on(self) -> None:
        """Undo after undo gives back all but the one that is lost."""
        for _ in range(3):
            if set(self.shop.cleared()) != {"read-lib"}:
                assert self.shop.context("undo").code == 0
        found = contents_of(self.shop.transcript.read_bytes())
        assert {id for id, text in self.texts.items() if found[id] != text} == {"read-lib"}
        assert self.shop.context("undo").code == 1
        self.shop.assert_state_follows()


def test_killed_at_any_call_it_is_done_or_undone_and_goes_on(memory: Path, forks: Forks, count):
    case, step = Case(memory, forks, count(8, 1)), count(3, 1)
    kills = kill_at_each_call(forks, case.work, case.world, case.check, step, **case.how)
    assert step * kills > 20, "there were moments to be killed at"
    assert case.done == sorted(case.done), "before the rename all is old, after it all is new"
    assert 2 < step * case.done.count(True) < step * len(case.done) - 2


def test_killed_at_a_random_moment_it_is_done_or_undone_and_goes_on(memory: Path, forks: Forks, count):
    case = Case(memory, forks, count(4, 1))
    kill_at_random_moments(forks, case.work, case.world, case.check, count(10, 200), **case.how)
