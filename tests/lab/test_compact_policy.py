"""Compactions in the lab: the host's with what they cost, ours with what stands, and when one begins by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.compacting_cost import Spared
from hooks.utils.policy.auto_compaction import Long
from hooks.utils.policy.messages import paired
from hooks.utils.state import shipped
from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.engine_policies import Door
from popkit_retention.lab.host_policies import Summaries
from popkit_retention.lab.policy import Block, Request, Session
from popkit_retention.lab.replay_policies import Compact
from tests.lab.session_builder import SessionBuilder
from tests.lab.tales import Tale, tales
from tests.lab.transcripts import BASE, Transcript, filled
from tests.policy.priced import prices

RULES = shipped.rules()
_given = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Watched(Spared):
    """Remembers what stood when each request was sent: [(number of the request, its View's sizes, its messages)]. `spares`: whether what
    stands does not enter again."""

    def __init__(self, *args, spares: bool = False, **more) -> None:
        super().__init__(*args, **more)
        self.spares = spares
        self.compacted: list[int] = []
        self.seen: list[list] = []

    def enter(self, block: Block) -> str | None:
        return super().enter(block) if self.spares else None

    def decide(self, view: measure.View) -> list:
        found = super().decide(view)
        if found:
            self.compacted.append(view.number)
        return found

    def answered(self, request: Request) -> None:
        super().answered(request)
        self.seen.append(replay_policies.messages_of(self.view))


def ours(session: Session, bound: bool = False, **how) -> tuple[measure.Score, Watched]:
    at = prices(bound=bound)
    policy = Watched(at, shipped.need_model(), RULES, **how)
    return measure.score(session, policy, at), policy


def score(session: Session, policy: measure.Policy) -> measure.Score:
    return measure.score(session, policy, prices())


def worked(builder: SessionBuilder, results: int = 12, chars: int = 8_000) -> SessionBuilder:
    """So many files read, of which every other one comes again, one request each."""
    for number in range(results):
        builder.read(f"/p/{number // 2}.py", chars=chars)
        builder.request()
    return builder


def compacted_once(tokens: int = 40_000) -> SessionBuilder:
    builder = worked(SessionBuilder())
    builder.compact(tokens)
    worked(builder, 2)
    return builder


# --- the host's own -----------------------------------------------------------------------------------------------------------


def transcript() -> Transcript:
    """A result of 2,000 tokens, a compaction with a summary of 100, and a request that has 1,000 tokens more than that."""
    lines = Transcript()
    lines.prompt(filled(100))
    lines.wait(10)
    lines.first("a", visible=100)
    lines.wait(2)
    lines.result("a", filled(2_000))
    lines.wait(8)
    lines.answer(filled(10), "m-b")
    lines.wait(20)
    lines.fold(filled(100))
    lines.wait(8)
    lines.answer(filled(10), "m-c", usage=None)
    return lines


def test_the_summariser_reads_what_is_cached_writes_the_rest_and_its_summary_costs_its_output(tmp_path: Path):
    session = sent_requests.read(transcript().write(tmp_path / "session.jsonl"))
    assert session.base == BASE
    free, own = score(session, measure.Policy()), score(session, Summaries())
    # The last request ended behind the result; its answer of ten tokens stands behind that.
    summariser = 0.1 * (BASE + 100 + 10 + 2_000) + 1.25 * 10 + 5 * 100
    # Without it nothing is known to be in the cache behind a compaction; with it system and tools are.
    assert own.cost == pytest.approx(free.cost + summariser - (1.25 - 0.1) * BASE)
    assert (own.compactions, own.carried) == (1, free.carried)


def test_what_was_put_back_beside_a_summary_remains_from_then_on(tmp_path: Path):
    lines = transcript()
    lines.entries[-1]["message"]["usage"] = lines.sees(1_100)
    lines.prompt(filled(10))
    lines.wait(8)
    lines.answer(filled(10), "m-d")
    session = sent_requests.read(lines.write(tmp_path / "session.jsonl"))
    own, free = (score(session, policy) for policy in (Summaries(), measure.Policy()))
    assert [with_it - without for with_it, without in zip(own.curve, free.curve)] == [0, 0, 1_000, 1_000]


# --- where it begins ----------------------------------------------------------------------------------------------------------


def test_where_no_compaction_is_recorded_it_costs_what_doing_nothing_costs():
    session = worked(SessionBuilder()).session
    scored, policy = ours(session)
    assert (scored.cost, policy.compacted) == (score(session, measure.Policy()).cost, [])


def test_at_a_recorded_compaction_the_conversation_is_as_ours_leaves_it():
    builder = compacted_once()
    scored, policy = ours(builder.session, target=0.4)
    before, after = scored.curve[11] - 8_000, scored.curve[12] - 8_000
    assert policy.compacted == [13]
    assert after < 0.4 * before + 3_500  # and what was read since
    assert scored.compactions == 1


def test_the_summary_that_was_recorded_takes_nothing():
    plain, larger = compacted_once(), compacted_once()
    next(step[1] for step in larger.session.steps if step[0] == "add" and step[1].is_summary).tokens = 5_000
    assert ours(plain.session)[0].cost == ours(larger.session)[0].cost


def test_all_that_remains_is_written_again_behind_system_and_tools():
    scored, _ = ours(compacted_once().session)
    whole = sum(0.1 * prompt for prompt in scored.curve[:12])
    assert scored.cost > whole + 1.25 * (scored.curve[12] - 8_000)
    warm = score(compacted_once().session, measure.Policy())
    assert scored.cost > warm.cost - 1.25 * 8_000


def test_it_begins_again_where_the_prompt_is_as_large_as_it_was_and_not_before():
    builder = compacted_once()
    worked(builder, 30)
    scored, policy = ours(builder.session, target=0.2)
    assert len(policy.compacted) > 2
    # What the request before it sent was still smaller.
    largest = scored.curve[11]
    assert all(prompt < largest + 3_000 for prompt in scored.curve)
    assert all(scored.curve[number - 2] > 0.85 * largest for number in policy.compacted)


def test_one_that_the_user_asked_for_says_nothing_about_the_size():
    builder = compacted_once(0)
    worked(builder, 30)
    assert ours(builder.session, target=0.2)[1].compacted == [13]


def test_a_conversation_that_is_smaller_by_then_goes_on():
    builder = worked(SessionBuilder())
    builder.prompt()
    builder.request(after=1_000)
    worked(builder, 2)
    builder.compact(45_000)
    worked(builder, 2)
    assert ours(builder.session)[1].compacted == [16]
    assert ours(builder.session, cold=True)[1].compacted == [13]


# --- when cold ----------------------------------------------------------------------------------------------------------------


def idle(prompt: bool, after: float = 1_000, thinking: int = 0) -> SessionBuilder:
    builder = worked(SessionBuilder())
    thought = builder._add(0)
    thought.thinking = thought.estimate = thinking
    if prompt:
        builder.prompt()
    builder.request(after=after)
    return builder


@pytest.mark.parametrize(("prompt", "after", "begins"), [(True, 1_000, [13]), (False, 1_000, []), (True, 10, [])])
def test_by_itself_it_begins_between_turns_alone_once_the_cache_is_cold(prompt, after, begins):
    assert ours(idle(prompt, after).session, cold=True)[1].compacted == begins
    assert ours(idle(prompt, after).session, cold=False)[1].compacted == []


@pytest.mark.parametrize(("prompt", "tokens", "begins"), [(True, 20_000, [13]), (False, 20_000, []), (True, 400_000, [])])
def test_with_a_warm_cache_it_begins_between_turns_once_the_conversation_is_long(prompt, tokens, begins):
    session = idle(prompt, after=10).session
    assert ours(session, cold=True, long=Long(tokens, 0.2, 15_000))[1].compacted == begins
    assert ours(session, cold=False, long=Long(tokens, 0.2, 15_000))[1].compacted == []


@pytest.mark.parametrize(("growth", "begins"), [(10_000, [13, 20, 27]), (30_000, [13, 27]), (200_000, [])])
def test_it_begins_again_only_once_the_conversation_has_grown(growth, begins):
    builder = idle(True, after=10)
    for _ in range(2):
        worked(builder, 6)
        builder.prompt()
        builder.request()
    assert ours(builder.session, cold=True, long=Long(20_000, 0.2, growth))[1].compacted == begins


def test_it_does_not_begin_by_itself_where_thinking_again_is_worth_more():
    assert ours(idle(True, thinking=1_000).session, bound=True, cold=True)[1].compacted == [13]
    assert ours(idle(True, thinking=100_000).session, bound=True, cold=True)[1].compacted == []
    assert ours(idle(True, thinking=100_000).session, bound=False, cold=True)[1].compacted == [13]


def test_all_thinking_is_lost_and_costs_its_output_once():
    scored, _ = ours(idle(True, thinking=1_000).session, bound=True, cold=True)
    assert (scored.rethought, scored.forgotten) == (1_000, 0)


# --- what stands --------------------------------------------------------------------------------------------------------------


def test_what_was_fetched_again_though_it_is_still_there_enters_in_the_dearer_count_alone():
    builder = worked(SessionBuilder(), chars=5_500)
    builder.compact(40_000)
    newest = next(step[1] for step in reversed(builder.session.steps) if step[0] == "add" and step[1].id)
    builder.result("Read", text=newest.text, file_path="/p/11.py")
    builder.request()
    (dearer, _), (spared, _) = ours(builder.session), ours(builder.session, spares=True)
    assert (dearer.shortened, spared.shortened) == (0, 1)
    assert dearer.curve[-1] - spared.curve[-1] == newest.tokens


@settings(_given, max_examples=25)
@given(tales())
def test_in_any_session_calls_keep_their_results_and_nothing_comes_that_was_not_there(tmp_path, tale: Tale) -> None:
    session = sent_requests.read(tale.write(tmp_path / "session.jsonl"))
    for how in ({"target": 0.05}, {"target": 0.4, "cold": True, "caution": 0.0}):
        scored, policy = ours(session, bound=True, **how)
        for messages in policy.seen:
            assert len(paired(messages)) == len(messages)
        assert scored.requests == len(session.requests)
        assert scored.cost > 0


def test_behind_a_door_it_compacts_what_entered():
    session = compacted_once().session
    scored = score(session, Door(RULES, Compact(prices(), shipped.need_model(), RULES)))
    assert scored.compactions == 1
    assert scored.curve[12] < scored.curve[11]
    with_host = score(session, Door(RULES, Summaries()))
    assert with_host.cost > score(session, Door(RULES)).cost - 1.25 * 8_000


def test_a_rewind_behind_a_compaction_that_did_not_take_place_leaves_what_remains():
    builder = compacted_once()
    builder.session.steps.append(("cut", 1, []))
    worked(builder, 1)
    scored, policy = ours(builder.session, target=0.4)
    # Of the two files that were read since, nothing stands; of the twelve before, what the compaction left does.
    assert scored.curve[14] < scored.curve[13]
    assert len(policy.seen[-1]) < len(policy.seen[-2])
    assert scored.curve[14] > 8_000 + 0.2 * (scored.curve[11] - 8_000)
