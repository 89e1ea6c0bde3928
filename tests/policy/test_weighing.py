"""Which results a clear takes under `auto`: what is worth more gone than kept, live or expired, and of expired ones all with `now`."""

from __future__ import annotations

import pytest
from hooks.utils.policy.selection import Asked, Selection, select, weigh
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import auto, globs, selection
from hooks.utils.policy.need import NeedModel
from hooks.utils.state import learnt
from tests.policy.scenario import Scenario
from tests.policy.test_selection import ACTS, LONG, ids, played

LARGE = LONG * 8
SURE, NEVER = NeedModel({"bias": 30.0}), NeedModel({"bias": -30.0})


def stands_at(session: Scenario, before: int = 20_000) -> dict[str, int]:
    """id -> tokens of the prompt before each result, one behind the other."""
    found = {}
    for result in sorted([*session.state.live.values(), *session.state.expired.values()], key=lambda result: result.index):
        found[result.id] = before
        before += 100 + round(result.tokens * session.state.calibration)
    return found


def situation(session: Scenario, cold: bool = True, behind: int = 0, ttl_s: int = 300) -> auto.Situation:
    """A prompt that ends `behind` tokens after the last result, all of it sent."""
    prompt = max(stands_at(session).values(), default=20_000) + behind + 2_000
    return auto.Situation(prompt, prompt, cold, ttl_s)


def weighed(session: Scenario, model: NeedModel = NEVER, cold: bool = True, behind: int = 0, **asked) -> tuple[Selection, bool]:
    return weigh(session.state, session.rules, Asked(**asked), situation(session, cold, behind), stands_at(session), model)


def going(session: Scenario, model: NeedModel = NEVER, **how) -> list[str]:
    return ids(weighed(session, model, **how)[0].going)


def quiet(calls: int = 60) -> Scenario:
    """Of long ago: a run that has expired, a read and a newer run that live."""
    session = Scenario()
    session.bash("npm test", LARGE)
    session.read("a.py", text=LARGE)
    session.bash("npm test", LARGE + "again")
    session.nothing(calls)
    return session


def test_what_lives_goes_too_when_it_is_hardly_ever_needed():
    session = quiet()
    assert set(session.expired) >= {"T1"}
    assert {"T2", "T3"} <= set(session.live)
    assert going(session) == ["T1", "T2", "T3"]


def test_what_is_surely_needed_stays_even_if_it_has_expired_and_is_held_back_for_now():
    chosen, pays = weighed(quiet(), SURE)
    assert (chosen.going, pays) == ([], False)
    assert ids(chosen.early) == ["T1"], "what lives is not held back: it is simply not for the taking"


def test_by_the_shipped_model_what_was_long_unused_goes_and_what_was_used_lately_stays():
    session = quiet()
    session.read("b.py", text=LARGE + "b")
    assert going(session, learnt.shipped().model) == ["T1", "T2", "T3"]
    long_ago, lately = (learnt.shipped().model.probability(session.result(id), session.state) for id in ("T2", "T64"))
    assert lately > 1.5 * long_ago


def test_now_takes_what_has_expired_however_likely_it_is_needed_and_nothing_that_lives():
    assert going(quiet(), SURE, now=True) == ["T1"]


def test_a_warm_cache_that_makes_it_dear_does_not_pay_and_shows_what_would_go():
    session = quiet()
    chosen, pays = weighed(session, cold=False, behind=400_000)
    assert (ids(chosen.going), pays) == (["T1", "T2", "T3"], False)
    assert weighed(session, cold=False)[1] is True


def test_where_a_warm_cache_pays_from_a_place_on_what_stands_before_it_is_held_back():
    session = quiet()
    place = {**stands_at(session), "T1": 0}
    where = auto.Situation(150_000, 150_000, False, 300)
    place["T2"], place["T3"] = 138_000, 143_000
    chosen, pays = weigh(session.state, session.rules, Asked(), where, place, NEVER)
    assert (ids(chosen.going), ids(chosen.early), pays) == (["T2", "T3"], ["T1"], True)
    assert ids(weigh(session.state, session.rules, Asked(now=True), where, place, NEVER)[0].going) == ["T1", "T2", "T3"]


def test_what_is_preserved_goes_unasked_never_while_it_lives():
    session = Scenario()
    session.read_fails("missing.py")
    session.call("AskUserQuestion", {}, LONG)
    for id in ("T1", "T2"):
        session.state.live[id].tokens = 5_000
    session.nothing(60)
    for asked in ({}, {"now": True}, {"pattern": "**"}):
        chosen, _ = weighed(session, **asked)
        assert not {"T1", "T2"} & {*ids(chosen.going), *ids(chosen.early), *ids(chosen.small)}
        assert not {"T1", "T2"} & set(chosen.needs)


