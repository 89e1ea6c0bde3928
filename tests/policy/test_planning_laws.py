"""Laws of a plan, whatever was played: who goes, why, and what it says of everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import events, globs, planning, worth
from popkit_retention.core.policy.economics import THINKING_AGAIN
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import gain
from popkit_retention.core.policy.plans import CLEAR, HOLD, KEEP, REASONS, Plan, Selection
from popkit_retention.core.policy.ruleset import TIERS
from tests.policy.conversing import HISTORIES, LARGE, LONG, TUNED, Conversing, ids, played
from tests.policy.priced import LIFETIMES, READS, prices

ASKED = st.one_of(
    st.builds(Selection, now=st.booleans()),
    st.builds(Selection, tier=st.sampled_from(TIERS), now=st.booleans()),
    st.builds(Selection, ids=st.lists(st.sampled_from([f"T{n}" for n in range(1, 31)]), min_size=1).map(tuple)),
    st.builds(Selection, pattern=st.sampled_from(["*.py", "0.py", "npm*", "**", "none"]), now=st.booleans()),
)
MODELS = st.builds(
    lambda bias, quiet, size: NeedModel({"bias": bias, "quiet": quiet, "size": size}),
    st.sampled_from([-8.0, -4.0, -2.0, 0.0, 3.0]),
    st.sampled_from([-2.0, -0.5, 0.0, 0.5]),
    st.sampled_from([-0.5, 0.0, 0.5]),
)
PRICES = st.builds(prices, st.sampled_from(LIFETIMES), st.sampled_from(READS), st.booleans())
WEIGHED = {"worth", "waits", "likely", "worth_keeping", "thinking"}


class Planning:
    """One session planned in every way that a law compares; the model has not seen the results of its last `unseen` events."""

    def __init__(self, history: list, quiet: int, unseen: int, calibration: float, profile: str, model: NeedModel, priced):
        self.session = played(history, profile, unseen)
        if not unseen:
            self.session.nothing(quiet)
        self.session.state.calibration = calibration
        self.model, self.priced = model, priced

    @property
    def weighs(self) -> bool:
        return self.session.conversation.rules.weighs

    def __call__(self, asked: Selection, cold: bool = True, priced=None) -> Plan:
        session = self.session
        return planning.plan(session.conversation, asked, session.at, self.model, priced or self.priced, cold, TUNED)


plannings = st.builds(
    Planning, HISTORIES, st.sampled_from([0, 2, worth.LEAST_QUIET, 30]), st.sampled_from([0, 0, 1, 4]), st.sampled_from([0.6, 1.0, 1.7]),
    st.sampled_from(["spec", "auto", "auto"]), MODELS, PRICES,
)  # fmt: skip
paths = st.builds(Selection, pattern=st.sampled_from(["", "", "", "*.py", "0.py", "npm*", "**", "none"]))


@given(plannings, ASKED, st.booleans())
def test_every_result_in_the_context_has_one_decision_with_its_reason(planned: Planning, asked: Selection, cold: bool):
    plan = planned(asked, cold)
    state = planned.session.state
    standing = [result for result in (*state.live.values(), *state.expired.values()) if not result.cleared]
    assert ids(plan.decisions) == [result.id for result in sorted(standing, key=lambda result: result.index)]
    assert sorted(ids(plan.having(CLEAR)) + ids(plan.having(HOLD)) + ids(plan.having(KEEP))) == sorted(ids(plan.decisions))
    for decision in plan.decisions:
        assert decision.reason in REASONS
        assert (decision.action == CLEAR) is (decision.reason in ("worth", "expired", "asked"))
        assert (decision.action == HOLD) is (decision.reason in ("waits", "grace"))
        assert (decision.need is None) is (decision.value is None)
        weighed = planned.weighs and not asked.forces
        if decision.reason in WEIGHED:
            assert weighed
            assert 0.0 <= decision.need <= 1.0
        elif decision.reason != "asked":
            assert decision.need is None
        assert decision.tokens == round(decision.result.tokens * state.calibration)
        assert decision.gain == gain(decision.result, state.calibration, planned.session.conversation.rules)


@given(plannings, ASKED, st.booleans())
def test_nothing_goes_that_must_stay(planned: Planning, asked: Selection, cold: bool):
    plan = planned(asked, cold)
    for decision in plan.having(CLEAR, HOLD):
        result = decision.result
        assert not result.pinned
        assert decision.gain >= (1 if asked.forces else planning.LEAST_GAIN)
        assert decision.placeholder <= result.tokens * (0.75 if asked.forces else 0.5), "hardly shorter"
        if asked.ids:
            assert result.id in asked.ids
        elif asked.tier:
            assert result.tier == asked.tier
        else:
            assert result.ended or result.tier != "preserved"
            assert result.ended or planned.weighs
            assert not planned.weighs or planned.session.conversation.is_seen(result.id)
            assert not asked.pattern or any(globs.matches(asked.pattern, subject) for subject in result.subjects)
    for decision in plan.decisions:
        if decision.result.pinned:
            assert decision.reason == "pinned", "whoever asks"
        elif decision.result.tier == "preserved" and not decision.result.ended and not asked.forces and not asked.pattern:
            assert decision.reason in ("preserved", "small", "unseen")
    for decision in plan.having(CLEAR):
        if planned.weighs and not asked.forces and not asked.now:
            assert cold
            assert decision.value > 0
            assert decision.need <= worth.MOST_NEED
            assert not worth.is_in_use(decision.result, planned.session.state.quiet_age(decision.result))


@given(plannings, ASKED)
def test_a_forced_result_goes_whatever_its_worth_unless_it_is_pinned_or_small(planned: Planning, asked: Selection):
    if asked.forces:
        plan = planned(asked)
        meant = [d for d in plan.decisions if (d.result.id in asked.ids if asked.ids else d.result.tier == asked.tier)]
        assert ids(plan.having(CLEAR)) == ids([d for d in meant if not d.result.pinned and d.reason != "small"])
        assert plan.having(HOLD) == []
        assert ids(planned(asked, cold=False).having(CLEAR)) == ids(plan.having(CLEAR))


@given(plannings, paths, st.booleans())
def test_with_now_goes_what_waits_and_what_has_expired_beside_what_goes_anyway(planned: Planning, asked: Selection, cold: bool):
    plain, now = planned(asked, cold), planned(Selection(pattern=asked.pattern, now=True), cold)
    assert now.having(HOLD) == []
    waiting = {*ids(plain.having(CLEAR)), *ids(plain.having(HOLD))}
    more = set(ids(now.having(CLEAR))) - waiting
    assert waiting <= set(ids(now.having(CLEAR)))
    assert all(planned.session.result(id).ended for id in more)
    assert planned.weighs or not more
    left = [d for d in now.having(KEEP) if d.result.ended]
    assert {d.reason for d in left} <= {"pinned", "small", "unseen", "last_word", "live"}, "of what has expired nothing else stays"
    assert [(d.need, d.value) for d in plain.decisions] == [(d.need, d.value) for d in now.decisions]


@given(plannings, paths)
def test_what_waits_for_a_cold_cache_is_just_what_a_cold_one_takes(planned: Planning, asked: Selection):
    cold, warm = planned(asked, True), planned(asked, False)
    assert [(d.need, d.value) for d in cold.decisions] == [(d.need, d.value) for d in warm.decisions]
    if planned.weighs:
        assert warm.having(CLEAR) == cold.having(HOLD) == []
        assert ids(warm.having(HOLD)) == ids(cold.having(CLEAR))
        assert (warm.pays, cold.pays) == (False, bool(cold.having(CLEAR)))
    else:
        assert [(d.action, d.reason) for d in cold.decisions] == [(d.action, d.reason) for d in warm.decisions]


@given(plannings, paths)
def test_free_thinking_lets_no_less_go_and_bound_thinking_only_what_is_worth_more(planned: Planning, asked: Selection):
    free, bound = (planned(asked, True, prices(planned.priced.ttl_s, planned.priced.read, flag)) for flag in (False, True))
    assert set(ids(bound.having(CLEAR))) <= set(ids(free.having(CLEAR)))
    if planned.weighs:
        chosen = ids(bound.having(CLEAR))
        assert ids(free.having(CLEAR))[len(free.having(CLEAR)) - len(chosen) :] == chosen, "from one place on"
        assert sum(d.value for d in bound.having(CLEAR)) >= 5.0 * THINKING_AGAIN * bound.sum.thinking - 0.01
        assert {d.reason for d in bound.decisions if d.result.id not in chosen and d.result.id in ids(free.having(CLEAR))} <= {"thinking"}


@given(plannings, ASKED, st.booleans())
def test_the_sum_is_that_of_what_goes(planned: Planning, asked: Selection, cold: bool):
    plan = planned(asked, cold)
    going = {result.id for result in plan.going}
    assert plan.sum.leaves == sum(d.gain for d in plan.decisions if d.result.id in going)
    assert plan.sum.warm is not cold
    assert plan.having(CLEAR) or not (plan.pays and planned.weighs and not asked.forces)
    if not going:
        assert (plan.pays, plan.sum.pays_after) == (False, None)


@given(plannings, ASKED, st.booleans())
def test_a_plan_follows_from_what_it_is_given_and_changes_nothing(planned: Planning, asked: Selection, cold: bool):
    def facts(plan: Plan) -> list:
        return [plan.pays, plan.likely_requests, plan.sum.to_json(), *((d.result.id, d.to_json()) for d in plan.decisions)]

    conversation = planned.session.conversation
    before = conversation.state.to_json(), dict(conversation.places), list(conversation.requests), set(conversation.unseen)
    first = facts(planned(asked, cold))
    planned(Selection(now=True), not cold)
    assert facts(planned(asked, cold)) == first
    assert (conversation.state.to_json(), conversation.places, conversation.requests, conversation.unseen) == before


@pytest.mark.parametrize("profile", ["spec", "auto"])
@pytest.mark.parametrize("cold", [True, False])
def test_an_empty_context_has_nothing_to_plan(cold: bool, profile: str):
    plan = Conversing(profile=profile).plan(cold=cold, now=True)
    assert (plan.decisions, plan.going, plan.pays, plan.sum.leaves) == ([], [], False, 0)


@given(plannings, st.booleans())
def test_a_clear_in_place_leaves_nothing_that_one_right_after_it_would_take(planned: Planning, now: bool):
    session, conversation = planned.session, planned.session.conversation
    done = planning.plan(conversation, Selection(now=now), session.at, planned.model, planned.priced, True, TUNED, True)
    if not planned.weighs or not done.pays:
        return
    stands = conversation.prompt - done.sum.leaves - (conversation.thinking if planned.priced.bound else 0)
    session.observe(events.ManualClear([result.id for result in done.going], session.at, {}))
    session.observe(events.Cleared({result.id: "abcd2345" for result in done.going}))
    session.observe(events.Compacted(session.at, [*session.state.live, *session.state.expired]))
    conversation.carry(stands - conversation.base)
    again = planning.plan(conversation, Selection(now=now), session.at, planned.model, planned.priced, True, TUNED, True)
    assert again.going == []


def test_results_worth_clearing_only_in_the_shorter_prompt_go_at_once():
    """With them goes what they lean on."""
    session = Conversing()
    session.read("a.py", text=LARGE)
    for number in range(8):
        session.call("mcp__a__b", {"n": number}, f"{number} {LARGE * 4}")
    session.call("mcp__a__c", {}, LONG)
    session.observe(events.Entered("T10", session.state.live["T10"].tokens, ("T1",), "abcd2345", 100, (), session.at, 25))
    session.nothing(30)
    model = NeedModel({"bias": 0.0, "size": 0.0})
    for bias in range(80, 0, -1):
        model = NeedModel({"bias": -bias / 20})
        alone = ids(session.plan(model).having(CLEAR))
        if len(alone) >= 8 and "T10" not in alone:
            break
    else:
        pytest.fail("no chance of need tells them apart")
    assert "T1" not in alone
    together = planning.plan(session.conversation, Selection(), session.at, model, prices(), True, TUNED, True)
    assert {"T1", "T10"} <= {result.id for result in together.going}
