"""Laws that hold for every history of a context."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io.codec import dumps, loads
from popkit_retention.core.policy import engine, events
from popkit_retention.core.policy.context import result_of, shared_facts, state_of
from popkit_retention.core.policy.events import Outcome
from tests.policy.histories import HOSTILE, Walk, histories

ENDS = ("expire", "supersede")


@given(histories())
def test_live_expired_and_compacted_results_are_disjoint_and_together_all_results(history):
    walk, ever, compacted = Walk(), set(), set()
    for event in history:
        before = set(walk.state.expired)
        decisions = walk.observe(event)
        ever |= {event.id} if isinstance(event, events.Call) else set()
        compacted |= {decision.id for decision in decisions if decision.action == "compact"}
        if isinstance(event, events.Compacted):
            compacted |= before - set(walk.state.expired)
        live, expired = set(walk.state.live), set(walk.state.expired)
        assert live | expired | compacted == ever
        assert len(live) + len(expired) + len(compacted) == len(ever)


@given(histories())
def test_each_decision_has_a_reason_and_is_about_a_live_or_revived_result(history):
    walk, live, expired = Walk(), set(), set()
    for event in history:
        for decision in walk.observe(event):
            assert decision.reasons
            assert all(isinstance(reason, str) and reason for reason in decision.reasons)
            was, becomes = (expired, live) if decision.action == "revive" else (live, expired)
            assert decision.id in was
            was.remove(decision.id)
            if decision.action != "compact":
                becomes.add(decision.id)
        live |= {event.id} if isinstance(event, events.Call) else set()
        expired = set(walk.state.expired)
        assert live == set(walk.state.live)


@given(histories())
def test_what_ended_keeps_its_trigger_call_time_and_reasons(history):
    walk = Walk()
    for event in history:
        for decision in walk.observe(event):
            if decision.action in ENDS:
                result = walk.state.expired[decision.id]
                assert result.ended == [decision.trigger, decision.index, walk.state.at, decision.by, decision.reasons]
                assert decision.index == walk.state.index
                assert decision.by in ("", getattr(event, "id", ""))
        assert all(result.ended is None or result.pinned for result in walk.state.live.values())


def holds(pins, result) -> bool:
    """Whether a pin certainly holds a result: by its id, or by the path of what it read."""
    paths = [part[0].partition(":")[2] for part in result.parts if part[0].startswith("read:/")]
    return result.id in pins or any(
        ("*.py" in pins and path.endswith(".py")) or ("src/" in pins and "/src/" in path) or path.rpartition("/")[2] in pins
        for path in paths
    )


@given(histories())
def test_what_is_pinned_never_expires(history):
    walk, pins = Walk(), set()
    for event in history:
        if isinstance(event, events.Pinned):
            pins.add(event.target)
        if isinstance(event, events.Unpinned):
            pins.discard(event.target)
        held = {result.id for result in walk.state.live.values() if holds(pins, result)}
        ended = {decision.id for decision in walk.observe(event) if decision.action in ENDS}
        assert held & ended == set()
        assert not any(holds(pins, result) for result in walk.state.expired.values())


@given(histories())
def test_what_is_preserved_ends_only_by_the_user_by_its_success_or_by_a_newer_list(history):
    walk = Walk()
    for event in history:
        live = dict(walk.state.live)
        for decision in walk.observe(event):
            result = live[decision.id] if decision.id in live else walk.state.live[decision.id]
            if result.tier == "preserved" and decision.action in ENDS:
                answered = result.kind == "error" and isinstance(event, events.Call) and not walk.state.live[event.id].error
                listed = result.kind == "tasks" and isinstance(event, events.Call) and event.tool in ("TodoWrite", "TaskList")
                assert isinstance(event, events.ManualClear) or answered or listed


@given(histories())
def test_only_a_pin_revives(history):
    walk = Walk()
    for event in history:
        before = set(walk.state.live)
        decisions = walk.observe(event)
        added = set(walk.state.live) - before
        if isinstance(event, events.Pinned):
            assert added == {decision.id for decision in decisions if decision.action == "revive"}
        else:
            assert added <= ({event.id} if isinstance(event, events.Call) else set())
            assert all(decision.action != "revive" for decision in decisions)


@given(histories(profiles=False), st.integers(0, 40), st.integers(1, 12))
def test_more_calls_never_keep_a_result_alive_longer(history, place, more):
    plain, longer = Walk().all(history[:place]), Walk().all(history[:place])
    for number in range(more):
        idle = events.Call(
            f"idle {number}", TOOLS.of("mcp__idle__wait"), {"n": number}, Outcome(), longer.state.at, "/p", longer.state.prompt_id
        )
        prompted = longer.state.prompted
        longer.observe(idle)
        longer.state.prompted = prompted
    for event in history[place:]:
        plain.observe(event)
        longer.observe(event)
        assert {id for id in longer.state.live if not id.startswith("idle")} <= set(plain.state.live)


@given(histories(profiles=False), st.floats(0, 1000))
def test_more_time_never_keeps_a_result_alive_longer(history, seconds):
    plain = Walk().all(history)
    live = set(plain.state.live)
    plain.observe(events.Tick(plain.state.at + seconds))
    assert set(plain.state.live) <= live


@given(histories(profiles=False))
def test_shorter_lifetimes_never_let_a_result_live_longer(history):
    walks = [Walk("aggressive"), Walk("auto"), Walk("conservative")]
    for event in history:
        for walk in walks:
            walk.observe(event)
        aggressive, auto, conservative = (set(walk.state.live) for walk in walks)
        assert aggressive <= auto <= conservative


@given(histories(profiles=False))
def test_the_specification_s_profile_ends_nothing_sooner_than_the_default(history):
    default, spec = Walk("auto").all(history), Walk("spec").all(history)
    assert set(default.state.live) <= set(spec.state.live)


@given(histories())
def test_the_same_events_give_the_same_decisions(history):
    first, second = Walk().all(history), Walk().all(history)
    assert [decision.to_json() for decision in first.decisions] == [decision.to_json() for decision in second.decisions]
    assert first.state.to_json() == second.state.to_json()


@given(histories())
def test_no_event_is_changed_by_being_observed(history):
    def fields_of(event):
        return {name: repr(getattr(event, name)) for name in type(event).__slots__}

    before = [fields_of(event) for event in history]
    Walk().all(history)
    assert [fields_of(event) for event in history] == before


class Hooks(Walk):
    """Each event in a process of its own: load, observe, save. What expired is in a log beside the state."""

    def __init__(self):
        super().__init__()
        self.log: list = []

    def observe(self, event) -> list:
        stored = dumps(self.state.to_json())
        self.state = state_of(loads(stored))
        engine.reindex(self.state, self.rules)
        if isinstance(event, events.Pinned):  # then the log is read too
            self.state.expired = self.read_log()
        known = set(self.state.expired)
        decisions = super().observe(event)
        self.log += [(self.state.epoch, dumps(result.to_row())) for id, result in self.state.expired.items() if id not in known]
        return decisions

    def read_log(self) -> dict:
        expired: dict = {}
        for epoch, row in self.log:
            result = result_of(loads(row))
            if epoch == self.state.epoch and result.id not in self.state.live:
                expired.pop(result.id, None)
                expired[result.id] = result
        return expired


@given(histories())
def test_a_state_that_is_saved_and_loaded_between_all_events_decides_the_same(history):
    walk, hooks = Walk(), Hooks()
    for event in history:
        if isinstance(event, events.Compacted):
            event = events.Compacted(event.at)  # of what the host carries over, a log knows nothing
        decided = [decision.to_json() for decision in walk.observe(event)]
        assert [decision.to_json() for decision in hooks.observe(event)] == decided
    assert shared_facts(hooks.state) == shared_facts(walk.state)


@given(histories())
def test_the_counts_agree_with_the_decisions(history):
    walk = Walk().all(history)
    counts = walk.state.counts
    ends = [decision for decision in walk.decisions if decision.action in ENDS]
    assert sum(counts.results.values()) == sum(isinstance(event, events.Call) for event in history)
    undone = [decision for decision in walk.decisions if decision.trigger == "undone"]
    expired, triggers, tokens = Counter(), Counter(), Counter()
    for sign, decisions in ((1, ends), (-1, undone)):
        for decision in decisions:
            expired[decision.tier] += sign
            triggers[decision.trigger if sign > 0 else "manual"] += sign
            tokens[decision.tier] += sign * decision.tokens
    assert Counter(counts.expired) == expired
    assert Counter(counts.triggers) == triggers
    assert Counter(counts.expired_tokens) == tokens
    assert counts.superseded == sum(decision.action == "supersede" for decision in ends)
    assert sum(counts.false_expirations.values()) <= sum(counts.results.values())


@given(histories())
def test_the_indexes_are_those_that_a_reindex_builds(history):
    def indexes(state):
        return [{key: set(held) for key, held in index.items()} for index in (state.by_key, state.by_hash)], set(state.timed)

    walk = Walk().all(history)
    kept = indexes(walk.state)
    engine.reindex(walk.state, walk.rules)
    assert indexes(walk.state) == kept


@given(histories())
def test_live_results_stand_in_order_of_completion(history):
    state = Walk().all(history).state
    assert [result.index for result in state.live.values()] == sorted(result.index for result in state.live.values())


@given(histories())
def test_the_quiet_age_is_never_negative_nor_more_than_the_age(history):
    state = Walk().all(history).state
    for result in [*state.live.values(), *state.expired.values()]:
        assert 0 <= state.quiet_age(result) <= state.index - result.index


@given(st.lists(HOSTILE, max_size=12))
@example([events.ProfileChosen("halves of a pair: \ud83d\ude00", 0.0)])
def test_no_hostile_input_makes_the_engine_raise_or_its_state_unsavable(history):
    walk = Walk()
    for event in history:
        walk.observe(event)
        state = state_of(loads(dumps(walk.state.to_json())))
        assert state.to_json() == walk.state.to_json()
        assert set(walk.state.live) & set(walk.state.expired) == set()
