"""What holds for every conversation, every budget and every limit: the messages are valid, and what was sent stays."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context import ContextBuildOptions, ContextResult, Provider, Sources, build_context
from popkit_retention.context.requests import Caller, Request
from popkit_retention.context.service import ContextService
from tests.client.provider import faults, left_out
from tests.context.clients.callers import Ledger
from tests.context.given import Memories
from tests.context.talking import BOUND, EXCHANGES, UNBOUND, Talk, openai_faults
from tests.examples import examples

USED = st.sampled_from([0.0, 15.0, 30.0, 50.0, 80.0, 120.0])
MODELS = st.sampled_from([BOUND, UNBOUND, ""])

CHATS = st.sampled_from((Provider.ANTHROPIC, Provider.OPENAI))  # the items of Responses are built in test_responses


def play(talk: Talk, exchanges: Any, used: Any, limits: Any = None) -> None:
    """Plays a conversation, and checks each request before it is answered."""
    for _ in steps_of(talk, exchanges, used, limits):
        pass


def steps_of(talk: Talk, exchanges: Any, used: Any, limits: Any = None) -> Iterator[None]:
    """A conversation, played step by step: each request is checked, and its answer is there when the next step is asked for."""
    for request, steps, thinks in exchanges:
        talk.ask(request)
        for calls, step_thinks, text in steps:
            check(talk, used(), limits)
            yield
            talk.answer(text, calls, thinks and step_thinks)
        check(talk, used(), limits)
        yield
        talk.answer("That is all.", thinking=thinks)
    talk.ask("And now?")
    check(talk, used(), limits)


def check(talk: Talk, used: float, limits: Any) -> None:
    limit = limits() if limits else None
    # Agents whose messages are the same go on from each other's builds, so one's last build tells nothing of the next.
    before = talk.results[-1] if talk.results and not isinstance(talk, Agent) else None
    built = talk.build(used, max_tokens=limit)
    refused = faults(built.messages) if talk.provider is Provider.ANTHROPIC else openai_faults(built.messages)
    assert refused == [] or (talk.model == UNBOUND and all("bound" in fault for fault in refused))
    assert built.messages[-1] == talk.messages[-1] or built.messages[-1]["content"][-1] in (
        {"type": "text", "text": talk.messages[-1]["content"]},
        talk.messages[-1]["content"],
    )
    running = list(talk.messages[last_request(talk) + 1 :])
    assert built.messages[len(built.messages) - len(running) :] == running
    if before is not None and built.appended:
        assert built.messages[: len(before.messages)] == before.messages
    if before is not None and built.changed_from is not None:
        assert built.messages[: built.changed_from] == before.messages[: built.changed_from]
    assert built.total_tokens == built.tier_breakdown.total
    added = built.tier_breakdown.tier2.tokens + built.tier_breakdown.tier3.tokens
    remains = sum(message["content"][0]["text"].startswith("PopKit left out") for message in built.messages if is_blocks(message))
    assert remains or built.total_tokens <= built.full_tokens + added
    first = built.tier_breakdown.tier1.tokens
    if limit is not None and built.total_tokens > limit:
        assert first > limit or any("thinking" in note for note in built.notes)
        assert [note for note in built.notes if "nothing more can leave" in note or "Nothing more was left out" in note]


def is_blocks(message: Any) -> bool:
    return isinstance(message["content"], list) and message["content"] and message["content"][0].get("type") == "text"


def last_request(talk: Talk) -> int:
    return max(n for n, message in enumerate(talk.messages) if message["role"] == "user" and isinstance(message["content"], str))


@settings(max_examples=examples(15, 500), deadline=None)
@given(EXCHANGES, MODELS, CHATS, USED)
def test_under_one_strategy_every_request_is_valid(exchanges, model, provider, used):
    play(Talk(provider, model), exchanges, lambda: used)


@settings(max_examples=examples(15, 500), deadline=None)
@given(EXCHANGES, MODELS, CHATS, st.data())
def test_under_budgets_and_limits_that_change_every_request_is_valid(exchanges, model, provider, data):
    limits = st.one_of(st.none(), st.integers(1, 3_000))
    play(Talk(provider, model), exchanges, lambda: data.draw(USED), lambda: data.draw(limits))


class Agent(Talk):
    """One of several agents of a session whose requests a service builds."""

    def __init__(self, service: ContextService, ledger: Ledger, provider: Provider) -> None:
        super().__init__(provider)
        self.service = service
        self.ledger = ledger

    def build(self, used: float = 0.0, **more: Any) -> ContextResult:
        self.ledger.percent = used
        self.service.build(Caller("dana", "s1"), Request(self.provider, self.model, self.messages, max_tokens=more["max_tokens"]))
        self.results.append(self.ledger.builds[-1][1])
        return self.results[-1]


@settings(max_examples=examples(10, 300), deadline=None)
@given(EXCHANGES, EXCHANGES, CHATS, st.data())
def test_of_two_conversations_of_a_session_that_begin_alike_every_request_is_valid(exchanges, others, provider, data):
    others = [(exchanges[0][0], *others[0][1:]), *others[1:]]
    ledger = Ledger()
    service = ContextService(build_context, lambda project: nullcontext(Sources(Memories("We deploy on Fridays."))), ledger)
    playing = [steps_of(Agent(service, ledger, provider), script, lambda: data.draw(USED)) for script in (exchanges, others)]
    while playing:
        agent = data.draw(st.sampled_from(playing))
        if next(agent, ...) is ...:
            playing.remove(agent)


@settings(max_examples=examples(15, 300), deadline=None)
@given(EXCHANGES, CHATS)
def test_in_a_turn_everything_that_was_sent_stays(exchanges, provider):
    talk = Talk(provider)
    for request, steps, thinks in exchanges:
        talk.ask(request)
        talk.build(30.0)
        for calls, step_thinks, text in steps:
            talk.answer(text, calls, thinks and step_thinks)
            before = talk.results[-1]
            built = talk.build(30.0)
            assert built.appended
            assert built.messages[: len(before.messages)] == before.messages
        talk.answer("That is all.", thinking=thinks)


@settings(max_examples=examples(15, 300), deadline=None)
@given(EXCHANGES)
def test_thinking_leaves_as_one_run_to_the_end(exchanges):
    talk = Talk()
    for request, steps, thinks in exchanges:
        talk.ask(request)
        for calls, _, text in steps:
            talk.build(30.0)
            talk.answer(text, calls, thinks)
        talk.build(30.0)
        talk.answer("That is all.", thinking=thinks)
    talk.ask("And now?")
    before = talk.results[-1].messages + talk.messages[-2:]
    assert left_out(before, talk.build(50.0).messages) in ("", "back", "all")


@settings(max_examples=examples(15, 300), deadline=None)
@given(EXCHANGES, CHATS)
def test_more_budget_never_leaves_less_of_the_history(exchanges, provider):
    talk = Talk(provider)
    talk.went_on(exchanges)

    def history(used: float) -> int:
        options = ContextBuildOptions(messages=talk.messages, provider=provider, budgetPercent=used)
        return build_context(options).tier_breakdown.tier4.tokens

    sizes = [history(used) for used in (100.0, 50.0, 30.0, 10.0)]
    remains = 400  # tokens of what stands for exchanges that have left
    assert sizes[1:] == sorted(sizes[1:])
    assert sizes[0] <= sizes[1] + remains


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "id", "x"]), inner),
    max_leaves=12,
)
ODD = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool", "system", "else"]), "content": JSON})


@settings(max_examples=examples(50, 3_000), deadline=None)
@given(st.lists(ODD | JSON, max_size=6), st.sampled_from(Provider), JSON, st.sampled_from([0.0, 70.0]))
def test_junk_raises_nothing_and_comes_back_as_it_was(messages, provider, state, used):
    kept = copy.deepcopy(messages)
    options = ContextBuildOptions.model_construct(messages=messages, provider=provider, previous=state, budget_used_percent=used, model="")
    built = build_context(options)
    assert messages == kept
    if not built.state:
        assert built.messages == kept
        assert built.notes


@settings(max_examples=examples(20, 500), deadline=None)
@given(EXCHANGES, st.data())
def test_a_damaged_state_is_ignored(exchanges, data):
    talk = Talk()
    talk.went_on(exchanges)
    state = talk.build(50.0).state
    name = data.draw(st.sampled_from(sorted(state)))
    talk.state = {**json.loads(json.dumps(state)), name: data.draw(JSON)}
    assert faults(talk.build(50.0).messages) == []
