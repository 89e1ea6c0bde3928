"""`clear_at_exit`, through the real hook: what has expired leaves the transcript as the session ends, when the user said so. What leaves
under `auto` is in test_clear_auto.py."""

from __future__ import annotations

import time

import pytest

from tests.hooks import processes
from tests.reclaim.shops import EXPIRED, Shop, assert_only_contents_changed, code, worked


def _use(shop: Shop) -> bytes:
    """A session that the hooks have followed to its end."""
    before = shop.write(worked(str(shop.project)))
    assert shop.hook("session-start", source="resume", hook_event_name="SessionStart").silent
    return before


def _exit(shop: Shop, reason: str = "prompt_input_exit") -> None:
    ran = shop.hook("session-end", hook_event_name="SessionEnd", reason=reason)
    assert ran.silent, ran
    assert processes.Home(shop.folder).failures() == []


def test_unless_the_user_says_so_nothing_is_cleared(shop: Shop):
    before = _use(shop)
    _exit(shop)
    assert shop.transcript.read_bytes() == before
    assert not (shop.home / "archive.sqlite").exists()


def test_a_project_cannot_switch_it_on(shop: Shop):
    before = _use(shop)
    shop.configure("project", clear_at_exit=True)
    _exit(shop)
    assert shop.transcript.read_bytes() == before


@pytest.mark.parametrize("reason", ["prompt_input_exit", "other", "logout", "clear"])
def test_when_the_user_says_so_what_has_expired_leaves(shop: Shop, reason: str):
    before = _use(shop)
    shop.configure(clear_at_exit=True)
    _exit(shop, reason)
    assert set(shop.cleared()) >= EXPIRED
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(shop.cleared()))
    shop.assert_state_follows()
    shop.undo()
    assert shop.transcript.read_bytes() == before


def test_a_project_cannot_switch_it_off_for_what_the_user_wants(shop: Shop):
    _use(shop)
    shop.configure(clear_at_exit=True)
    shop.configure("project", clear_at_exit=False)
    _exit(shop)
    assert shop.cleared()


def test_a_session_that_goes_on_in_another_window_is_left_alone(shop: Shop):
    before = _use(shop)
    shop.configure(clear_at_exit=True)
    _exit(shop, "resume")
    assert shop.transcript.read_bytes() == before


def test_it_clears_while_the_cache_is_warm_too(shop: Shop):
    talk = worked(str(shop.project), tokens=150_000)
    shop.write(talk)
    shop.at = talk.now + 20
    assert shop.hook("session-start", source="resume", hook_event_name="SessionStart").silent
    shop.configure(clear_at_exit=True)
    _exit(shop)
    assert set(shop.cleared()) >= {"read-old", "old-test"}


def test_what_is_not_understood_stays_and_the_session_ends_all_the_same(shop: Shop):
    before = _use(shop)[:-2]  # the last line was cut
    shop.transcript.write_bytes(before)
    shop.configure(clear_at_exit=True)
    _exit(shop)
    assert shop.transcript.read_bytes() == before


def test_a_session_that_was_never_tracked_is_left_alone(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    shop.configure(clear_at_exit=True)
    _exit(shop)
    assert shop.transcript.read_bytes() == before


@pytest.mark.bench
@pytest.mark.parametrize("profile", ["spec", "auto"])
def test_5_megabytes_are_cleared_within_what_the_host_gives(shop: Shop):
    talk = worked(str(shop.project))
    for number in range(130):
        talk.read(f"more-{number}", f"{talk.cwd}/more{number}.ts", code(480, f"m{number}"))
        talk.edit(f"edit-more-{number}", f"{talk.cwd}/more{number}.ts")
    talk.idle(22)
    before = shop.write(talk)
    assert len(before) > 5_000_000
    assert shop.hook("session-start", source="resume", hook_event_name="SessionStart").silent
    shop.configure(clear_at_exit=True)
    began = time.perf_counter()
    _exit(shop)
    took = time.perf_counter() - began
    assert len(shop.cleared()) > 100
    assert took < 1.5, f"{took:.2f} s"
