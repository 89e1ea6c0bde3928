"""What a plan decides of every result that stands in the context, and why. By lifetime (profile `spec`): what has expired and is past its
grace; by force what the user names. Under `auto` what is worth more gone than kept, live or expired, once the cache is cold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import events, globs, planning, worth
from hooks.utils.policy.economics import LIKELY_REQUESTS
from hooks.utils.policy.need import NeedModel
from hooks.utils.policy.placeholder import gain, why
from hooks.utils.policy.planning import CLEAR, HOLD, KEEP, REASONS, Asked
from hooks.utils.policy.tiers import TIERS
from hooks.utils.state import learnt
from tests.policy.conversing import ACTS, LARGE, LONG, SURE, TUNED, Conversing, ids, played
from tests.policy.priced import LIFETIMES, READS, prices


def spec(config: dict | None = None) -> Conversing:
    return Conversing(config, "spec")


def edited(quiet: int) -> Conversing:
    """A read whose file was edited in a later turn, so many calls ago."""
    session = spec()
    session.read("a.py", text=LONG)
    session.new_turn()
    session.edit("a.py")
    session.nothing(quiet - 1)
    return session


# --- by lifetime ------------------------------------------------------------------------------------------------------------------


def test_unasked_nothing_that_lives_goes():
    session = spec()
    session.read("a.py", text=LONG)
    session.bash("npm test", LONG)
    session.nothing(60)
    assert session.going() == session.going(now=True) == []
    assert (session.why()["T1"], session.why()["T2"]) == ("live", "live")


def test_what_a_newer_run_ended_goes_at_once():
    session = spec()
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    assert session.going() == ["T1"]
    assert session.why() == {"T1": "expired", "T2": "live"}


def test_what_came_again_word_for_word_goes_at_once():
    session = spec()
    session.call("mcp__a__b", {"x": 1}, LONG)
    session.call("mcp__a__b", {"x": 2}, LONG)
    assert session.going() == ["T1"]


def test_a_read_that_was_edited_goes_twenty_calls_after_its_last_use():
    session = edited(19)
    assert (session.going(), session.held(), session.why()["T1"]) == ([], ["T1"], "grace")
    session.nothing()
    assert (session.going(), session.held(), session.why()["T1"]) == (["T1"], [], "expired")


def test_grace_counts_from_the_last_use():
    session = spec()
    session.read("a.py", text=LONG)
    session.nothing(30)
    session.read("a.py", 10, 10)
    session.new_turn()
    session.edit("a.py")
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing(18)
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing()
    assert (session.going(), session.held()) == (["T1"], [])


@pytest.mark.parametrize(("kind", "calls"), [("read", 3), ("search", 4), ("run", 5), ("other", 6)])
def test_the_grace_of_each_kind_is_configured(kind, calls):
    session = spec({"grace_calls": {"read": 3, "search": 4, "run": 5, "ack": 0, "other": 6}})
    acts = {
        "read": lambda: session.read("a.py", text=LONG),
        "search": lambda: session.grep("x", text=LONG),
        "run": lambda: session.bash("npm test", LONG),
        "other": lambda: session.call("mcp__a__b", {}, LONG),
    }
    acts[kind]()
    session.clear("T1")
    session.nothing(calls - 1)
    assert (session.going(), session.held()) == ([], ["T1"])
    session.nothing()
    assert (session.going(), session.held()) == (["T1"], [])


def test_now_overrides_the_grace_and_nothing_else():
    session = edited(1)
    session.grep("x", text=LONG)
    assert session.going() == []
    assert session.going(now=True) == ["T1"]


def test_a_path_takes_what_has_expired_of_it():
    session = edited(40)
    session.bash("npm test", LONG)
    session.bash("npm test", LONG + "again")
    session.read("b.py", text=LONG + "b")
    assert session.going(pattern="*.py") == ["T1"]
    assert session.going(pattern="b.py") == []
    assert set(session.going()) == {"T1", "T42"}


def test_force_takes_live_results_and_needs_no_grace():
    session = edited(1)
    session.read("b.py", text=LONG + "b")
    session.bash("npm test", LONG)
    assert session.going(tier="medium") == ["T1", "T3"]
    assert session.going(ids=("T3", "T4")) == ["T3", "T4"]
    assert session.why(ids=("T3", "T4")) == {"T1": "live", "T2": "live", "T3": "asked", "T4": "asked"}


def test_what_is_preserved_goes_only_when_it_is_named():
    session = spec()
    session.read_fails("missing.py")
    session.state.live["T1"].tokens = 900
    session.nothing(60)
    assert session.going() == session.going(now=True) == []
    assert session.why()["T1"] == "preserved"
    assert session.going(tier="preserved") == session.going(ids=("T1",)) == ["T1"]


@pytest.mark.parametrize("profile", ["spec", "auto"])
def test_what_is_pinned_never_goes_and_says_so(profile: str):
    session = Conversing(profile=profile)
    session.read("a.py", text=LARGE)
    session.pin("T1")
    session.nothing(40)
    for asked in ({}, {"now": True}, {"tier": "medium"}, {"ids": ("T1",)}, {"pattern": "a.py"}):
        assert "T1" not in session.going(**asked)
        assert session.why(**asked)["T1"] == "pinned"


def test_what_was_restored_is_held_like_a_pinned_one():
    session = edited(40)
    session.observe(events.Cleared({"T1": "abcd2345"}))
    session.observe(events.Restored("T1", True, session.at))
    assert "T1" not in session.going(now=True) + session.going(tier="medium")


def test_of_what_a_placeholder_stands_for_nothing_is_decided():
    session = edited(40)
    session.observe(events.Cleared({"T1": "abcd2345"}))
    assert "T1" not in session.why(ids=("T1",))


def test_what_saves_hardly_more_than_its_placeholder_stays_unless_it_is_forced():
    session = spec()
    session.bash("npm test", "x" * 110)
    session.bash("npm test", "y" * 110)
    result = session.state.expired["T1"]
    assert 0 < gain(result, 1.0, session.rules) < planning.LEAST_GAIN
    assert (session.going(now=True), session.why(now=True)["T1"]) == ([], "small")
    assert session.going(ids=("T1",)) == ["T1"]
    result.tokens = 12
    assert (session.going(ids=("T1",)), session.why(ids=("T1",))["T1"]) == ([], "small")


def test_tokens_are_counted_as_the_session_measures_them():
    session = spec()
    session.bash("npm test", "x" * 110)
    session.bash("npm test", "y" * 110)
    session.state.calibration = 1.7
    assert session.going() == ["T1"]
    assert session.plan().decisions[0].tokens == round(1.7 * session.result("T1").tokens)


@pytest.mark.parametrize(
    ("trigger", "said"),
    [("edited", "edited later"), ("superseded", "a newer one follows"), ("ttl_calls", "old"), ("of tomorrow", "expired")],
)
def test_why_a_result_went_is_said_in_a_few_words(trigger, said):
    session = edited(1)
    session.state.expired["T1"].ended[0] = trigger
    assert why(session.state.expired["T1"]) == said


def test_a_live_result_goes_by_the_user_or_where_nobody_named_it_because_it_is_unused():
    session = spec()
    session.read("a.py")
    session.nothing(22)
    assert why(session.state.live["T1"]) == "by the user"
    assert why(session.state.live["T1"], session.quiet_age("T1")) == "unused for 22 calls"
    gone = edited(22)
    assert why(gone.state.expired["T1"], gone.quiet_age("T1")) == "edited later"


@pytest.mark.parametrize("ttl_s", LIFETIMES)
def test_what_goes_by_lifetime_or_force_pays_within_the_requests_that_usually_follow(ttl_s: int):
    session = edited(40)
    plan = session.plan(cold=False, priced=prices(ttl_s))
    assert plan.likely_requests == LIKELY_REQUESTS[ttl_s]
    assert plan.pays is (plan.sum.pays_after <= LIKELY_REQUESTS[ttl_s])
    assert session.plan(cold=True).pays
    assert not session.plan(pattern="nothing").pays


# --- by worth ---------------------------------------------------------------------------------------------------------------------


def quiet(calls: int = 60) -> Conversing:
    """Of long ago: a run that has expired, a read and a newer run that live."""
    session = Conversing()
    session.bash("npm test", LARGE)
    session.read("a.py", text=LARGE)
    session.bash("npm test", LARGE + "again")
    session.nothing(calls)
    return session


def test_what_lives_goes_too_when_it_is_hardly_ever_needed():
    session = quiet()
    assert set(session.expired) >= {"T1"}
    assert {"T2", "T3"} <= set(session.live)
    assert session.going() == ["T1", "T2", "T3"]
    assert {session.why()[id] for id in ("T1", "T2", "T3")} == {"worth"}


def test_while_the_cache_is_warm_it_waits():
    session = quiet()
    plan = session.plan(cold=False)
    assert (session.going(cold=False), session.held(cold=False), plan.pays) == ([], ["T1", "T2", "T3"], False)
    assert session.why(cold=False)["T2"] == "waits"
    assert [result.id for result in plan.going] == ["T1", "T2", "T3"], "what would go is told"
    assert session.going(cold=False, now=True) == ["T1", "T2", "T3"]
    assert session.why(cold=False, now=True)["T2"] == "asked"


def test_whether_the_cache_is_cold_the_clock_tells_where_nobody_else_does():
    session = quiet()
    last = session.conversation.last
    for seconds, going in ((0, 0), (299, 0), (300, 3), (9_000, 3)):
        plan = planning.plan(session.conversation, Asked(), last.until + seconds, NeedModel({"bias": -30.0}), prices())
        assert (len(plan.having(CLEAR)), plan.sum.warm) == (going, seconds < 300)
    session.compact("T2")
    assert planning.plan(session.conversation, Asked(), last.until, SURE, prices()).sum.warm is False, "nothing of before is in the cache"


def test_what_is_surely_needed_stays_even_if_it_has_expired():
    session = quiet()
    assert (session.going(SURE), session.plan(SURE).pays) == ([], False)
    assert {session.why(SURE)[id] for id in ("T1", "T2", "T3")} == {"likely"}
    assert session.going(SURE, now=True) == ["T1"], "now takes what has expired, and nothing that lives"


def test_by_the_shipped_model_what_was_long_unused_goes_and_what_was_used_lately_stays():
    session = quiet()
    session.read("b.py", text=LARGE + "b")
    model = learnt.shipped().model
    assert session.going(model) == ["T1", "T2", "T3"]
    long_ago, lately = (model.probability(session.result(id), session.state) for id in ("T2", "T64"))
    assert lately > 1.5 * long_ago


def test_what_is_preserved_goes_unasked_never_while_it_lives():
    session = Conversing()
    session.read_fails("missing.py")
    session.call("AskUserQuestion", {}, LONG)
    for id in ("T1", "T2"):
        session.state.live[id].tokens = 5_000
    session.nothing(60)
    for asked in ({}, {"now": True}, {"pattern": "**"}):
        assert not {"T1", "T2"} & {*session.going(**asked), *session.held(cold=False, **asked)}
        assert session.plan(**asked).decisions[1].need is None
    assert session.why()["T1"] == "preserved"


@pytest.mark.parametrize("now", [False, True])
def test_what_the_model_has_not_seen_yet_stays(now: bool):
    session = quiet()
    session.silent = True
    for _ in range(2):
        session.bash("npm run build", LARGE)
    session.nothing(9)
    assert session.result("T64").ended
    assert session.going(now=now) == ["T1", "T2", "T3"]
    assert (session.why(now=now)["T64"], session.why(now=now)["T65"]) == ("unseen", "unseen")
    session.request()
    assert {"T64", "T65"} <= set(session.going(now=now))


def test_what_the_last_calls_used_stays_and_goes_with_now_if_it_has_expired():
    session = quiet(worth.LEAST_QUIET - 1)
    assert (session.going(), session.why()["T3"]) == (["T1", "T2"], "in_use")
    session = Conversing()
    session.read("a.py", text=LARGE)
    session.new_turn()
    session.edit("a.py")
    assert session.going() == []
    assert session.going(now=True) == ["T1"]


def test_what_a_newer_one_follows_goes_although_the_last_calls_saw_it():
    session = Conversing()
    session.bash("npm test", LARGE)
    session.bash("npm test", LARGE + "again")
    assert session.going() == ["T1"]


def test_what_is_more_likely_needed_than_not_stays():
    session = quiet()
    assert session.going(NeedModel({"bias": 0.1})) == []
    assert session.plan(NeedModel({"bias": 0.1})).decisions[1].need > 0.5


def test_what_is_worth_less_gone_than_kept_stays():
    session = quiet()
    for id in ("T1", "T2", "T3"):
        session.result(id).tokens = 130
    wary = NeedModel({"bias": -0.5})
    assert session.going(wary) == []
    assert session.why(wary)["T2"] == "worth_keeping"
    assert all(decision.value <= 0 for decision in session.plan(wary).decisions[:3])


def test_a_path_takes_what_is_worth_it_of_it_and_weighs_nothing_else():
    session = quiet()
    session.read("b.py", text=LARGE + "b")
    session.nothing(40)
    assert session.going(pattern="*.py") == ["T2", "T64"]
    assert session.going(pattern="b.py") == ["T64"]
    plan = session.plan(pattern="c.py")
    assert (plan.going, plan.pays) == ([], False)
    assert {decision.need for decision in plan.decisions} == {None}
    assert set(session.why(pattern="c.py").values()) == {"live"}


def test_what_is_named_by_its_id_goes_whatever_its_worth():
    session = quiet(1)
    assert session.going(SURE, ids=("T2", "T3")) == ["T2", "T3"]
    assert {decision.need for decision in session.plan(SURE, ids=("T2", "T3")).decisions} == {None}, "it was not weighed"
    assert session.going(SURE) == []


def test_an_outline_is_counted_as_long_as_it_may_be():
    session = quiet()
    result = session.result("T2")
    rules = spec().rules
    assert gain(result, 1.0, rules) - gain(result, 1.0, session.rules) == int(result.tokens * 0.1)
    result.tokens = 299
    assert gain(result, 1.0, rules) == gain(result, 1.0, session.rules), "so short a text has none"


def test_where_thinking_is_bound_what_is_worth_less_than_what_was_thought_behind_it_stays():
    session = Conversing()
    session.bash("npm test", LARGE)
    session.think(30_000)
    session.nothing(30)
    session.read("a.py", text=LARGE)
    session.think(100)
    session.nothing(30)
    assert session.going(priced=prices()) == ["T1", "T32"]
    assert session.going(priced=prices(bound=True)) == ["T32"]
    plan = session.plan(priced=prices(bound=True))
    assert session.why(priced=prices(bound=True))["T1"] == "thinking"
    assert (plan.sum.thinking, plan.sum.thinking_cost) == (100, 500.0)
    session.think(90_000)
    session.nothing(30)
    assert session.plan(priced=prices(bound=True)).pays is False


def test_the_sum_is_of_what_goes_and_of_what_stands_behind_the_first():
    session = quiet(5)
    plan = session.plan(cold=False, ids=("T2",))
    decision = plan.decisions[1]
    place = session.conversation.places["T2"]
    assert plan.sum.leaves == decision.gain
    assert plan.sum.rewritten == session.conversation.last.tokens - place.prefix - decision.tokens + decision.placeholder
    assert not plan.sum.all_messages
    session.nothing(4)
    far = session.plan(cold=False, ids=("T2",)).sum
    assert (session.conversation.requests_behind("T2"), far.all_messages) == (11, True)
    assert far.rewritten == session.conversation.last.tokens - session.conversation.base - decision.tokens + decision.placeholder


# --- laws -------------------------------------------------------------------------------------------------------------------------

ASKED = st.one_of(
    st.builds(Asked, now=st.booleans()),
    st.builds(Asked, tier=st.sampled_from(TIERS), now=st.booleans()),
    st.builds(Asked, ids=st.lists(st.sampled_from([f"T{n}" for n in range(1, 31)]), min_size=1).map(tuple)),
    st.builds(Asked, pattern=st.sampled_from(["*.py", "0.py", "npm*", "**", "none"]), now=st.booleans()),
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
    """One session planned in every way that a law compares; of its last acts the model has not seen so many."""

    def __init__(self, acts: list, quiet: int, unseen: int, calibration: float, profile: str, model: NeedModel, priced):
        self.session = played(acts, profile, unseen)
        if not unseen:
            self.session.nothing(quiet)
        self.session.state.calibration = calibration
        self.model, self.priced = model, priced

    @property
    def weighs(self) -> bool:
        return self.session.conversation.rules.weighs

    def __call__(self, asked: Asked, cold: bool = True, priced=None) -> planning.Plan:
        session = self.session
        return planning.plan(session.conversation, asked, session.at, self.model, priced or self.priced, cold, TUNED)


plannings = st.builds(
    Planning, ACTS, st.sampled_from([0, 2, worth.LEAST_QUIET, 30]), st.sampled_from([0, 0, 1, 4]), st.sampled_from([0.6, 1.0, 1.7]),
    st.sampled_from(["spec", "auto", "auto"]), MODELS, PRICES,
)  # fmt: skip
paths = st.builds(Asked, pattern=st.sampled_from(["", "", "", "*.py", "0.py", "npm*", "**", "none"]))


@given(plannings, ASKED, st.booleans())
def test_every_result_that_stands_in_the_context_has_one_decision_with_its_reason(planned: Planning, asked: Asked, cold: bool):
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
def test_nothing_goes_that_must_stay(planned: Planning, asked: Asked, cold: bool):
    plan = planned(asked, cold)
    for decision in plan.having(CLEAR, HOLD):
        result = decision.result
        assert not result.pinned
        assert decision.gain >= (1 if asked.forces else planning.LEAST_GAIN)
        if asked.ids:
            assert result.id in asked.ids
        elif asked.tier:
            assert result.tier == asked.tier
        else:
            assert result.ended or result.tier != "preserved"
            assert result.ended or planned.weighs
            assert not planned.weighs or planned.session.conversation.is_seen(result.id)
            assert not asked.pattern or any(globs.matches(asked.pattern, subject) for subject in result.subjects)
    for decision in plan.having(CLEAR):
        if planned.weighs and not asked.forces and not asked.now:
            assert cold
            assert decision.value > 0
            assert decision.need <= worth.MOST_NEED
            assert not worth.is_in_use(decision.result, planned.session.state.quiet_age(decision.result))


@given(plannings, ASKED)
def test_what_the_user_forces_goes_unless_it_is_pinned_or_small_whatever_it_is_worth(planned: Planning, asked: Asked):
    if asked.forces:
        plan = planned(asked)
        meant = [d for d in plan.decisions if (d.result.id in asked.ids if asked.ids else d.result.tier == asked.tier)]
        assert ids(plan.having(CLEAR)) == ids([d for d in meant if not d.result.pinned and d.gain >= 1])
        assert plan.having(HOLD) == []
        assert ids(planned(asked, cold=False).having(CLEAR)) == ids(plan.having(CLEAR))


@given(plannings, paths, st.booleans())
def test_with_now_goes_what_waits_and_what_has_expired_beside_what_goes_anyway(planned: Planning, asked: Asked, cold: bool):
    plain, now = planned(asked, cold), planned(Asked(pattern=asked.pattern, now=True), cold)
    assert now.having(HOLD) == []
    waiting = {*ids(plain.having(CLEAR)), *ids(plain.having(HOLD))}
    more = set(ids(now.having(CLEAR))) - waiting
    assert waiting <= set(ids(now.having(CLEAR)))
    assert all(planned.session.result(id).ended for id in more)
    assert planned.weighs or not more
    left = [d for d in now.having(KEEP) if d.result.ended]
    assert {d.reason for d in left} <= {"pinned", "small", "unseen", "live"}, "of what has expired nothing else stays"
    assert [(d.need, d.value) for d in plain.decisions] == [(d.need, d.value) for d in now.decisions]


@given(plannings, paths)
def test_what_waits_for_a_cold_cache_is_just_what_a_cold_one_takes(planned: Planning, asked: Asked):
    cold, warm = planned(asked, True), planned(asked, False)
    assert [(d.need, d.value) for d in cold.decisions] == [(d.need, d.value) for d in warm.decisions]
    if planned.weighs:
        assert warm.having(CLEAR) == cold.having(HOLD) == []
        assert ids(warm.having(HOLD)) == ids(cold.having(CLEAR))
        assert (warm.pays, cold.pays) == (False, bool(cold.having(CLEAR)))
    else:
        assert [(d.action, d.reason) for d in cold.decisions] == [(d.action, d.reason) for d in warm.decisions]


@given(plannings, paths)
def test_where_thinking_is_free_no_less_goes_and_where_it_is_bound_what_goes_is_worth_more(planned: Planning, asked: Asked):
    free, bound = (planned(asked, True, prices(planned.priced.ttl_s, planned.priced.read, flag)) for flag in (False, True))
    assert set(ids(bound.having(CLEAR))) <= set(ids(free.having(CLEAR)))
    if planned.weighs:
        chosen = ids(bound.having(CLEAR))
        assert ids(free.having(CLEAR))[len(free.having(CLEAR)) - len(chosen) :] == chosen, "from one place on"
        assert sum(d.value for d in bound.having(CLEAR)) >= 5.0 * bound.sum.thinking
        assert {d.reason for d in bound.decisions if d.result.id not in chosen and d.result.id in ids(free.having(CLEAR))} <= {"thinking"}


@given(plannings, ASKED, st.booleans())
def test_the_sum_is_that_of_what_goes(planned: Planning, asked: Asked, cold: bool):
    plan = planned(asked, cold)
    going = {result.id for result in plan.going}
    assert plan.sum.leaves == sum(d.gain for d in plan.decisions if d.result.id in going)
    assert plan.sum.warm is not cold
    assert plan.having(CLEAR) or not (plan.pays and planned.weighs and not asked.forces)
    if not going:
        assert (plan.pays, plan.sum.pays_after) == (False, None)


@given(plannings, ASKED, st.booleans())
def test_a_plan_follows_from_what_it_is_given_and_changes_nothing(planned: Planning, asked: Asked, cold: bool):
    def told(plan: planning.Plan) -> list:
        return [plan.pays, plan.likely_requests, plan.sum.to_json(), *((d.result.id, d.to_json()) for d in plan.decisions)]

    conversation = planned.session.conversation
    before = conversation.state.to_json(), dict(conversation.places), list(conversation.requests), set(conversation.unseen)
    first = told(planned(asked, cold))
    planned(Asked(now=True), not cold)
    assert told(planned(asked, cold)) == first
    assert (conversation.state.to_json(), conversation.places, conversation.requests, conversation.unseen) == before


@pytest.mark.parametrize("profile", ["spec", "auto"])
@pytest.mark.parametrize("cold", [True, False])
def test_an_empty_context_has_nothing_to_plan(cold: bool, profile: str):
    plan = Conversing(profile=profile).plan(cold=cold, now=True)
    assert (plan.decisions, plan.going, plan.pays, plan.sum.leaves) == ([], [], False, 0)


# --- what references lean on ------------------------------------------------------------------------------------------------------


def referring() -> Conversing:
    """Two reads of a file; the second entered with a reference to the first."""
    session = spec()
    session.read("a.py", text=LARGE)
    session.read("a.py", text=LARGE + "more")
    session.observe(events.Entered("T2", 200, ("T1",), "abcd2345", 9_000, ("90 lines that the context already shows",)))
    return session


def test_a_result_that_one_that_stays_refers_to_stays_whoever_asks():
    session = referring()
    assert session.why()["T1"] == "leaned_on", "it was superseded, and would go"
    assert session.going(now=True) == []
    assert session.going(ids=("T1",)) == []
    assert session.why(ids=("T1",))["T1"] == "leaned_on"


def test_both_may_go_at_once_and_the_one_that_refers_alone():
    assert referring().going(ids=("T1", "T2")) == ["T1", "T2"]
    assert referring().going(ids=("T2",)) == ["T2"]


def test_a_chain_of_references_stays_down_to_its_first():
    session = referring()
    session.read("a.py", text=LARGE + "most")
    session.observe(events.Entered("T3", 100, ("T2",), "abcd2346", 9_000, ("one more",)))
    assert session.going(ids=("T1", "T2")) == []
    assert session.going(ids=("T1", "T2", "T3")) == ["T1", "T2", "T3"]


def test_once_what_refers_is_cleared_nothing_holds_what_it_referred_to():
    session = referring()
    session.observe(events.Cleared({"T2": "abcd2345"}))
    assert session.going(ids=("T1",)) == ["T1"]


def test_what_entered_shorter_holds_so_many_tokens_and_no_more():
    session = referring()
    [row] = [decision for decision in session.plan().decisions if decision.result.id == "T2"]
    assert row.result.tokens == 200
    assert sum(session.state.counts.results_tokens.values()) == sum(result.tokens for result in session.conversation.results())
