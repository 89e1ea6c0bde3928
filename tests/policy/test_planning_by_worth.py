"""What a plan decides under `auto`: what costs more to keep than to clear, live or expired, once the cache is cold."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import planning, worth
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.placeholder import gain
from popkit_retention.core.policy.plans import CLEAR, Selection
from popkit_retention.core.state import shipped
from tests.policy.conversing import LARGE, SURE, Conversing
from tests.policy.priced import prices
from tests.policy.test_planning import spec


def quiet(calls: int = 60) -> Conversing:
    """Of long ago: a run that has expired, a read and a newer run that live."""
    session = Conversing()
    session.bash("npm test", LARGE)
    session.read("a.py", text=LARGE)
    session.bash("npm test", LARGE + "again")
    session.nothing(calls)
    return session


@pytest.fixture
def session() -> Conversing:
    return quiet()


def test_what_lives_goes_too_when_it_is_hardly_ever_needed(session: Conversing):
    assert set(session.expired) >= {"T1"}
    assert {"T2", "T3"} <= set(session.live)
    assert session.going() == ["T1", "T2", "T3"]
    assert {session.why()[id] for id in ("T1", "T2", "T3")} == {"worth"}


def test_while_the_cache_is_warm_it_waits(session: Conversing):
    plan = session.plan(cold=False)
    assert (session.going(cold=False), session.held(cold=False), plan.pays) == ([], ["T1", "T2", "T3"], False)
    assert session.why(cold=False)["T2"] == "waits"
    assert [result.id for result in plan.going] == ["T1", "T2", "T3"], "what would go is told"
    assert session.going(cold=False, now=True) == ["T1", "T2", "T3"]
    assert session.why(cold=False, now=True)["T2"] == "asked"


def test_the_clock_says_whether_the_cache_is_cold_where_nobody_else_does(session: Conversing):
    last = session.conversation.last
    for seconds, going in ((0, 0), (299, 0), (300, 3), (9_000, 3)):
        plan = planning.plan(session.conversation, Selection(), last.until + seconds, NeedModel({"bias": -30.0}), prices())
        assert (len(plan.having(CLEAR)), plan.sum.warm) == (going, seconds < 300)
    session.compact("T2")
    assert planning.plan(session.conversation, Selection(), last.until, SURE, prices()).sum.warm is False, (
        "nothing of before is in the cache"
    )


def test_what_is_surely_needed_stays_even_if_it_has_expired(session: Conversing):
    assert (session.going(SURE), session.plan(SURE).pays) == ([], False)
    assert {session.why(SURE)[id] for id in ("T1", "T2", "T3")} == {"likely"}
    assert session.going(SURE, now=True) == ["T1"], "now takes what has expired, and nothing that lives"


def test_by_the_shipped_model_long_unused_results_go_and_recently_used_ones_stay(session: Conversing):
    session.read("b.py", text=LARGE + "b")
    model = shipped.need_model()
    assert session.going(model) == ["T1", "T2", "T3"]
    long_ago, lately = (model.probability(session.result(id), session.state, TOOLS) for id in ("T2", "T64"))
    assert lately > 1.5 * long_ago


@pytest.mark.parametrize("now", [False, True])
def test_what_the_model_has_not_seen_yet_stays(session: Conversing, now: bool):
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


def test_what_is_more_likely_needed_than_not_stays(session: Conversing):
    assert session.going(NeedModel({"bias": 0.1})) == []
    assert session.plan(NeedModel({"bias": 0.1})).decisions[1].need > 0.5


def test_what_is_worth_less_gone_than_kept_stays(session: Conversing):
    for id in ("T1", "T2", "T3"):
        session.result(id).tokens = 130
    wary = NeedModel({"bias": -0.5})
    assert session.going(wary) == []
    assert session.why(wary)["T2"] == "worth_keeping"
    assert all(decision.value <= 0 for decision in session.plan(wary).decisions[:3])


def test_a_path_takes_what_is_worth_it_of_it_and_weighs_nothing_else(session: Conversing):
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


def test_an_outline_is_counted_as_long_as_it_may_be(session: Conversing):
    result = session.result("T2")
    rules = spec().rules
    assert gain(result, 1.0, rules) - gain(result, 1.0, session.rules) == int(result.tokens * 0.1)
    result.tokens = 299
    assert gain(result, 1.0, rules) == gain(result, 1.0, session.rules), "so short a text has none"


def test_with_bound_thinking_a_result_worth_less_than_the_thinking_behind_it_stays():
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
    assert (plan.sum.thinking, plan.sum.thinking_cost) == (100, 250.0)
    session.think(90_000)
    session.nothing(30)
    assert session.plan(priced=prices(bound=True)).pays is False


def test_the_sum_is_of_what_goes_and_of_what_comes_after_the_first():
    session = quiet(5)
    plan = session.plan(cold=False, ids=("T2",))
    decision = plan.decisions[1]
    place = session.conversation.places["T2"]
    assert plan.sum.leaves == decision.gain
    assert plan.sum.rewritten == session.conversation.last.tokens - place.prefix - decision.tokens + decision.placeholder
    session.nothing(4)
    far = session.plan(cold=False, ids=("T2",)).sum
    assert session.conversation.requests_behind("T2") == 11
    assert far.rewritten == session.conversation.last.tokens - session.conversation.base - decision.tokens + decision.placeholder
