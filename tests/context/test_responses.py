"""Contexts of OpenAI's Responses: the same as of a chat with the same words, in items that the provider takes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context import ContextBuildOptions, ContextResult, Provider, Sources, build_context
from popkit_retention.context.message_faults import faults_of
from popkit_retention.context.responses_form import join, split
from tests.examples import examples

from .given import Memories
from .talking import EXCHANGES, Talk, listing, reading

MODEL = "gpt-4o"
Item = dict[str, Any]
ASK: Item = {"role": "user", "content": "What is in shop.py?"}
REASONING: Item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s" * 600}
CALL: Item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Read", "arguments": '{"file_path": "/p/shop.py"}'}
OUTPUT: Item = {"type": "function_call_output", "call_id": "call_1", "output": listing("/p/shop.py", 200)}
DONE: Item = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "A shop."}]}
LATER: list[Item] = [item for word in ("Thanks", "Fine", "Good") for item in ({"role": "user", "content": word}, DONE)] + [ASK]
REFERENCE: Item = {"type": "item_reference", "id": "fc_1"}


def items_of(messages: list[Item]) -> list[Item]:
    """A chat's messages as items, with reasoning before what was called or said."""
    items: list[Item] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]})
            continue
        if message["role"] == "assistant":
            items.append({**REASONING, "id": f"rs_{number}"})
        if message.get("content"):
            items.append({"role": message["role"], "content": message["content"]})
        items += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
    return items


def build(items: list[Item], used: float = 0.0, sources: Sources = Sources(), **more: Any) -> ContextResult:  # noqa: B008
    kept = copy.deepcopy(items)
    options = ContextBuildOptions(messages=items, provider=Provider.RESPONSES, model=MODEL, budgetPercent=used, **more)
    built = build_context(options, sources)
    assert items == kept
    return built


def refused(items: list[Item]) -> list[str]:
    """What the provider would refuse."""
    faults, calls = [], set()
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else {}
        if item.get("type") == "reasoning" and following.get("type") != "function_call" and following.get("role") != "assistant":
            faults.append(f"{number}: reasoning without what follows it")
        if item.get("type") == "function_call":
            calls.add(item["call_id"])
            json.loads(item["arguments"])
        if item.get("type") == "function_call_output" and item["call_id"] not in calls:
            faults.append(f"{number}: an output without its call")
    answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    return faults + [f"{id}: a call without its output" for id in sorted(calls - answered)]


@settings(max_examples=examples(25, 300), deadline=None)
@given(EXCHANGES, st.sampled_from([0.0, 30.0, 50.0, 90.0]))
def test_under_every_budget_the_items_are_valid_and_say_what_a_chat_would(exchanges: Any, used: float):
    talk = Talk(Provider.OPENAI, MODEL)
    talk.went_on(exchanges)
    items = items_of(talk.messages)
    built = build(items, used)
    assert refused(items) == refused(built.messages) == []
    assert built.faults == []
    assert built.messages[-1]["role"] == "user"
    assert built.total_tokens <= built.full_tokens + 700  # what remains of exchanges that left


@settings(max_examples=examples(25, 300), deadline=None)
@given(EXCHANGES, EXCHANGES)
def test_the_next_request_begins_with_everything_that_was_sent(first: Any, second: Any):
    talk = Talk(Provider.OPENAI, MODEL)
    talk.went_on(first)
    items = items_of(talk.messages)
    before = build(items)
    talk.answer("That is all.")
    talk.went_on(second)
    after = build(items_of(talk.messages), previous=json.loads(json.dumps(before.state)))
    same = len(before.messages) if after.changed_from is None else after.changed_from
    assert after.messages[:same] == before.messages[:same]


def test_old_results_leave_with_a_notice_and_their_calls_and_reasoning_stay():
    items = [ASK, REASONING, CALL, OUTPUT, DONE, *LATER]
    built = build(items, 55.0)
    assert len(built.messages) == len(items)
    assert built.messages[3]["output"].startswith("[PopKit left out")
    assert [*built.messages[:3], *built.messages[4:]] == [*items[:3], *items[4:]]


def test_parallel_calls_are_one_answer_and_their_outputs_one_message():
    second = {**CALL, "id": "fc_2", "call_id": "call_2"}
    items = [ASK, REASONING, CALL, second, OUTPUT, {**OUTPUT, "call_id": "call_2"}, DONE]
    assert [len(message["items"]) for message in join(items)] == [1, 3, 2, 1]
    assert split(join(items)) == items
    assert build([*items, ASK]).faults == []


def test_memories_enter_as_the_providers_own_blocks_before_the_question():
    built = build([ASK], sources=Sources(memory=Memories("The shop is called harbour-blue.")))
    first, own = built.messages[0]["content"]
    assert (first["type"], own) == ("input_text", {"type": "input_text", "text": ASK["content"]})
    assert "harbour-blue" in first["text"]


def test_the_result_of_a_call_that_is_only_referred_to_is_part_of_its_exchange():
    items = [ASK, REFERENCE, OUTPUT, DONE, *LATER]
    built = build(items, 55.0)
    assert built.faults == []
    assert built.messages[1] == REFERENCE
    assert built.messages[2]["output"].startswith("[PopKit left out")


def test_what_was_compacted_by_the_provider_never_leaves():
    compacted = {"type": "compaction", "id": "cmp_1", "encrypted_content": "s" * 900}
    talk = Talk(Provider.OPENAI, MODEL)
    for number in range(6):
        talk.work(f"Read file {number}.", reading(f"/p/file{number}.py"))
    built = build([compacted, *items_of(talk.messages), ASK], 90.0)
    assert built.messages[0] == compacted
    assert len(built.messages) < len(items_of(talk.messages))


@pytest.mark.parametrize(
    ("items", "faults"),
    [
        ([], ["there are no messages"]),
        ([ASK, OUTPUT], ["item 1: a result without the call before it"]),
        ([ASK, CALL], ["item 1: a call without its result"]),
        ([ASK, "text"], ["item 1: no item that the provider knows"]),
        ([ASK, {"role": "nobody", "content": "x"}], ["item 1: no item that the provider knows"]),
        ([ASK, {"part": "answer"}, DONE], ["item 1: no item that the provider knows"]),
        ([ASK, {"part": "results", "items": [3]}], ["item 1: no item that the provider knows"]),
        ([DONE, ASK], []),
        ([ASK, REFERENCE, OUTPUT], []),
        ([ASK, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, DONE], []),
    ],
)
def test_faults_are_named_with_the_number_of_the_item_and_such_lists_stay(items: list[Any], faults: list[str]):
    assert faults_of(items, Provider.RESPONSES) == faults
    if items:
        assert build(items).messages == items
