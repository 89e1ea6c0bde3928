"""What leaves between turns beside what is worth clearing: what is needed least, down to a goal; and that nothing is left to take then."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy import events, least_needed, planning
from popkit_retention.core.policy.economics import THINKING_AGAIN
from popkit_retention.core.policy.least_needed import GROWN, Goal, LengthRule, Room
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.plans import CLEAR, Plan, Selection
from popkit_retention.core.policy.ruleset import COMPACT_LEAST_TOKENS
from popkit_retention.core.policy.worth import LEAST_QUIET
from tests.examples import examples
from tests.policy.compactable import HISTORIES, Talk, reads, talk_of, talked
from tests.policy.conversing import BASE, LARGE, NEVER, SURE, TUNED, Conversing, ids, played
from tests.policy.conversing import HISTORIES as PLAYED
from tests.policy.priced import LIFETIMES, READS, prices

WHOLE = Goal(1.0)


def room(
    session: Conversing, read: float = 0.1, ttl_s: float = 300, bound: bool = True, goal: Goal | None = None, cold: bool = True
) -> Room:
    return least_needed.room(session.conversation, session.plan().decisions, prices(ttl_s, read, bound), goal or Goal(), cold)


def plan_of(
    session: Conversing, goal: Goal | None = None, model: NeedModel = NEVER, bound: bool = True, cold: bool = True, **asked
) -> Plan:
    given = (session.conversation, Selection(**asked), session.at, model, prices(bound=bound), cold, TUNED, True)
    return planning.plan(*given, goal)


def quiet(thinking: int = 0, count: int = 20) -> Conversing:
    """Large results of long ago, and so many tokens of thinking behind them."""
    session = Conversing()
    for number in range(count):
        session.read(f"{number}.py", text=f"{number}{LARGE}")
    if thinking:
        session.think(thinking)
    session.nothing(20)
    return session


# --- what leaves, and whether it pays --------------------------------------------------------------------------------------------------


def pays(found: Room) -> bool:
    return found.pays(planning.LEAST_GAIN)


def test_it_pays_where_more_is_saved_than_thinking_again_is_reckoned_at():
    seen = [pays(room(quiet(thinking))) for thinking in (0, 100, 400_000)]
    assert seen == [True, True, False]


def test_where_the_model_does_not_bind_its_thinking_none_is_reckoned():
    found = room(quiet(200_000), bound=False)
    assert (found.cost, found.least) == (0.0, 0.0)
    assert pays(found)


def test_the_bound_is_the_cost_of_thinking_again_over_the_usual_requests_ahead():
    found = room(quiet(4_000))
    assert found.cost == 5.0 * THINKING_AGAIN * 4_000
    assert found.least == pytest.approx(found.cost / (1.25 + 14 * 0.1))


def test_a_result_is_reckoned_to_leave_once_enough_calls_stand_behind_it():
    leaving = []
    for behind in range(LEAST_QUIET + 2):
        session = quiet()
        session.read("newest.py", text=f"newest{LARGE}")
        session.nothing(behind)
        leaving.append(room(session, goal=Goal(0.0)).sum.leaves)
    *before, kept, left, after = leaving
    assert {*before} == {kept}
    assert left == after
    assert left - kept > 0.8 * session.result("T41").tokens


def test_the_goal_bounds_what_is_reckoned_to_leave():
    session = quiet()
    messages = session.conversation.prompt - session.conversation.base
    leaving = [room(session, goal=Goal(share)).sum.leaves for share in (1.0, 0.9, 0.5, 0.0)]
    assert leaving[0] == 0
    assert leaving[1] == pytest.approx(0.1 * messages, abs=1)
    assert leaving == sorted(leaving)
    assert leaving[-1] <= messages - COMPACT_LEAST_TOKENS


def test_what_the_last_compaction_left_stays_until_there_is_more():
    session = quiet()
    messages = session.conversation.prompt - session.conversation.base
    assert room(session, goal=Goal(0.4, messages)).sum.leaves == 0
    assert (Goal(0.4, messages).of(messages), Goal(0.4).of(0)) == (1.0, 1.0), "all of what is no more, or nothing"
    assert room(session, goal=Goal(0.4, messages // 2)).sum.leaves == pytest.approx(messages - GROWN * messages / 2, abs=2)


def test_what_is_pinned_is_not_reckoned_to_leave():
    session = quiet()
    before = room(session, goal=Goal(0.0)).sum.leaves
    for number in range(1, 18):
        session.pin(f"T{number}")
    assert room(session, goal=Goal(0.0)).sum.leaves < before


def test_of_a_conversation_without_results_nothing_leaves():
    session = Conversing()
    session.request()
    assert session.conversation.last.tokens == BASE
    assert plan_of(session, Goal()).is_empty


@given(PLAYED, st.sampled_from(READS), st.sampled_from(LIFETIMES), st.floats(0.0, 1.0), st.floats(0.0, 3.0))
def test_removals_are_of_the_conversation_and_more_caution_never_makes_them_pay(history, read, ttl_s, share, caution):
    session = played(history, "auto")
    found = room(session, read, ttl_s, goal=Goal(share, caution=caution))
    assert 0 <= found.sum.leaves <= max(0, session.conversation.prompt - session.conversation.base)
    assert not found.sum.warm
    more = room(session, read, ttl_s, goal=Goal(share, caution=caution + 1))
    assert pays(found) or not pays(more)


# --- one plan with what is worth clearing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pictures", [(), ("T1", "T2", "T19")], ids=["texts", "and pictures"])
@pytest.mark.parametrize("model", [NeedModel({"bias": -3.0}), SURE], ids=["some worth clearing", "none"])
def test_a_plan_takes_what_is_worth_clearing_and_goes_on_to_the_goal(model: NeedModel, pictures: tuple[str, ...]):
    session = quiet()
    session.conversation.pictures.update(session.result(name).id for name in pictures)
    clear, plan = plan_of(session, None, model), plan_of(session, Goal(0.1), model)
    assert (clear.further, clear.share) == (0, None)
    assert set(ids(plan.having(CLEAR))) >= set(ids(clear.having(CLEAR)))
    cleared = sum(one.gain for one in plan.having(CLEAR))
    assert plan.sum.leaves == max(cleared, room(session, bound=True, goal=Goal(0.1)).sum.leaves)
    assert plan.further == plan.sum.leaves - cleared


def test_where_a_clear_takes_nothing_what_is_needed_least_leaves():
    session = quiet()
    assert plan_of(session, WHOLE, SURE).is_empty
    plan = plan_of(session, Goal(), SURE)
    assert (plan.going, plan.pays) == ([], True)
    assert plan.sum.leaves == plan.further > 0
    assert plan.share == 0.4


def test_once_it_pays_to_lose_the_thinking_what_was_not_worth_that_alone_leaves_too():
    session = quiet(3_000, 40)
    few = NeedModel({"bias": -0.4, "quiet": -0.01})
    alone, plan = plan_of(session, None, few), plan_of(session, Goal(), few)
    assert plan.pays
    assert set(ids(alone.having(CLEAR))) <= set(ids(plan.having(CLEAR)))
    assert "thinking" not in {decision.reason for decision in plan.decisions}
    assert plan.sum.thinking == session.conversation.thinking


@pytest.mark.parametrize("asked", [{"tier": "short"}, {"ids": ("T1",)}, {"pattern": "*.py"}])
def test_a_clear_of_what_a_person_names_takes_nothing_else(asked: dict):
    session = quiet()
    assert plan_of(session, Goal(), **asked).sum.leaves == plan_of(session, None, **asked).sum.leaves
    assert plan_of(session, Goal(), **asked).further == 0


def test_while_the_cache_is_warm_nothing_goes_on():
    assert plan_of(quiet(), Goal(), SURE, cold=False).is_empty


# --- a long conversation, with a warm cache ----------------------------------------------------------------------------------------------


def test_with_a_warm_cache_what_stays_is_written_again_and_has_to_be_earned_too():
    session = quiet(4_000)
    messages = session.conversation.prompt - session.conversation.base - 4_000
    warm = room(session, cold=False)
    assert warm.sum.warm
    assert warm.cost == pytest.approx(5.0 * THINKING_AGAIN * 4_000 + 1.15 * messages)
    assert warm.least == pytest.approx(warm.cost / (1.15 + 14 * 0.1))


@given(PLAYED, st.sampled_from(READS), st.sampled_from(LIFETIMES), st.floats(0.0, 1.0), st.booleans())
def test_what_pays_with_a_warm_cache_pays_with_a_cold_one(history, read, ttl_s, share, bound):
    session = played(history, "auto")
    goal = Goal(share, long=LengthRule(0, share, 0))
    cold, warm = (room(session, read, ttl_s, bound, goal, is_cold) for is_cold in (True, False))
    assert cold.sum.leaves == warm.sum.leaves
    assert pays(cold) or not pays(warm)


@pytest.mark.parametrize(
    ("tokens", "left", "is_long"),
    [(99_999, 0, False), (100_000, 0, True), (100_000, 40_000, True), (100_000, 40_001, False), (150_000, 90_001, False)],
)
def test_a_conversation_is_long_from_so_many_tokens_on_and_again_once_it_has_grown(tokens: int, left: int, is_long: bool):
    assert LengthRule(100_000, 0.2, 60_000).holds(tokens, left) is is_long


@pytest.mark.parametrize("cold", [False, True])
def test_a_long_conversation_goes_down_to_its_own_share(cold: bool):
    session = quiet(count=60)
    messages = session.conversation.prompt - session.conversation.base
    plan = plan_of(session, Goal(0.4, long=LengthRule(messages, 0.2, messages)), SURE, cold=cold)
    assert plan.pays
    assert plan.sum.warm is not cold
    assert plan.share == 0.2
    assert plan.sum.leaves == pytest.approx(0.8 * messages, abs=1)
    assert plan.least == round(room(session, goal=Goal(0.2), cold=cold).least)


def test_where_more_has_to_stay_it_pays_as_long_as_enough_may_leave():
    session = quiet(count=60)
    messages = session.conversation.prompt - session.conversation.base
    plan = plan_of(session, Goal(0.4, long=LengthRule(messages, 0.2, messages)), SURE, cold=False)
    cleared = sum(decision.gain for decision in plan.having("clear"))
    assert 0 < plan.least < 0.8 * messages
    assert plan.may_pay(0.0)
    assert plan.may_pay(1 - (plan.least + 1) / messages)
    assert plan.may_pay(1 - (plan.least - 1) / messages) is (cleared >= plan.least)
    assert plan.may_pay(1.0) is (cleared >= plan.least), "what is cleared leaves in any case"


@pytest.mark.parametrize(("model", "each"), [(NEVER, 0.0), (SURE, 1.0), (NeedModel({}), 0.5)])
def test_the_needs_are_expected_of_every_result_that_is_there(model: NeedModel, each: float):
    session = quiet(count=60)
    session.pin("T1")
    plan = plan_of(session, Goal(), model)
    assert plan.needs == pytest.approx(each * len(plan.decisions), abs=0.01)


@pytest.mark.parametrize(("tokens", "growth"), [(1, 0), (0, 1)])
def test_one_that_is_not_long_or_has_not_grown_stays_as_it_is(tokens: int, growth: int):
    session = quiet(count=60)
    messages = session.conversation.prompt - session.conversation.base
    long = LengthRule(messages + tokens, 0.2, messages // 2 + growth)
    assert plan_of(session, Goal(0.4, messages - messages // 2, long=long), SURE, cold=False).is_empty


# --- after it, there is nothing left to take --------------------------------------------------------------------------------------------


def done_as_planned(talk: Talk, plan: Plan, bound: bool) -> int:
    """What the plan says is done, and a request shows it: tokens of the conversation that are left, system and tools apart."""
    conversation = talk.conversation
    before = conversation.prompt - (conversation.thinking if bound else 0)
    assert plan.share is not None
    done = talk.compact(plan.share, also=plan.ids) if plan.further else talk.compact(1.0, only=tuple(plan.ids))
    talk.went_on_with(done)
    left = round((before - conversation.base) * done.after / done.before)  # texts are estimated otherwise than what was sent
    conversation.last.tokens = conversation.base + left
    return left


MODELS = st.builds(
    lambda bias, quiet: NeedModel({"bias": bias, "quiet": quiet}), st.sampled_from([-8.0, -4.0, -2.0, 0.0]), st.sampled_from([-0.5, 0.0])
)


@settings(max_examples=examples(25, 2_000))
@example([("user", 0, "large"), ("failed_write", 0, "large")], "auto", 6, NeedModel({"bias": 0.0, "quiet": 0.0}), 0.4, False)
@given(
    HISTORIES,
    st.sampled_from(["auto", "auto", "spec"]),
    st.sampled_from([0, 6, 30]),
    MODELS,
    st.sampled_from([0.4, 0.6, 1.0]),
    st.booleans(),
)
def test_after_doing_what_a_plan_says_the_plan_is_empty(
    history: list, profile: str, quiet: int, model: NeedModel, share: float, bound: bool
):
    talk = talked(history, profile)
    reads(4)(talk)
    talk.nothing(quiet)
    plan = plan_of(talk, Goal(share), model, bound)
    if not plan.pays:
        return
    left = done_as_planned(talk, plan, bound)
    again = plan_of(talk, Goal(share, left), model, bound)
    assert ids(again.having(CLEAR)) == []
    assert again.is_empty


def test_what_stays_because_another_refers_to_it_leaves_with_that():
    talk = talk_of(reads(12))
    talk.grep("last", text="short, but refers to the first")
    leaning = f"T{talk.steps}"
    talk.observe(events.Entered(leaning, 60, ("T1",), "wwww2345", 1_000, ["said already"], talk.at, 300))
    talk.edit("0.py")
    talk.nothing(8)
    plan = plan_of(talk, Goal(0.2), SURE)
    assert plan.further
    assert "T1" not in ids(plan.having(CLEAR))
    assert "T1" in plan.ids

    def out(share: float) -> set[str]:
        messages = talk.compact(share, SURE, also=plan.ids).messages
        whole = {shown.id for message in messages for shown in message.results if not handle_in(shown.text)}
        return {"T1", leaning} - whole

    assert out(1.0) == set()
    assert out(0.0) == {"T1", leaning}
    assert all("T1" in out(share / 50) for share in range(50) if leaning in out(share / 50))