@pytest.mark.parametrize("now", [False, True])
def test_what_the_model_has_not_seen_yet_stays(now: bool):
    session = quiet()
    seen = {id: tokens for id, tokens in stands_at(session).items() if id not in ("T1", "T2")}
    chosen, _ = weigh(session.state, session.rules, Asked(now=now), situation(session), seen, NEVER)
    assert (ids(chosen.going), ids(chosen.early)) == (["T3"], ["T1"])


def test_what_the_last_calls_used_stays_and_goes_with_now_if_it_has_expired():
    session = quiet(auto.LEAST_QUIET - 1)
    assert going(session) == ["T1", "T2"]
    session = Scenario()
    session.read("a.py", text=LARGE)
    session.new_turn()
    session.edit("a.py")
    assert going(session) == []
    assert going(session, now=True) == ["T1"]


def test_what_a_newer_one_follows_goes_although_the_last_calls_saw_it():
    session = Scenario()
    session.bash("npm test", LARGE)
    session.bash("npm test", LARGE + "again")
    assert going(session) == ["T1"]


def test_what_is_more_likely_needed_than_not_stays():
    session = quiet()
    assert going(session, NeedModel({"bias": 0.1})) == []
    assert weighed(session, NeedModel({"bias": 0.1}), now=True)[0].needs["T2"] > 0.5


def test_what_is_pinned_is_told_of_where_it_would_be_missed():
    session = quiet()
    session.pin("T2")
    assert ids(weighed(session)[0].pinned) == []
    chosen, _ = weighed(session, pattern="a.py")
    assert (chosen.going, ids(chosen.pinned)) == ([], ["T2"])


def test_a_path_takes_what_is_worth_it_of_it_and_tells_of_nothing_else():
    session = quiet()
    session.read("b.py", text=LARGE + "b")
    session.nothing(40)
    assert going(session, pattern="*.py") == ["T2", "T64"]
    assert going(session, pattern="b.py") == ["T64"]
    chosen, pays = weighed(session, pattern="c.py")
    assert (chosen.going, chosen.early, chosen.small, chosen.needs, pays) == ([], [], [], {}, False)


def test_with_a_path_the_rewrite_is_weighed_against_what_goes_of_it_alone():
    session = quiet(10)
    assert weighed(session, cold=False, behind=12_000)[1] is True, "together they are worth it"
    assert weighed(session, cold=False, behind=12_000, pattern="a.py")[1] is False


def test_what_is_named_by_its_id_goes_whatever_its_worth():
    session = quiet(1)
    forced = select(session.state, session.rules, Asked(ids=("T2", "T3")))
    assert ids(forced.going) == ["T2", "T3"]
    assert forced.needs == {}, "it was not weighed"
    assert going(session, SURE) == []


def test_an_outline_is_counted_as_long_as_it_may_be():
    session = quiet()
    result = session.result("T2")
    spec = Scenario(profile="spec").rules
    assert selection.gain(result, 1.0, spec) - selection.gain(result, 1.0, session.rules) == int(result.tokens * 0.1)
    result.tokens = 299
    assert selection.gain(result, 1.0, spec) == selection.gain(result, 1.0, session.rules), "so short a text has none"


# --- laws -------------------------------------------------------------------------------------------------------------------------

MODELS = st.builds(
    lambda bias, quiet, size: NeedModel({"bias": bias, "quiet": quiet, "size": size}),
    st.sampled_from([-8.0, -4.0, -2.0, 0.0, 3.0]),
    st.sampled_from([-2.0, -0.5, 0.0, 0.5]),
    st.sampled_from([-0.5, 0.0, 0.5]),
)
PATTERNS = st.sampled_from(["", "", "", "*.py", "0.py", "npm*", "**", "none"])
WHERE = st.fixed_dictionaries({
    "behind": st.sampled_from([0, 3_000, 30_000, 300_000]),
    "ttl_s": st.sampled_from([300, 3_600]),
})  # fmt: skip


def is_of(result, pattern: str) -> bool:
    return any(globs.matches(pattern, subject) for subject in result.subjects)


class Weighing:
    """One session weighed in every way that a law compares; of its last calls the model has not seen so many."""

    def __init__(self, acts: list, quiet: int, model: NeedModel, calibration: float, where: dict, pattern: str, unseen: int):
        self.session = played(acts, "auto")
        self.session.nothing(quiet)
        self.session.state.calibration = calibration
        self.model, self.where, self.pattern = model, where, pattern
        last = self.session.state.index - unseen
        self.place = {id: tokens for id, tokens in stands_at(self.session).items() if self.session.result(id).index <= last}

    def __call__(self, cold: bool, now: bool = False) -> tuple[Selection, bool]:
        where = situation(self.session, cold, **self.where)
        return weigh(self.session.state, self.session.rules, Asked(pattern=self.pattern, now=now), where, self.place, self.model)

    def candidates(self, chosen: Selection) -> list[auto.Candidate]:
        """What was weighed, from what the selection tells of it."""
        state, rules = self.session.state, self.session.rules
        results = sorted([self.session.result(id) for id in chosen.needs], key=lambda result: result.index)
        tokens = [round(result.tokens * state.calibration) for result in results]
        stays = [selection.placeholder_tokens(result, state.calibration, rules) for result in results]
        return [
            auto.Candidate(result, have, left, self.place[result.id], chosen.needs[result.id])
            for result, have, left in zip(results, tokens, stays)
        ]


