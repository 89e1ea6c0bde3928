"""Which results a clear takes by lifetime (profile `spec`): what has expired and is past its grace; by force what the user names; never
what is pinned. What `auto` takes is in test_weighing.py."""

from __future__ import annotations

import pytest
from hooks.utils.policy.selection import Asked, select
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.utils.policy import events, selection
from hooks.utils.policy.tiers import TIERS
from tests.policy.scenario import Scenario

LONG = "one line of many words that fill a context\n" * 40


def ids(results: list) -> list[str]:
    return [result.id for result in results]


def going(session: Scenario, **asked) -> list[str]:
    return ids(select(session.state, session.rules, Asked(**asked)).going)


def early(session: Scenario, **asked) -> list[str]:
    return ids(select(session.state, session.rules, Asked(**asked)).early)


def edited(quiet: int) -> Scenario:
    """A read whose file was edited in a later turn, so many calls ago."""
    session = Scenario(profile="spec")
    session.read("a.py", text=LONG)
    session.new_turn()
    session.edit("a.py")
    session.nothing(quiet - 1)
    return session


def test_unasked_nothing_that_lives_goes():
    session = Scenario(profile="spec")
    session.read("a.py", text=LONG)
    session.bash("npm test", LONG)
    session.nothing(60)
    assert going(session) == going(session, now=True) == []


def test_what_a_newer_run_ended_goes_at_once():
    session = Scenario(profile="spec")
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    assert going(session) == ["T1"]


def test_what_came_again_word_for_word_goes_at_once():
    session = Scenario(profile="spec")
    session.call("mcp__a__b", {"x": 1}, LONG)
    session.call("mcp__a__b", {"x": 2}, LONG)
    assert going(session) == ["T1"]


def test_a_read_that_was_edited_goes_twenty_calls_after_its_last_use():
    session = edited(19)
    assert (going(session), early(session)) == ([], ["T1"])
    session.nothing()
    assert (going(session), early(session)) == (["T1"], [])


def test_grace_counts_from_the_last_use():
    session = Scenario(profile="spec")
    session.read("a.py", text=LONG)
    session.nothing(30)
    session.read("a.py", 10, 10)
    session.new_turn()
    session.edit("a.py")
    assert (going(session), early(session)) == ([], ["T1"])
    session.nothing(18)
    assert (going(session), early(session)) == ([], ["T1"])
    session.nothing()
    assert (going(session), early(session)) == (["T1"], [])


@pytest.mark.parametrize(("kind", "calls"), [("read", 3), ("search", 4), ("run", 5), ("other", 6)])
def test_the_grace_of_each_kind_is_configured(kind, calls):
    session = Scenario({"grace_calls": {"read": 3, "search": 4, "run": 5, "ack": 0, "other": 6}}, "spec")
    acts = {
        "read": lambda: session.read("a.py", text=LONG),
        "search": lambda: session.grep("x", text=LONG),
        "run": lambda: session.bash("npm test", LONG),
        "other": lambda: session.call("mcp__a__b", {}, LONG),
    }
    acts[kind]()
    session.clear("T1")
    session.nothing(calls - 1)
    assert (going(session), early(session)) == ([], ["T1"])
    session.nothing()
    assert (going(session), early(session)) == (["T1"], [])


def test_now_overrides_the_grace_and_nothing_else():
    session = edited(1)
    session.grep("x", text=LONG)
    assert going(session) == []
    assert going(session, now=True) == ["T1"]


def test_a_path_takes_what_has_expired_of_it():
    session = edited(40)
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    session.read("b.py", text=LONG + "b")
    assert going(session, pattern="*.py") == ["T1"]
    assert going(session, pattern="b.py") == []
    assert set(going(session)) == {"T1", "T42"}


def test_force_takes_live_results_and_needs_no_grace():
    session = edited(1)
    session.read("b.py", text=LONG + "b")
    session.bash("npm test", LONG)
    assert going(session, tier="medium") == ["T1", "T3"]
    assert going(session, ids=("T3", "T4")) == ["T3", "T4"]


def test_what_is_preserved_goes_only_when_it_is_named():
    session = Scenario(profile="spec")
    session.read_fails("missing.py")
    session.state.live["T1"].tokens = 900
    session.nothing(60)
    assert going(session) == going(session, now=True) == []
    assert going(session, tier="preserved") == going(session, ids=("T1",)) == ["T1"]


def test_what_is_pinned_never_goes_and_is_told_of():
    session = Scenario(profile="spec")
    session.read("a.py", text=LONG)
    session.pin("T1")
    for asked in (Asked(), Asked(now=True), Asked(tier="medium"), Asked(ids=("T1",)), Asked(pattern="a.py")):
        chosen = select(session.state, session.rules, asked)
        assert chosen.going == []
        assert ids(chosen.pinned) == (["T1"] if asked.forces or asked.pattern else [])


def test_what_was_restored_is_held_like_a_pinned_one():
    session = edited(40)
    session.observe(events.Cleared({"T1": "abcd2345"}))
    session.observe(events.Restored("T1", True, session.at))
    assert going(session, now=True) == going(session, tier="medium") == []


def test_what_a_placeholder_stands_for_is_out_already():
    session = edited(40)
    session.observe(events.Cleared({"T1": "abcd2345"}))
    chosen = select(session.state, session.rules, Asked(ids=("T1",)))
    assert chosen.going == chosen.small == chosen.pinned == []


