"""What a policy costs, carries and breaks: a session worked out by hand, and each definition by itself."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from popkit_retention.core.policy.economics import LOOK_BACK_REQUESTS
from popkit_retention.lab import measure, sent_requests
from tests.lab.tales import Tale, tales
from tests.lab.transcripts import BASE, Script, Transcript, filled
from tests.policy.priced import prices

ALPHA, BETA, GAMMA = "src/alpha/handler.ts", "src/beta/handler.tsx", "src/gamma/handler.ts"
A_GONE = "x" * 21  # ten tokens
B_GONE = f"[gone, it named {BETA}]".ljust(42, "-")  # twenty, and it names what was in the result


def scored(
    transcript: Transcript, folder: Path, script: dict | None = None, ttl_s: float = 300, read: float = 0.1, bound: bool = False
) -> tuple[measure.Score, Script]:
    policy = Script(script or {})
    session = sent_requests.read(transcript.write(folder / "session.jsonl"))
    return measure.score(session, policy, prices(ttl_s, read, bound)), policy


def six_requests() -> Transcript:
    """Three results, of which the answers need two again; a pause of 400 s before the fifth request, a compaction before the sixth."""
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.wait(10)
    transcript.first("a", visible=100)
    transcript.wait(2)
    transcript.result("a", filled(2_000, ALPHA))
    transcript.wait(8)
    transcript.call("b")
    transcript.wait(2)
    transcript.result("b", filled(1_000, BETA))
    transcript.wait(8)
    transcript.answer(filled(10), "m-c")
    transcript.call("c")
    transcript.wait(2)
    transcript.result("c", filled(500, GAMMA))
    transcript.wait(8)
    transcript.answer(filled(10, ALPHA), "m-d")
    transcript.call("d")
    transcript.wait(400)
    transcript.result("d", filled(300))
    transcript.wait(10)
    transcript.answer(filled(10, BETA), "m-e")
    transcript.wait(2)
    transcript.fold()
    transcript.wait(8)
    transcript.answer(filled(10, GAMMA), "m-f")
    return transcript


# What stands in the context of each request, in tokens, behind the base; "|" is the end of what the request before has sent:
#   1  prompt 100
#   2  prompt 100 | call 10, a 2,000
#   3  prompt 100, call 10, a 2,000 | call 10, b 1,000
#   4  …, b 1,000 | text 10, call 10, c 500
#   5  …, c 500 | text 10, call 10, d 300            (400 s later)
#   6  summary 100                                    (after the compaction)
FULL = [10_100, 12_110, 13_120, 13_640, 13_960, 10_100]
OUTPUT = [10, 10, 20, 20, 10, 10]
SUMMARY = 100


@pytest.mark.parametrize("price", [0.1, 0.05, 0.025])
def test_a_session_of_six_requests_in_which_nothing_is_cleared(tmp_path, price: float) -> None:
    # (read, written); the last but one is the summariser's request, which also reads the answer to the fifth.
    warm_5m = [(0, 10_100), (10_100, 2_010), (12_110, 1_010), (13_120, 520), (0, 13_960), (13_960, 10), (10_000, 100)]
    warm_1h = [*warm_5m[:4], (13_640, 320), *warm_5m[5:]]
    for ttl_s, write, parts in ((300, 1.25, warm_5m), (3_600, 2.0, warm_1h)):
        total, _ = scored(six_requests(), tmp_path, None, ttl_s, price)
        assert total.curve == FULL
        assert total.carried == sum(FULL) == 73_030
        assert total.cost == pytest.approx(sum(price * read + write * new for read, new in parts) + 5 * (sum(OUTPUT) + SUMMARY))
        assert (total.requests, total.results, total.results_tokens) == (6, 4, 3_800)
        assert (total.cleared, total.missed) == (0, 1)  # what request 6 writes was in a result before the compaction
    # Read 59,290 in all, written 27,710 for 1.25 each, answers and a summary of 180 tokens for 5 each.
    assert scored(six_requests(), tmp_path, read=price)[0].cost == pytest.approx({0.1: 41_466.5, 0.05: 38_502, 0.025: 37_019.75}[price])


SCRIPT = {3: {"a": A_GONE}, 5: {"b": B_GONE}}


@pytest.mark.parametrize(("price", "units"), [(0.1, 44_183.5), (0.05, 40_885.5), (0.025, 39_236.5)])
def test_a_session_of_six_requests_in_which_two_results_are_cleared(tmp_path, price: float, units: float) -> None:
    # a goes before request 3 and is missed by its answer to request 4: it comes back. b goes before request 5; its placeholder names what
    # the answer writes, which is no miss. What request 6 writes was in a result before the compaction: it is missed, and not fetched.
    carried = [10_100, 12_110, 11_130, 11_650, 12_980, 10_100]
    cost_5m = [
        1.25 * 10_100 + 5 * 10,  # all is written
        price * 10_100 + 1.25 * 2_010 + 5 * 10,
        price * 10_100 + 1.25 * (10 + 10 + 10 + 1_000) + 5 * 20,  # a request ended before the call of a: from there on all is written
        price * 11_130 + 1.25 * 520 + 5 * 20,
        1.25 * 2_000 + price * 11_650 + 5 * 150,  # a is fetched again
        1.25 * 12_980 + 5 * 10,  # the cache is cold
        price * 12_980 + 1.25 * 10 + 5 * SUMMARY,  # the conversation is summarised
        price * 10_000 + 1.25 * 100 + 5 * 10,
    ]
    total, policy = scored(six_requests(), tmp_path, SCRIPT, read=price)
    assert total.curve == carried
    assert total.carried == sum(carried) + 11_650 == 79_720
    assert total.cost == pytest.approx(sum(cost_5m)) == pytest.approx(units)
    assert (total.cleared, total.cleared_tokens, total.missed, total.missed_tokens) == (2, 3_000, 2, 2_500)
    assert policy.missed_ids == ["a"]
    assert policy.colds == [True, False, False, False, True, False]


@pytest.mark.parametrize(("price", "units"), [(0.1, 46_556), (0.05, 42_753), (0.025, 40_851.5)])
def test_an_hour_s_cache_reads_up_to_the_last_request_before_the_first_change(tmp_path, price, units) -> None:
    """The first change after the pause."""
    cost_1h = [
        2.0 * 10_100 + 50,
        price * 10_100 + 2.0 * 2_010 + 50,
        price * 10_100 + 2.0 * 1_030 + 100,
        price * 11_130 + 2.0 * 520 + 100,
        2.0 * 2_000 + price * 11_650 + 750,
        price * 10_100 + 2.0 * 2_880 + 50,  # request 2 ended with what came before b and has changed since: request 1 is the last before
        price * 12_980 + 2.0 * 10 + 5 * SUMMARY,
        price * 10_000 + 2.0 * 100 + 50,
    ]
    total, policy = scored(six_requests(), tmp_path, SCRIPT, 3_600, price)
    assert total.cost == pytest.approx(sum(cost_1h)) == pytest.approx(units)
    assert policy.colds == [True, False, False, False, False, False]


def thoughtful() -> Transcript:
    """Two results; before each call the assistant thinks, 50 tokens and 40."""
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.think(50, "m-a", transcript.sees(100))
    transcript.call("a")
    transcript.result("a", filled(500))
    transcript.think(40, "m-b")
    transcript.call("b")
    transcript.result("b", filled(300))
    transcript.answer(filled(10), "m-3")
    return transcript


def test_where_thinking_is_bound_it_is_carried_and_a_clear_loses_what_follows_it(tmp_path) -> None:
    # What stands behind the base: prompt 100 | thinking 50, call 10, a 500 | thinking 40, call 10, b 300
    kept, _ = scored(thoughtful(), tmp_path, bound=True)
    assert (kept.curve, kept.rethought) == ([10_100, 10_660, 11_010], 0)
    before = 1.25 * 10_100 + 0.1 * 10_100 + 1.25 * 560
    assert kept.cost == pytest.approx(before + 0.1 * 10_660 + 1.25 * 350 + 5 * 30)
    total, _ = scored(thoughtful(), tmp_path, {3: {"a": A_GONE}}, bound=True)
    assert (total.curve, total.rethought) == ([10_100, 10_660, 10_480], 40)
    # Up to the prompt it is read; thinking 50, call, placeholder, call, b are written; half of 40 tokens is thought again.
    assert total.cost == pytest.approx(before + 0.1 * 10_100 + 1.25 * 380 + 5 * 30 + 5 * 20)


def test_where_thinking_is_not_bound_nothing_of_it_is_carried_or_lost(tmp_path) -> None:
    total, _ = scored(thoughtful(), tmp_path, {3: {"a": A_GONE}})
    assert (total.curve, total.rethought) == ([10_100, 10_610, 10_430], 0)
    assert total.cost == pytest.approx(1.25 * (10_100 + 510 + 330) + 0.1 * (10_100 + 10_100) + 5 * 30)


def test_thinking_is_lost_only_once(tmp_path) -> None:
    transcript = thoughtful()
    transcript.prompt(filled(10))
    transcript.answer(filled(10), "m-4")
    total, _ = scored(transcript, tmp_path, {3: {"a": A_GONE}, 4: {"a": "", "b": ""}}, bound=True)
    assert total.rethought == 40


@pytest.mark.parametrize(("cleared", "kept"), [(11, 1_200), (4, 430), (3, 320), (2, None), (1, None)])
def test_a_change_further_back_than_the_look_back_writes_all_messages_again(tmp_path, cleared: int, kept: int | None) -> None:
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.first("1", visible=100)
    for number in range(1, 12):  # result n is called by the answer to request n, behind 100 + 110 x (n - 1) tokens
        transcript.result(str(number), filled(100))
        transcript.call(str(number + 1))
    total, _ = scored(transcript, tmp_path, {12: {str(cleared): A_GONE}})
    assert total.curve[-1] == BASE + 100 + 11 * 110 - 90
    nothing, _ = scored(transcript, tmp_path)
    read = BASE + (kept or 0)
    last = 0.1 * (BASE + 100 + 10 * 110) + 1.25 * 110
    assert total.cost - nothing.cost == pytest.approx(0.1 * read + 1.25 * (total.curve[-1] - read) - last)
    assert (kept is not None) is (11 - cleared <= LOOK_BACK_REQUESTS), "as economics has it"


# --- misses, each definition by itself -------------------------------------------------------------------------------------------


def needing(*, before: str = "", spoken: str = "", second: str = "", writes: str = ALPHA, again: str = "") -> Transcript:
    """Request 1 calls a, which holds ALPHA; request 2 calls b; the answer to request 3 writes something; and request 4."""
    transcript = Transcript()
    transcript.prompt(filled(100, before))
    transcript.first("a", visible=100)
    transcript.result("a", filled(500, ALPHA))
    transcript.answer(filled(20, spoken), "m-b")
    transcript.call("b")
    transcript.result("b", filled(300, second))
    transcript.answer(filled(20, writes), "m-3")
    transcript.prompt(filled(10))
    transcript.answer(filled(20, again), "m-4")
    return transcript


def misses_of(transcript: Transcript, folder: Path, script: dict) -> list[str]:
    return scored(transcript, folder, script)[1].missed_ids


MISSES = {
    "what only a cleared result held is a miss": ({}, {3: {"a": "gone"}}, ["a"]),
    "what the user said before is none": ({"before": ALPHA}, {3: {"a": "gone"}}, []),
    "what the assistant wrote before is none": ({"spoken": ALPHA}, {3: {"a": "gone"}}, []),
    "what the placeholder names is none": ({}, {3: {"a": f"gone: {ALPHA}"}}, []),
    "what a live result also holds is none": ({"second": ALPHA}, {3: {"a": "gone"}}, []),
    "nor what another result's placeholder names, if that held it": ({"second": ALPHA}, {3: {"a": "gone", "b": f"gone: {ALPHA}"}}, []),
    "of several cleared results that held it, the newest is booked": ({"second": ALPHA}, {3: {"a": "gone", "b": "gone"}}, ["b"]),
    "what nobody ever held is none": ({"writes": GAMMA}, {3: {"a": "gone"}}, []),
    "what is cleared only later is none": ({}, {4: {"a": "gone"}}, []),
    "what is written twice is missed once": ({"again": ALPHA}, {3: {"a": "gone"}}, ["a"]),
}


@pytest.mark.parametrize(("conversation", "script", "misses"), MISSES.values(), ids=MISSES)
def test_a_miss_is_what_only_a_cleared_result_held(tmp_path, conversation: dict, script: dict, misses: list[str]) -> None:
    assert misses_of(needing(**conversation), tmp_path, script) == misses


def test_a_tool_input_needs_as_a_text_does(tmp_path) -> None:
    transcript = needing(writes="")
    transcript.use("c", "Read", {"file_path": ALPHA, "deep": [{"in": BETA}]})
    assert misses_of(transcript, tmp_path, {3: {"a": "gone"}}) == ["a"]


def test_a_string_that_the_user_has_written_since_is_not_a_miss(tmp_path) -> None:
    transcript = needing(writes="")
    transcript.prompt(f"see {ALPHA}")
    transcript.answer(filled(20, ALPHA), "m-5")
    assert misses_of(transcript, tmp_path, {3: {"a": "gone"}}) == []


def test_a_missed_result_stays_in_the_context_and_its_second_clear_counts_it_once(tmp_path) -> None:
    total, _ = scored(needing(), tmp_path, {3: {"a": "gone"}})
    # base, prompt 100, call 10, a 500, text 20, call 10, b 300, text 20, prompt 10
    assert total.curve[3] == BASE + 970
    again, _ = scored(needing(), tmp_path, {3: {"a": "gone"}, 4: {"a": "gone"}})
    assert again.curve[3] == BASE + 970 - 500 + 2
    assert (again.cleared, again.cleared_tokens, again.missed) == (1, 500, 1)


def test_what_a_compaction_has_lost_is_a_miss_of_it_and_no_clear_is_to_blame(tmp_path) -> None:
    transcript = needing(writes="")
    transcript.fold()
    transcript.answer(filled(20, ALPHA), "m-5")
    total, policy = scored(transcript, tmp_path, {3: {"a": "gone"}})
    assert (total.missed, policy.missed_ids) == (1, [])


def test_what_a_rewound_branch_held_can_not_be_missed(tmp_path) -> None:
    transcript = Transcript()
    root = transcript.prompt(filled(100))
    transcript.first("a", visible=100)
    transcript.result("a", filled(500, ALPHA))
    transcript.answer(filled(10), "m-2")
    transcript.prompt(filled(10), parent=root)
    transcript.answer(filled(20, ALPHA), "m-3")
    assert misses_of(transcript, tmp_path, {2: {"a": "gone"}}) == []


# --- the cache -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ttl_s", "pause", "cold"), [(300, 300, False), (300, 301, True), (3_600, 3_600, False), (3_600, 3_601, True)])
def test_the_cache_is_cold_after_a_pause_longer_than_its_lifetime(tmp_path, ttl_s: int, pause: float, cold: bool) -> None:
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.first("a", visible=100)
    transcript.wait(pause)
    transcript.result("a", filled(10))
    transcript.answer(filled(10), "m-2")
    assert scored(transcript, tmp_path, ttl_s=ttl_s)[1].colds == [True, cold]


def test_a_rewind_keeps_the_cache_up_to_where_it_goes_back_to(tmp_path) -> None:
    transcript = Transcript()
    root = transcript.prompt(filled(100))
    transcript.first("a", visible=100)
    transcript.result("a", filled(500))
    transcript.answer(filled(10), "m-2")
    transcript.prompt(filled(10), parent=root)
    transcript.answer(filled(10), "m-3")
    total, _ = scored(transcript, tmp_path)
    assert total.curve == [BASE + 100, BASE + 610, BASE + 110]
    written = 1.25 * (10_100 + 510 + 10)
    assert total.cost == pytest.approx(written + 0.1 * (10_100 + 10_100) + 5 * 30)


def test_a_smaller_placeholder_may_take_the_place_of_one(tmp_path) -> None:
    total, _ = scored(needing(writes=""), tmp_path, {2: {"a": "x" * 210}, 3: {"a": "x" * 21}})
    assert total.curve[1:3] == [BASE + 210, BASE + 100 + 10 + 10 + 20 + 10 + 300]
    assert total.cleared == 1


# --- laws ------------------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tales())
def test_clearing_nothing_costs_what_a_plain_calculation_gives(tmp_path, tale: Tale) -> None:
    session = sent_requests.read(tale.write(tmp_path / "tale.jsonl"))
    for ttl_s, read in product((300, 3_600), (0.1, 0.025)):
        priced = prices(ttl_s, read)
        cost, prompts = tale.reckoned(session.base, priced)
        total = measure.score(session, measure.Policy(), priced)
        assert total.curve == prompts
        assert total.carried == sum(prompts)
        assert total.cost == pytest.approx(cost)
        assert total.cleared == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tales())
def test_clearing_everything_carries_no_more_but_for_what_is_fetched_again(tmp_path, tale: Tale) -> None:
    session = sent_requests.read(tale.write(tmp_path / "tale.jsonl"))

    class Everything(measure.Policy):
        def decide(self, view) -> list:
            return [(block, "", []) for block in view.context if block.id and block not in view.cleared]

    everything, nothing = (measure.score(session, policy, prices()) for policy in (Everything(), measure.Policy()))
    assert all(less <= more for less, more in zip(everything.curve, nothing.curve))
    # What compactions have lost is missed in both.
    assert everything.missed - nothing.missed <= everything.cleared <= everything.results
    assert everything.missed_tokens - nothing.missed_tokens <= everything.cleared_tokens <= everything.results_tokens
