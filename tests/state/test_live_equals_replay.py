"""A session fed through the hooks, call by call, gives the state that transcript and journal give at its end."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from tests.examples import examples
from tests.hooks import processes, sessions


class Kept:
    """What the hooks have kept of a day, and what its transcript gives."""

    def __init__(self, home: processes.Home, day: sessions.Day):
        self.home = home
        self.day = day
        self.site = Site(home.env(CLAUDE_PROJECT_DIR=str(day.project)), day.session_id, str(day.project))

    def stored(self, agent: str = "") -> tuple[dict, list]:
        paths = self.site.paths(agent)
        kept = store.load(paths)
        assert kept is not None
        return shared_facts(kept.state), [_ended(result) for result in store.read_expired(paths, kept.state).values()]

    def rebuilt(self, agent: str = "") -> tuple[dict, list]:
        path = self.day.transcript
        if agent:
            path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
        journal = reconciling.journal_of(self.site, self.site.paths(agent))
        state = rebuild(str(path), journal, self.site.rules_for, self.day.session_id, agent).state
        return shared_facts(state), [_ended(result) for result in state.expired.values()]


def _ended(result) -> tuple:
    """An expired result without the times that only a transcript has."""
    trigger, index, _, by, reasons = result.ended
    return (
        result.id,
        result.index,
        result.turn,
        result.kind,
        result.tier,
        result.label,
        result.tokens,
        result.verdict,
        trigger,
        index,
        by,
        reasons,
    )


def _assert_equal(kept: Kept, agents: tuple = ("",)) -> None:
    for agent in agents:
        facts, expired = kept.stored(agent)
        replayed, replayed_expired = kept.rebuilt(agent)
        assert facts == replayed
        assert expired == replayed_expired


def _agents(day: sessions.Day) -> tuple:
    return ("", *day.chains)


def _as_it_may(payload: dict, ran: processes.Done) -> bool:
    """Hooks are silent, but for the advice before a compaction, in plain text, the index after it, and the repair of a Read."""
    if payload["hook_event_name"] == "PreCompact":
        return ran.in_words
    response = payload.get("tool_response")
    unchanged = isinstance(response, dict) and response.get("type") == "file_unchanged"
    return ran.failed_open if unchanged or payload.get("source") == "compact" else ran.silent


@pytest.mark.parametrize("prompt_ids", [True, False], ids=["with prompt ids", "without prompt ids"])
def test_calls_through_real_processes_give_the_state_that_replay_gives(tmp_path: Path, prompt_ids: bool, count):
    """A hundred calls, three hundred with --slow."""
    calls = count(100, 300) if prompt_ids else 60
    day = sessions.day(tmp_path, random.Random(300 + prompt_ids), calls, prompt_ids=prompt_ids)
    home = processes.Home(tmp_path)
    answered: list[str] = []

    def run(payload: dict, at: float) -> dict | None:
        ran = processes.run_event(payload, home.env(POPKIT_CLOCK=repr(at), CLAUDE_PROJECT_DIR=str(day.project)), cwd=tmp_path)
        answered.append(payload["hook_event_name"]) if ran.stdout else None
        assert _as_it_may(payload, ran), ran
        return json.loads(ran.stdout) if ran.stdout.startswith(b"{") else None

    sessions.play(day.steps, run)
    assert home.failures() == []
    assert set(answered) <= {"PreCompact", "SessionStart", "PostToolUse"}
    assert "PreCompact" in answered, "what is dead and what must survive"
    kept = Kept(home, day)
    _assert_equal(kept, _agents(day))
    facts, expired = kept.stored()
    assert sum(kept.stored(agent)[0]["index"] for agent in _agents(day)) == day.calls
    assert len(facts["live"]) + len(expired) > 20, "there is something to compare"
    assert facts["epoch"] == 2


def _run_inside(home: processes.Home, day: sessions.Day):
    def run(payload: dict, at: float) -> dict | None:
        environ = home.env(POPKIT_CLOCK=repr(at), CLAUDE_PROJECT_DIR=str(day.project))
        answer = processes.HANDLERS[processes.SCRIPTS[payload["hook_event_name"]]](payload, environ)
        return answer if isinstance(answer, dict) else None

    return run


def _begun(folder: Path, seed: int) -> sessions.Day:
    day = sessions.Day(folder, random.Random(seed))
    day.begin()
    return day


def _assert_lives_as_it_is_replayed(day: sessions.Day, folder: Path, agents: tuple = ("",), late: random.Random | None = None) -> None:
    home = processes.Home(folder)
    sessions.play(day.steps, _run_inside(home, day), late=late)
    _assert_equal(Kept(home, day), agents)


@pytest.mark.parametrize("seed", range(3))
def test_long_sessions_whose_lines_come_late_give_the_state_that_replay_gives(tmp_path: Path, seed: int):
    day = sessions.day(tmp_path, random.Random(seed), 200, prompt_ids=seed % 2 == 0)
    _assert_lives_as_it_is_replayed(day, tmp_path, _agents(day), random.Random(seed))


ACTIONS = {
    "read": lambda day: day.call(*day.reading()),
    "together": lambda day: day.together([day.reading() for _ in range(3)]),
    "search": lambda day: day.search(),
    "test": lambda day: day.run_tests(),
    "edit": lambda day: day.edit(),
    "write": lambda day: day.write(),
    "sed": lambda day: day.change_by_shell(),
    "look": lambda day: day.look(),
    "move": lambda day: day.move(),
    "other": lambda day: day.other_tool(),
    "commit": lambda day: day.shell("git commit -qam x", "[main 1a2b3c4] x\n 1 file changed"),
    "agent": lambda day: day.agent(),
    "turn": lambda day: (day.stop(), day.prompt()),
    "compact": lambda day: day.compact(keeps=False),
    "compact and keep": lambda day: day.compact(keeps=True),
    "resume": lambda day: day.end_and_resume(),
    "pin": lambda day: day.command(f"pin {day.project}/src/app.js"),
    "unpin": lambda day: day.command(f"unpin {day.project}/src/app.js"),
    "aggressive": lambda day: day.command("retention --aggressive"),
    "conservative": lambda day: day.command("retention --conservative"),
}


@settings(deadline=None, max_examples=examples(25, 250), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    acts=st.lists(st.sampled_from(sorted(ACTIONS)), min_size=1, max_size=30),
    seed=st.integers(0, 2**32),
    prompt_ids=st.booleans(),
    late=st.booleans(),
)
def test_small_sessions_give_the_state_that_replay_gives(tmp_path_factory: pytest.TempPathFactory, acts, seed, prompt_ids, late):
    folder = tmp_path_factory.mktemp("day")
    day = sessions.Day(folder, random.Random(seed), prompt_ids=prompt_ids)
    day.begin()
    for act in acts:
        ACTIONS[act](day)
    profiled = {"aggressive", "conservative"} & set(acts)
    # Subagents do not hear of a profile that is chosen while they work.
    _assert_lives_as_it_is_replayed(day, folder, ("",) if profiled else _agents(day), random.Random(seed) if late else None)


def test_a_newly_chosen_profile_ends_at_once_what_it_no_longer_lets_live(tmp_path: Path):
    day = _begun(tmp_path, 0)
    for act in ("commit", "conservative", "agent", "aggressive"):
        ACTIONS[act](day)
    _assert_lives_as_it_is_replayed(day, tmp_path)


@pytest.mark.parametrize("catch_up", ["compact", "resume"])
def test_calls_that_fired_no_hook_are_caught_up_with(tmp_path: Path, catch_up: str):
    day = _begun(tmp_path, 11)
    for act in ("read", "edit", "test", "read"):
        ACTIONS[act](day)
        day.reject()
    ACTIONS[catch_up](day)
    for act in ("read", "test"):
        ACTIONS[act](day)
    _assert_lives_as_it_is_replayed(day, tmp_path)


def test_a_prompt_that_comes_before_the_line_of_a_compaction_revives_nothing(tmp_path: Path):
    day = _begun(tmp_path, 12)
    for act in ("read", "test"):
        ACTIONS[act](day)
    day.compact(keeps=False)  # the last two steps: the compaction and the prompt, which waited in the queue
    compaction, prompt = day.steps[-2:]
    prompt.at = compaction.at + 0.05
    compaction.after, prompt.after = [], compaction.after + prompt.after
    day.now += 60.0
    ACTIONS["read"](day)
    _assert_lives_as_it_is_replayed(day, tmp_path)


def test_a_search_of_a_subagent_that_finds_nothing_is_the_same_to_both(tmp_path: Path):
    day = _begun(tmp_path, 13)
    response = {"mode": "content", "numFiles": 0, "filenames": [], "content": "", "numLines": 0}
    day.chains["a1"] = None
    day.call("Grep", {"pattern": "x", "output_mode": "content"}, {"response": response, "text": "No matches found"}, "a1")
    _assert_lives_as_it_is_replayed(day, tmp_path, ("a1",))


def test_a_profile_chosen_while_a_subagent_works_means_the_same_to_both(tmp_path: Path):
    day = _begun(tmp_path, 14)
    day.chains["a1"] = None
    day.shell("rg -n add src", "src/app.js:1:add", "a1")
    day.command("retention --aggressive")
    for word in ("one", "two", "three", "four"):
        day.shell(f"cat {word}", word, "a1")
    _assert_lives_as_it_is_replayed(day, tmp_path, ("a1",))
