"""Hooks of parallel calls run at once and out of order: no record is lost, and no context hears of another's."""

from __future__ import annotations

from pathlib import Path

from popkit_retention.core.io import hook_log
from popkit_retention.core.state import store
from tests.hooks import payloads, processes
from tests.kit.forks import Forks, Hook

AT_ONCE = 64
SESSION = payloads.SESSION


def _reads(count: int, **more) -> list[dict]:
    return [payloads.read(f"/home/dev/shop/src/file{number}.py", f"value = {number}\n", **more) for number in range(count)]


def _all_report(forks: Forks, home: processes.Home, given: list) -> None:
    """A hook for each payload, all at once; none of them says anything."""
    scripts = [processes.SCRIPTS[payload["hook_event_name"]] if isinstance(payload, dict) else "post-tool-use" for payload in given]
    ended = forks.run_together([Hook(*pair) for pair in zip(scripts, given)], home.env())
    assert [done for done in ended if not done.silent] == []


def _ids(calls: list[dict]) -> set[str]:
    return {call["tool_use_id"] for call in calls}


def test_sixty_four_hooks_at_once_lose_no_record(forks: Forks, home: processes.Home):
    calls = _reads(AT_ONCE)
    _all_report(forks, home, calls)
    assert home.failures() == []
    state = home.caught_up(SESSION)
    assert state.index == AT_ONCE
    assert set(state.live) == _ids(calls)
    assert sorted(result.index for result in state.live.values()) == list(range(1, AT_ONCE + 1))
    assert home.leftovers() == []


def test_what_expires_while_sixty_four_hooks_run_is_logged_once_each(forks: Forks, home: processes.Home):
    calls = [payloads.bash(f"mkdir -p build/{number}") for number in range(AT_ONCE)]
    _all_report(forks, home, calls)
    paths, state = home.paths(SESSION), home.caught_up(SESSION)
    assert len(state.live) == 1, "an acknowledgement lives for one call"
    expired = store.read_expired(paths, state)
    assert set(expired) | set(state.live) == _ids(calls)
    assert len(store.read_lines(paths.expired)) == AT_ONCE - 1
    assert sum(state.counts.expired.values()) == AT_ONCE - 1


def test_the_main_thread_and_subagents_at_once_are_kept_apart(forks: Forks, home: processes.Home):
    agents = ["", "a7af87b78575ba274", "b0c1d2e3f4a5b6c7d"]
    calls = {agent: _reads(16, **({"agent_id": agent, "agent_type": "Explore"} if agent else {})) for agent in agents}
    mixed = [call for group in zip(*calls.values()) for call in group]
    _all_report(forks, home, mixed)
    assert home.failures() == []
    for agent in agents:
        state = home.caught_up(SESSION, agent)
        assert state.index == len(calls[agent])
        assert set(state.live) == _ids(calls[agent])
        assert state.agent_id == agent


def test_prompts_and_stops_between_calls_lose_no_record(forks: Forks, home: processes.Home):
    calls = _reads(16)
    others = [payloads.prompt("go on"), payloads.stop(), payloads.prompt("and on"), payloads.stop()]
    _all_report(forks, home, calls + others)
    assert home.failures() == []
    assert set(home.caught_up(SESSION).live) == _ids(calls)


def test_a_call_that_two_registrations_report_at_once_counts_once(forks: Forks, home: processes.Home):
    call = payloads.read("/home/dev/shop/README.md", "# shop\n")
    _all_report(forks, home, [call] * 8)
    assert home.caught_up(SESSION).index == 1


def test_sessions_that_run_side_by_side_share_nothing(forks: Forks, home: processes.Home):
    calls = [payloads.read("/home/dev/shop/README.md", "# shop\n", session_id=f"session-{number}") for number in range(16)]
    _all_report(forks, home, calls)
    assert [home.caught_up(f"session-{number}").index for number in range(16)] == [1] * 16


def test_failures_at_once_are_all_counted_although_the_log_is_rotated_meanwhile(forks: Forks, home: processes.Home):
    home.path.mkdir(mode=0o700)
    old = "!! 2026-01-01T00:00:00Z post-tool-use ValueError\n"
    log = Path(hook_log.log_path(str(home.path)))
    log.write_text(old * (hook_log.LOG_BYTES // len(old) + 1))
    before = len(home.failures())
    _all_report(forks, home, [b"no json"] * 32)
    assert len(home.failures()) == before + 32
