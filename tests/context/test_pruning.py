"""Which strategy holds for what remains of a budget, and what it leaves of a context that was built already."""

from __future__ import annotations

import math

import pytest

from popkit_retention.context import (
    ContextTier,
    Provider,
    Sources,
    TierContent,
    apply_pruning,
    calculate_tier_breakdown,
    get_pruning_strategy,
)
from tests.client.provider import blocks_of, faults
from tests.context.given import Files, Memories
from tests.context.talking import Talk, openai_faults, reading


@pytest.mark.parametrize(
    ("remaining", "fields"),
    [
        (100, (">80%", 1, "all", "full", 10)),
        (80, (">80%", 1, "all", "full", 10)),
        (79.999, ("60-80%", 1, "all", "full", 5)),
        (60, ("60-80%", 1, "all", "full", 5)),
        (59.999, ("40-60%", 1, 3, "summary", 2)),
        (40, ("40-60%", 1, 3, "summary", 2)),
        (39.999, ("<40%", 1, 1, "none", 0)),
        (0, ("<40%", 1, 1, "none", 0)),
        (-5, ("<40%", 1, 1, "none", 0)),
        (math.nan, ("<40%", 1, 1, "none", 0)),
    ],
)
def test_the_strategy_is_the_specifications_by_what_remains(remaining, fields):
    assert tuple(get_pruning_strategy(remaining).model_dump().values()) == fields


def test_a_strategy_that_a_caller_changes_is_their_own():
    get_pruning_strategy(90).tier4_messages = 0
    assert get_pruning_strategy(90).tier4_messages == 10


def test_the_breakdown_is_what_each_layer_has():
    layers = [TierContent(tier=tier, content="", token_count=n, source="", items=n) for n, tier in enumerate(ContextTier, 1)]
    breakdown = calculate_tier_breakdown([*layers, layers[1]])
    assert breakdown.model_dump() == {
        "tier1": {"tokens": 1, "items": 1},
        "tier2": {"tokens": 4, "items": 4},
        "tier3": {"tokens": 3, "items": 3},
        "tier4": {"tokens": 4, "items": 4},
        "total": 12,
    }


def built(thinking: bool = False):
    sources = Sources(
        Memories("We deploy on Fridays.", "Tests live in tests/."), Files({"notes.md": "note\n" * 40, "app.py": "def f():\n"})
    )
    talk = Talk(sources=sources)
    for n in range(4):
        talk.work(f"Do part {n}.", *(reading(f"/p/{n}{k}.py", 80, n) for k in range(3)), thinking=thinking)
    talk.ask("Look at notes.md and go on.")
    return talk, talk.build(0.0)


@pytest.mark.parametrize("thinking", [False, True])
def test_under_each_tighter_strategy_a_built_context_has_less_and_stays_valid(thinking):
    talk, context = built(thinking)
    first = context.tiers[0]
    sizes = []
    for remaining in (100, 70, 50, 10):
        context = apply_pruning(context, get_pruning_strategy(remaining))
        assert faults(context.messages) == []
        assert context.tiers[0] == first
        assert blocks_of(context.messages[-1])[-1] == {"type": "text", "text": talk.messages[-1]["content"]}
        sizes.append(context.total_tokens)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 2
    assert (context.tier_breakdown.tier2.items, context.tier_breakdown.tier3.items) == (1, 0)
    assert len(context.messages) == 1


def test_what_was_pruned_stays_so_in_the_next_build():
    talk, context = built()
    pruned = apply_pruning(context, get_pruning_strategy(50))
    talk.state = pruned.state
    talk.answer("I have looked.")
    talk.ask("Thanks. What is next?")
    after = talk.build(0.0)
    assert after.appended
    assert after.messages[: len(pruned.messages)] == pruned.messages


def test_a_context_of_messages_that_were_not_understood_stays_as_it_is():
    talk = Talk()
    talk.messages = [{"role": "assistant", "content": "Hello"}]
    context = talk.build(0.0)
    assert apply_pruning(context, get_pruning_strategy(10)) == context


@pytest.mark.parametrize("damage", [{"provider": "nobody"}, {"model": None}, {"provider": None}])
def test_a_context_with_a_damaged_state_stays_as_it_is(damage):
    _, context = built()
    damaged = context.model_copy(update={"state": {**context.state, **damage}})
    assert apply_pruning(damaged, get_pruning_strategy(10)) is damaged


def test_a_context_from_which_messages_of_thinking_alone_have_left_is_pruned_too():
    talk = Talk(Provider.OPENAI)
    for n in range(4):
        talk.work(f"Do part {n}.", reading(f"/p/{n}.py", 80, n))
        talk.messages.append({"role": "assistant", "content": None, "reasoning_content": "Hm. " * 50})
    talk.ask("Go on.")
    talk.state = None
    context = talk.build(30.0)
    assert len(context.messages) == len(talk.messages) - 4
    pruned = apply_pruning(context, get_pruning_strategy(10))
    assert pruned.total_tokens < context.total_tokens / 2
    assert openai_faults(pruned.messages) == []
