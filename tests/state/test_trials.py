"""The coin of trials: blocks of two, one answer for a session's life, and a file that nobody else reads."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.config.fields import FIELDS
from hooks.utils.policy.trials import ARMS, PER_ARM, USUAL, is_tried
from hooks.utils.state import trials
from hooks.utils.state.live import Site
from hooks.utils.state.trials import Run, Trials

from .coins import configure, fix, run_of

NAMES = st.sampled_from(sorted(ARMS))


def site(home: Path, session: str = "one") -> Site:
    """A session in a home, whose facts are those of its first hook."""
    started = Site({"POPKIT_HOME": str(home), "POPKIT_NOW": "1000"}, session)
    if trials.FACT not in started.session:
        started.remember(**trials.facts_at_start(started))
    return started


def rows(home: Path) -> list[list]:
    return json.loads((home / trials.NAME).read_text())["runs"][0]["rows"]


# --- how it falls ----------------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=20), NAMES, st.integers(1, 5), st.integers(0, 200))
def test_of_two_sessions_one_has_it_and_one_does_not_so_both_arms_grow_alike(secret: str, name: str, number: int, block: int):
    run, coins = Run(name, number, 0.0), Trials(secret, [])
    assert sorted(coins.is_treated(run, 2 * block + place) for place in (0, 1)) == [False, True]


def test_which_of_the_two_it_is_cannot_be_guessed_from_those_before():
    coins = Trials("a secret", [])
    first = [coins.is_treated(Run("hints", 1, 0.0), 2 * block) for block in range(2_000)]
    same_again = sum(one == other for one, other in zip(first, first[1:]))
    assert 900 < sum(first) < 1_100
    assert 900 < same_again < 1_100


def test_each_machine_has_a_secret_of_its_own(tmp_path: Path):
    assert len({trials.load(str(tmp_path)).secret for _ in range(5)}) == 5


@given(st.lists(st.sampled_from("abcdef"), max_size=30), NAMES)
def test_a_session_has_one_answer_whenever_it_asks(asked: list[str], name: str):
    coins, answers = Trials("x", []), {}
    for session in asked:
        answer = coins.draw(name, session, 0.0)
        assert answers.setdefault(session, answer) == answer
    assert len(coins.runs[0].rows if coins.runs else []) == len(set(asked))


def test_no_coin_is_thrown_for_a_trial_that_is_over_and_earlier_answers_hold():
    coins = Trials("x", [run_of(2)])
    coins.runs[0].stopped = 5.0
    assert coins.draw("hints", "s0", 6.0) is True
    assert coins.draw("hints", "new", 6.0) is None
    assert coins.begin("hints", 7.0).number == 2
    assert coins.draw("hints", "new", 8.0) in (True, False)


def test_a_trial_that_nobody_reads_does_not_grow_for_ever():
    coins = Trials("x", [])
    drawn = [coins.draw("hints", str(place), 0.0) for place in range(trials.MOST_ROWS + 1)]
    assert drawn.pop() is None
    assert drawn.count(True) == drawn.count(False)


# --- what a session has ----------------------------------------------------------------------------------------------------------------


def test_what_can_be_tried_is_configured_by_that_word_and_has_what_is_shipped_where_no_coin_was_thrown():
    for name, (with_it, without) in ARMS.items():
        assert is_tried({name: {"try": True} if name == "memory" else "try"}, name)
        assert not is_tried({name: {"try": False} if name == "memory" else with_it}, name)
        assert USUAL[name] in (with_it, without)
        if name != "memory":
            assert FIELDS[name]["default"] == USUAL[name]
            assert {with_it, without, "try"} <= set(FIELDS[name]["words"])


@pytest.mark.parametrize("name", ["say_once", "shape", "compact"])
@pytest.mark.parametrize("treated", [True, False])
def test_the_helper_throws_the_coin_before_the_first_request(tmp_path: Path, name: str, treated: bool):
    configure(tmp_path, **{name: "try"})
    fix(tmp_path, name, [treated])
    mine = site(tmp_path)
    assert mine.setting(name, "") == USUAL[name]
    trials.throw(mine, (name,), lambda: True)
    assert mine.setting(name, "") == ARMS[name][not treated]
    assert site(tmp_path).setting(name, "") == ARMS[name][not treated]


@pytest.mark.parametrize("late", ["asked for late", "compacted before"])
def test_a_session_that_has_sent_a_request_is_not_drawn_any_more(tmp_path: Path, late: str):
    configure(tmp_path, say_once="try")
    fix(tmp_path, "say_once", [False])
    mine = site(tmp_path)
    if late == "compacted before":
        mine.remember(**trials.facts_later(mine))
    trials.throw(mine, ("say_once",), lambda: late == "compacted before")
    assert mine.setting("say_once", "") == USUAL["say_once"]
    assert trials.load(str(tmp_path)).runs == []


def test_a_session_that_began_before_the_trial_and_a_fork_have_what_is_usual(tmp_path: Path):
    configure(tmp_path, hints="try", shape="try")
    fix(tmp_path, "hints", [True])
    fork = Site({"POPKIT_HOME": str(tmp_path)}, "a fork")  # no hook tells of its start
    trials.throw(fork, ("shape",), lambda: True)
    assert (fork.setting("hints", ""), fork.setting("shape", "")) == ("off", "safe")
    assert trials.load(str(tmp_path)).runs == []


def test_trials_at_the_same_time_have_coins_of_their_own(tmp_path: Path):
    configure(tmp_path, hints="try", say_once="try")
    seen = set()
    for number in range(16):
        mine = site(tmp_path, f"s{number}")
        trials.throw(mine, ("say_once",), lambda: True)
        seen.add((mine.setting("hints", ""), mine.setting("say_once", "")))
    assert len(seen) == 4


def test_an_end_is_noted_and_taken_back_when_the_session_goes_on(tmp_path: Path):
    configure(tmp_path, hints="try")
    mine = site(tmp_path)
    trials.note_end(mine, 5.0, spoke=True)
    assert rows(tmp_path)[0][3:] == [5.0, True]
    trials.note_end(mine, None)
    assert rows(tmp_path)[0][3:] == [None, True]


def test_that_enough_sessions_are_over_is_announced_once(tmp_path: Path):
    configure(tmp_path, hints="try")
    fresh = Trials("x", [run_of(2 * PER_ARM - 1)])
    with trials.Changing(str(tmp_path)) as known:
        known.runs = fresh.runs
    assert trials.notice(site(tmp_path)) == ""
    with trials.Changing(str(tmp_path)) as known:
        known.runs = [run_of(2 * PER_ARM)]
    assert "popkit try-out" in trials.notice(site(tmp_path))
    assert trials.notice(site(tmp_path)) == ""


# --- the file --------------------------------------------------------------------------------------------------------------------------


def test_the_file_is_private_and_what_it_says_comes_back(tmp_path: Path):
    configure(tmp_path, hints="try")
    for number in range(3):
        site(tmp_path, f"s{number}")
    path = tmp_path / trials.NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text()
    with trials.Changing(str(tmp_path)):
        pass
    assert path.read_text() == before


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"secret": "x", "runs": [{}]}', '{"secret": "x", "runs": [{"name": "no"}]}', "\0"])
def test_a_file_that_is_not_as_it_was_written_fails_no_session_and_is_left_alone(tmp_path: Path, content: str):
    configure(tmp_path, hints="try")
    (tmp_path / trials.NAME).write_text(content)
    mine = site(tmp_path)
    assert mine.setting("hints", "") == "off"
    assert (tmp_path / trials.NAME).read_text() == content
    assert "trials Corrupt" in (tmp_path / "hooks.log").read_text()
    with pytest.raises(trials.Corrupt, match="not as it was written"):
        trials.load(str(tmp_path))