def test_what_saves_hardly_more_than_its_placeholder_stays_unless_it_is_forced():
    session = Scenario(profile="spec")
    session.bash("npm test", "x" * 110)
    session.bash("npm test", "y" * 110)
    result = session.state.expired["T1"]
    assert 0 < selection.gain(result, 1.0, session.rules) < selection.LEAST_GAIN
    chosen = select(session.state, session.rules, Asked(now=True))
    assert (chosen.going, ids(chosen.small)) == ([], ["T1"])
    assert going(session, ids=("T1",)) == ["T1"]
    result.tokens = 12
    assert going(session, ids=("T1",)) == []


def test_tokens_are_counted_as_the_session_measures_them():
    session = Scenario(profile="spec")
    session.bash("npm test", "x" * 110)
    session.bash("npm test", "y" * 110)
    session.state.calibration = 1.7
    assert going(session) == ["T1"]


@pytest.mark.parametrize(
    ("trigger", "said"),
    [("edited", "edited later"), ("superseded", "a newer one follows"), ("ttl_calls", "old"), ("of tomorrow", "expired")],
)
def test_why_a_result_went_is_said_in_a_few_words(trigger, said):
    session = edited(1)
    session.state.expired["T1"].ended[0] = trigger
    assert selection.why(session.state.expired["T1"]) == said


def test_a_live_result_goes_by_the_user():
    session = Scenario(profile="spec")
    session.read("a.py")
    assert selection.why(session.state.live["T1"]) == "by the user"


def test_a_live_result_that_nobody_named_goes_because_it_is_unused():
    session = Scenario(profile="spec")
    session.read("a.py")
    session.nothing(22)
    assert selection.why(session.state.live["T1"], session.quiet_age("T1")) == "unused for 22 calls"


def test_an_expired_result_goes_for_what_ended_it_however_long_it_is_unused():
    session = edited(22)
    assert selection.why(session.state.expired["T1"], session.quiet_age("T1")) == "edited later"


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["read", "grep", "test", "fail", "ask", "other", "edit", "turn", "pin", "unpin", "clear", "cleared", "wait", "restored"]
        ),
        st.integers(0, 2),
        st.sampled_from(["", "short", LONG]),
    ),
    max_size=30,
)
ASKED = st.one_of(
    st.builds(Asked, now=st.booleans()),
    st.builds(Asked, tier=st.sampled_from(TIERS), now=st.booleans()),
    st.builds(Asked, ids=st.lists(st.sampled_from([f"T{n}" for n in range(1, 31)]), min_size=1).map(tuple)),
    st.builds(Asked, pattern=st.sampled_from(["*.py", "0.py", "npm*", "**", "none"]), now=st.booleans()),
)


def played(acts: list, profile: str = "spec") -> Scenario:
    session = Scenario(profile=profile)
    for act, number, said in acts:
        _play(session, act, number, f"{session.steps} {said}")
    return session


def _play(session: Scenario, act: str, number: int, text: str) -> None:
    known = f"T{max(1, session.steps - number)}"
    acts = {
        "read": lambda: session.read(f"{number}.py", text=text),
        "grep": lambda: session.grep(f"x{number}", text=text),
        "test": lambda: session.bash("npm test", text),
        "fail": lambda: session.bash_fails(f"mkdir {number}", text),
        "ask": lambda: session.call("AskUserQuestion", {}, text),
        "other": lambda: session.call("mcp__a__b", {"n": number}, text),
        "edit": lambda: session.edit(f"{number}.py"),
        "turn": session.new_turn,
        "pin": lambda: session.pin(known),
        "unpin": lambda: session.unpin(known),
        "clear": lambda: session.clear(known),
        "cleared": lambda: session.observe(events.Cleared({known: "abcd2345"})),
        "wait": lambda: session.wait(200),
        "restored": lambda: session.observe(events.Restored(known, True, session.at)),
    }
    acts[act]()


@given(ACTS, ASKED, st.sampled_from([0.6, 1.0, 1.7]))
@settings(deadline=None, max_examples=200)
def test_the_laws_of_a_selection(acts, asked, calibration):
    session = played(acts)
    state = session.state
    state.calibration = calibration
    chosen = select(state, session.rules, asked)
    groups = (chosen.going, chosen.early, chosen.small, chosen.pinned)
    everything = [result for group in groups for result in group]
    assert len(set(ids(everything))) == len(everything), "each result has one fate"
    assert not any(result.pinned or result.cleared for result in chosen.going)
    assert all(result.pinned for result in chosen.pinned)
    assert all(selection.gain(result, calibration, session.rules) > 0 for result in chosen.going)
    assert all(group == sorted(group, key=lambda result: result.index) for group in groups)
    if not asked.forces:
        assert {*ids(chosen.going), *ids(chosen.early)} <= set(state.expired)
        assert not any(result.tier == "preserved" and result.ended[0] != "manual" for result in chosen.going if result.kind != "tasks")
        assert asked.now is False or chosen.early == []
    else:
        assert chosen.early == []
    if asked.tier and not asked.ids:
        standing = [result for result in (*state.live.values(), *state.expired.values()) if not result.cleared]
        assert {*ids(everything)} == {result.id for result in standing if result.tier == asked.tier}
    if asked.ids:
        assert set(ids(everything)) <= set(asked.ids)


@given(ACTS)
@settings(deadline=None, max_examples=60)
def test_whoever_waits_loses_nothing_and_now_takes_all_that_waits(acts):
    session = played(acts)
    plain, now = (select(session.state, session.rules, Asked(now=flag)) for flag in (False, True))
    assert {*ids(plain.going), *ids(plain.early)} == set(ids(now.going))
    assert ids(plain.small) == ids(now.small)