weighings = st.builds(
    Weighing,
    ACTS,
    st.sampled_from([0, 2, auto.LEAST_QUIET, 30]),
    MODELS,
    st.sampled_from([0.6, 1.0, 1.7]),
    WHERE,
    PATTERNS,
    st.sampled_from([0, 0, 1, 9]),
)


@given(weighings, st.booleans(), st.booleans())
def test_the_laws_of_what_goes(weighing: Weighing, cold: bool, now: bool):
    chosen, _ = weighing(cold, now)
    state, rules = weighing.session.state, weighing.session.rules
    groups = (chosen.going, chosen.early, chosen.small, chosen.pinned)
    everything = [result for group in groups for result in group]
    assert len(set(ids(everything))) == len(everything), "each result has one fate"
    assert all(group == sorted(group, key=lambda result: result.index) for group in groups), "in the order of completion"
    assert all(result.id in weighing.place for result in chosen.going), "nothing that the model has not seen"
    assert all(auto.may_go(result, state) or (now and result.ended) for result in chosen.going)
    assert all(auto.may_go(weighing.session.result(id), state) and id in weighing.place for id in chosen.needs)
    assert not any(result.pinned or result.cleared or (result.tier == "preserved" and not result.ended) for result in chosen.going)
    assert all(selection.gain(result, state.calibration, rules) >= selection.LEAST_GAIN for result in chosen.going)
    assert all(selection.gain(result, state.calibration, rules) < selection.LEAST_GAIN for result in chosen.small)
    assert all(result.pinned for result in chosen.pinned)
    assert all(result.ended for result in (*chosen.early, *chosen.small))
    assert now or set(ids(chosen.going)) <= set(chosen.needs)
    if weighing.pattern:
        assert all(is_of(result, weighing.pattern) for result in everything)
        assert all(is_of(weighing.session.result(id), weighing.pattern) for id in chosen.needs)


@given(weighings, st.booleans())
def test_whatever_was_weighed_has_a_chance_and_it_pays_exactly_when_something_is_worth_clearing_now(weighing: Weighing, cold: bool):
    chosen, pays = weighing(cold)
    assert all(0.0 <= need <= 1.0 for need in chosen.needs.values())
    candidates, where = weighing.candidates(chosen), situation(weighing.session, cold, **weighing.where)
    worth = auto.choose(candidates, where)
    assert pays is bool(worth)
    if pays:
        assert ids(chosen.going) == ids([candidate.result for candidate in worth])
    else:
        assert ids(chosen.going) == ids([candidate.result for candidate in auto.worth_more_gone(candidates, where)])


@given(weighings)
def test_a_cold_cache_takes_at_least_what_a_warm_one_takes(weighing: Weighing):
    cold, warm = weighing(True)[0], weighing(False)[0]
    assert set(ids(warm.going)) <= set(ids(cold.going))
    assert cold.needs == warm.needs


@given(weighings, st.booleans())
def test_now_takes_all_that_has_expired_beside_what_goes_anyway(weighing: Weighing, cold: bool):
    (plain, pays), (now, pays_now) = weighing(cold), weighing(cold, now=True)
    assert (pays, plain.needs) == (pays_now, now.needs)
    waiting = {*ids(plain.going), *ids(plain.early)}
    assert set(ids(now.going)) == waiting & set(weighing.place)
    assert set(ids(now.early)) == waiting - set(weighing.place), "what the model has not seen"
    assert (ids(plain.small), ids(plain.pinned)) == (ids(now.small), ids(now.pinned))
    standing = [result for result in weighing.session.state.expired.values() if not result.cleared]
    meant = [result for result in standing if not weighing.pattern or is_of(result, weighing.pattern)]
    assert set(ids(meant)) <= {*ids(now.going), *ids(now.early), *ids(now.small), *ids(now.pinned)}


@given(weighings)
def test_weighing_changes_nothing(weighing: Weighing):
    before = [(result.id, result.to_row()) for result in weighing.session.state.live.values()], weighing.session.expired
    weighing(True)
    weighing(False, now=True)
    assert ([(result.id, result.to_row()) for result in weighing.session.state.live.values()], weighing.session.expired) == before


@pytest.mark.parametrize("cold", [True, False])
def test_an_empty_context_has_nothing_to_weigh(cold: bool):
    chosen, pays = weigh(Scenario().state, Scenario().rules, Asked(now=True), auto.Situation(0, 0, cold, 300), {}, NEVER)
    assert (chosen.going, chosen.early, chosen.small, chosen.pinned, chosen.needs, pays) == ([], [], [], [], {}, False)
