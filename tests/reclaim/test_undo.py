"""Undo: what the last clear took goes back, and nothing else happens."""

from __future__ import annotations

import sqlite3

import pytest

from hooks.utils.reclaim.access import Refused
from tests.reclaim.shops import EXPIRED, LATELY, LIVE, SESSION, Shop, code, worked


def test_without_a_clear_there_is_nothing_to_undo(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    done = shop.context("undo")
    assert (done.code, done.out) == (1, "")
    assert "nothing has been archived yet" in done.err
    assert shop.transcript.read_bytes() == before


def test_an_undo_says_what_came_back_and_how_the_client_gets_it(shop: Shop):
    shop.write(worked(str(shop.project)))
    handles = shop.clear()[1].handles
    done = shop.context("undo")
    assert done.code == 0
    assert all(handle in done.out for handle in handles.values())
    assert f"/resume {SESSION}" in done.out


def test_as_data_it_tells_the_same(shop: Shop):
    shop.write(worked(str(shop.project)))
    prospect = shop.clear()[0]
    found = shop.context("undo", "--json").json
    assert {row["id"] for row in found["restored"]} == EXPIRED
    assert (found["gone"], found["trouble"]) == ([], "")
    assert found["tokens"] == prospect.plan.sum.leaves


def test_the_clear_of_another_session_stays_undone(shop: Shop):
    shop.write(worked(str(shop.project)))
    shop.clear()
    other = Shop(shop.folder, shop.forks, "5e551019-0000-4000-8000-000000000002")
    before = other.write(worked(str(shop.project), session_id=other.session_id))
    with pytest.raises(Refused, match="nothing to undo"):
        other.undo()
    assert other.transcript.read_bytes() == before
    assert set(shop.cleared()) == EXPIRED


def test_a_placeholder_that_the_model_repeats_is_no_placeholder(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    told = shop.contents()["read-old"]
    more = worked(str(shop.project))
    more.use("echo", "Bash", {"command": "echo it"})
    more.result("echo", told)
    before = more.write(shop.folder / "more")
    # As the client goes on after the clear: the placeholders, then a result that looks like one of them.
    lines = (shop.folder / "more").read_bytes().splitlines(keepends=True)[len(talk.entries) :]
    assert before
    with shop.transcript.open("ab") as file:
        file.writelines(lines)
    shop.undo()
    assert shop.contents()["echo"] == told
    assert shop.cleared().keys() == {"echo"}


def test_what_was_pruned_meanwhile_is_told_and_the_rest_comes_back(shop: Shop):
    shop.write(worked(str(shop.project)))
    handles = shop.clear()[1].handles
    _forget(shop, handles["found"])
    done = shop.context("undo")
    assert "Gone for good" in done.out
    assert set(shop.cleared()) == {"found"}
    shop.assert_state_follows()


def _forget(shop: Shop, handle: str) -> None:
    """The content of one record is gone for good, as a prune leaves it."""
    db = sqlite3.connect(shop.home / "archive.sqlite")
    db.execute("UPDATE thought_records SET zone = 'cold', content = NULL, content_compressed = NULL, source = NULL WHERE id = ?", (handle,))
    db.commit()
    db.close()


def test_an_undo_is_booked(shop: Shop):
    talk = worked(str(shop.project))
    shop.write(talk)
    shop.clear()
    shop.at += 1
    shop.undo()
    ledger = shop.ledger()
    assert (ledger["clears"], ledger["undone"], ledger["reclaimed_tokens"]) == (1, 1, 0)


def test_results_that_had_expired_are_expired_again(shop: Shop):
    shop.write(worked(str(shop.project)))
    before = shop.state()
    shop.clear(now=True)
    shop.undo()
    after = shop.state()
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
    assert shop.known()[0]["live"] == _live_rows(shop)


def _live_rows(shop: Shop) -> list:
    shop.state()
    return shop.known()[0]["live"]


def test_an_undo_of_a_larger_clear_is_whole(shop: Shop):
    talk = worked(str(shop.project))
    for number in range(120):
        talk.read(f"more-{number}", f"{talk.cwd}/more{number % 40}.ts", code(60 + number, f"m{number}"))
    before = shop.write(talk)
    _, done = shop.clear(tier="medium")
    assert len(done.handles) > 120
    shop.undo()
    assert shop.transcript.read_bytes() == before
