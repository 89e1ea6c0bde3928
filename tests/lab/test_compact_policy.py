"""Compactions in the lab: the host's with what they cost, ours with what stands, and when one begins by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.compacting_cost import Spared
from popkit_retention.core.policy.least_needed import LengthRule
from popkit_retention.core.policy.messages import paired
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure, sent_requests
from popkit_retention.lab.compacting import Compactor, messages_of
from popkit_retention.lab.door_policy import Door
from popkit_retention.lab.recorded import Block, Request, Session
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
        self.seen.append(messages_of(self.view))


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


def test_the_summariser_reads_the_cached_part_and_pays_for_the_rest_and_its_output(tmp_path: Path):
    session = sent_requests.read(transcript().write(tmp_path / "session.jsonl"))
    assert session.base == BASE
    own = score(session, measure.Policy())
    # The last request ended behind the result; its answer of ten tokens stands behind that.
    summariser = 0.1 * (BASE + 100 + 10 + 2_000) + 1.25 * 10 + 5 * 100
    before = 1.25 * (BASE + 100) + 0.1 * (BASE + 100) + 1.25 * 2_010 + 5 * 20
    # Behind it system and tools are in the cache, and the summary is written.
    assert own.cost == pytest.approx(before + summariser + 0.1 * BASE + 1.25 * 100 + 5 * 10)
    assert (own.compactions, own.curve) == (1, [BASE + 100, BASE + 2_110, BASE + 100])


def test_what_was_put_back_beside_a_summary_remains_from_then_on(tmp_path: Path):
    lines = transcript()
    lines.entries[-1]["message"]["usage"] = lines.sees(1_100)
    lines.prompt(filled(10))
    lines.wait(8)
    lines.answer(filled(10), "m-d")
    session = sent_requests.read(lines.write(tmp_path / "session.jsonl"))
    assert score(session, measure.Policy()).curve[2:] == [BASE + 1_100, BASE + 1_100 + 10 + 10]


def test_without_usage_the_last_touched_files_count_as_put_back():
    def carried(files: int) -> int:
        builder = SessionBuilder()
        for number in range(files):
            builder.read(f"/p/{number}.py", chars=21 * (number + 1))
        builder.bash(chars=4_200)
        builder.request()
        builder.compact(40_000)
        return score(builder.session, measure.Policy()).curve[-1] if builder.request() else 0

    # Base, the summary of 100 tokens, and the files: of 10 tokens, 20, 30 …
    assert carried(0) == 8_000 + 100
    assert carried(3) == 8_000 + 100 + 10 + 20 + 30
    assert carried(7) == 8_000 + 100 + 30 + 40 + 50 + 60 + 70


def test_a_compaction_before_the_first_request_belongs_to_another_recording():
    builder = SessionBuilder()
    builder.compact(900_000)
    builder.request()
    scored = score(builder.session, measure.Policy())
    assert (scored.compactions, scored.cost) == (0, 1.25 * (8_000 + 100) + 5 * 30)


# --- what it loses ------------------------------------------------------------------------------------------------------------


ALPHA, BETA = "src/alpha/handler.ts", "src/beta/handler.tsx"


def looked_up(tmp_path: Path, summary: str = "", path: str = "", late: bool = False) -> Session:
    """A result (of a Read of `path`) with a name, a compaction, and an answer that writes the name; the first `late` one had already."""
    lines = Transcript()
    lines.prompt(filled(100))
    lines.use("a", "Read" if path else "Bash", {"file_path": path} if path else {"command": "cat it"}, usage=lines.sees(100))
    lines.result("a", filled(2_000, ALPHA))
    lines.answer(filled(30, ALPHA) if late else filled(10), "m-b")
    lines.fold(summary or filled(100))
    lines.answer(filled(30, ALPHA), "m-c")
    return sent_requests.read(lines.write(tmp_path / "session.jsonl"))


@pytest.mark.parametrize("late", [False, True])
def test_a_string_that_stood_before_a_compaction_and_is_written_behind_it_is_a_need(tmp_path: Path, late: bool):
    assert ALPHA in [string for string, _ in looked_up(tmp_path, late=late).requests[-1].needs]


def test_a_string_in_the_summary_is_not_a_need(tmp_path: Path):
    assert looked_up(tmp_path, summary=f"see {ALPHA} and go on with it").requests[-1].needs == []


def test_what_the_hosts_own_has_lost_is_missed_and_not_fetched_again_for_nobody_did(tmp_path: Path):
    session, silent = looked_up(tmp_path), looked_up(tmp_path)
    silent.requests[-1].needs = []
    lost, none = score(session, measure.Policy()), score(silent, measure.Policy())
    assert (lost.missed, none.missed, lost.fetched, lost.cost) == (1, 0, 0, none.cost)


def test_a_file_that_the_host_puts_back_is_not_missed(tmp_path: Path):
    assert score(looked_up(tmp_path, path="/shop/a.ts"), measure.Policy()).missed == 0


def test_results_that_our_compaction_keeps_are_not_missed(tmp_path: Path):
    assert ours(looked_up(tmp_path), target=1.0)[0].missed == 0


@pytest.mark.parametrize(("tool", "is_fetched"), [("Read", True), ("Bash", False)])
def test_what_ours_has_lost_is_fetched_again_where_the_host_had_put_it_back(tool: str, is_fetched: bool):
    def scored(needed: bool) -> measure.Score:
        builder = SessionBuilder()
        lost = builder.result(tool, text="gone string " + "x" * 30_000, file_path="/p/lost.py", command="cat it")
        builder.request()
        for _ in range(8):
            builder.bash(chars=8_000)
            builder.request()
        builder.compact(40_000)
        builder.request()
        builder.request().needs = [("gone string", [lost])] if needed else []
        return ours(builder.session, target=0.05)[0]

    missed, none = scored(needed=True), scored(needed=False)
    assert (missed.missed, none.missed) == (1, 0)
    assert ((missed.cost > none.cost), missed.fetched) == (is_fetched, int(is_fetched))


# --- a recording that begins in the middle ------------------------------------------------------------------------------------


def in_the_middle(tmp_path: Path) -> Session:
    """The first request has 150,000 tokens that the transcript does not show; at 170,000 the host compacts."""
    lines = Transcript()
    lines.prompt(filled(100))
    lines.wait(10)
    for number in range(30):
        lines.wait(5)
        if number == 5:
            lines.fold(filled(100))
            lines.entries[-2]["compactMetadata"] = {"trigger": "auto", "preTokens": 170_000}
            lines.wait(5)
        usage = {0: lines.sees(150_000), 5: lines.sees(100)}.get(number)
        lines.call(f"a{number}", **({"usage": usage} if usage else {}))
        lines.result(f"a{number}", f"{number}-" + filled(3_000))
    return sent_requests.read(lines.write(tmp_path / "session.jsonl"))


def test_a_conversation_before_the_recording_leaves_with_the_first_compaction(tmp_path: Path):
    """It is told apart from system and tools."""
    session = in_the_middle(tmp_path)
    assert (session.base, session.earlier) == (BASE, 149_900)
    was = score(session, measure.Policy())
    assert (was.curve[0], was.curve[5]) == (BASE + 150_000, BASE + 100)


@pytest.mark.parametrize("cold", [False, True])
def test_it_is_not_compacted_again_and_again(tmp_path: Path, cold: bool):
    scored, policy = ours(in_the_middle(tmp_path), cold=cold)
    assert (scored.compactions, policy.compacted) == (1, [])


def test_a_conversation_that_cannot_shrink_is_compacted_again_only_after_it_grew():
    builder = compacted_once()
    for _ in range(40):
        builder.session.steps.append(("add", Block(10_000 + len(builder.session.steps), 2_000)))  # words
        builder.read(chars=600)
        builder.request()
    scored, policy = ours(builder.session)
    assert scored.curve[-1] > max(scored.curve[:12])
    assert 1 < len(policy.compacted) < 15


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
    assert scored.cost < score(compacted_once().session, measure.Policy()).cost


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
    assert ours(session, cold=True, long=LengthRule(tokens, 0.2, 15_000))[1].compacted == begins
    assert ours(session, cold=False, long=LengthRule(tokens, 0.2, 15_000))[1].compacted == []


@pytest.mark.parametrize(("growth", "begins"), [(30_000, [13, 26, 39]), (70_000, [26]), (400_000, [])])
def test_it_begins_again_only_once_the_conversation_has_grown(growth, begins):
    builder = idle(True, after=10)
    for _ in range(2):
        worked(builder, 12)
        builder.prompt()
        builder.request()
    assert ours(builder.session, cold=True, long=LengthRule(20_000, 0.2, growth))[1].compacted == begins


def test_it_does_not_begin_by_itself_where_thinking_again_is_worth_more():
    assert ours(idle(True, thinking=1_000).session, bound=True, cold=True)[1].compacted == [13]
    assert ours(idle(True, thinking=100_000).session, bound=True, cold=True)[1].compacted == []
    assert ours(idle(True, thinking=100_000).session, bound=False, cold=True)[1].compacted == [13]


def test_all_thinking_is_lost_and_costs_its_output_once():
    scored, _ = ours(idle(True, thinking=1_000).session, bound=True, cold=True)
    assert (scored.rethought, scored.forgotten) == (1_000, 0)


# --- what stands --------------------------------------------------------------------------------------------------------------


def test_a_refetch_of_content_still_in_the_context_enters_only_the_dearer_count():
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
def test_in_any_session_calls_keep_their_results_and_nothing_is_invented(tmp_path, tale: Tale) -> None:
    session = sent_requests.read(tale.write(tmp_path / "session.jsonl"))
    for how in ({"target": 0.05}, {"target": 0.4, "cold": True, "caution": 0.0}):
        scored, policy = ours(session, bound=True, **how)
        for messages in policy.seen:
            assert len(paired(messages)) == len(messages)
        assert scored.requests == len(session.requests)
        assert scored.cost > 0


def test_behind_a_door_it_compacts_what_entered():
    session = compacted_once().session
    scored = score(session, Door(RULES, Compactor(prices(), shipped.need_model(), RULES)))
    assert scored.compactions == 1
    assert scored.curve[12] < scored.curve[11]


def test_what_a_reference_names_stays_or_the_reference_is_the_whole_again():
    builder = SessionBuilder()
    text = "\n".join(f"line {number} of the file that is read twice" for number in range(60))
    first = builder.read("/p/a.py", text=text)
    builder.request()
    worked(builder)
    again = builder.read("/p/a.py", text=text + "\nand one more")
    builder.request()
    worked(builder, 2)
    builder.compact(40_000)
    worked(builder, 1)
    door = Door(RULES, Compactor(prices(), shipped.need_model(), RULES, target=0.05))
    entered, texts = {}, {}

    def note(request: Request, choices: list, came: list) -> None:
        entered.update({block.id: shown for block, shown in came})
        texts.update({block.id: shown for block, shown, _ in choices if block.id})

    measure.score(builder.session, door, prices(), note)
    assert again.id in entered  # it has entered as a reference
    assert texts[first.id] != first.text  # what it names has left
    assert texts[again.id] != entered[again.id]  # so it has left as well, or is whole
    assert door.leans_on == {}


def test_a_rewind_behind_a_compaction_that_did_not_take_place_leaves_what_remains():
    builder = compacted_once()
    builder.session.steps.append(("cut", 1, []))
    worked(builder, 1)
    scored, policy = ours(builder.session, target=0.4)
    # Of the two files that were read since, nothing stands; of the twelve before, what the compaction left does.
    assert scored.curve[14] < scored.curve[13]
    assert len(policy.seen[-1]) < len(policy.seen[-2])
    assert scored.curve[14] > 8_000 + 0.2 * (scored.curve[11] - 8_000)
