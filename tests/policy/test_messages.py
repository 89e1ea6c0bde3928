"""The messages of a conversation in the one form: words in their order, calls and just their results together."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.messages import (
    ASSISTANT,
    NO_RESULT,
    USER,
    Message,
    MessagesNotUnderstood,
    ShownResult,
    Use,
    message_of,
    paired,
    result_tokens,
    texts_in,
)
from tests.policy.compactable import plain


def use(id: str, tool: str = "Bash", **given) -> Message:
    return Message(ASSISTANT, "", [Use(id, TOOLS.of(tool), given or {"command": f"echo {id}"})])


def result(id: str, text: str | None = None, error: bool = False) -> Message:
    return Message(USER, "", (), [ShownResult(id, f"what {id} said" if text is None else text, error)])


def user(text: str) -> Message:
    return Message(USER, text)


def assistant(text: str) -> Message:
    return Message(ASSISTANT, text)


def form(messages: list[Message]) -> list[str]:
    """A line for each message: what was said, `calls …`, `results …`."""
    lines = []
    for message in messages:
        parts = [message.text] if message.text else []
        parts += ["calls " + " ".join(each.id for each in message.uses)] if message.uses else []
        parts += ["results " + " ".join(each.id for each in message.results)] if message.results else []
        lines.append(f"{message.role}: {' + '.join(parts)}")
    return lines


# --- paired -------------------------------------------------------------------------------------------------------------------------


def test_parallel_calls_share_a_message_and_the_next_has_their_results_in_order():
    messages = [user("go"), use("T1"), use("T2"), use("T3"), result("T3"), result("T1"), result("T2"), assistant("done")]
    assert form(paired(messages)) == ["user: go", "assistant: calls T1 T2 T3", "user: results T1 T2 T3", "assistant: done"]


def test_results_between_calls_made_at_once_wait_for_the_last_of_the_calls():
    """The client writes a row for each block, and runs a call while the next one is still being written."""
    messages = [use("T1"), use("T2"), result("T1"), use("T3"), result("T3"), result("T2")]
    assert form(paired(messages)) == ["assistant: calls T1 T2 T3", "user: results T1 T2 T3"]


def test_text_said_between_calls_made_at_once_comes_before_the_calls():
    messages = [assistant("first"), use("T1"), assistant("second"), use("T2"), result("T1"), result("T2")]
    assert form(paired(messages)) == ["assistant: first", "assistant: second", "assistant: calls T1 T2", "user: results T1 T2"]


def test_words_in_one_message_with_calls_or_results_stand_apart_from_them():
    messages = [
        Message(ASSISTANT, "I look", [Use("T1", TOOLS.of("Bash"), {})]),
        Message(USER, "and hurry", (), [ShownResult("T1", "ok")]),
    ]
    assert form(paired(messages)) == ["assistant: I look", "assistant: calls T1", "user: results T1", "user: and hurry"]


@pytest.mark.parametrize("rest", [[], [user("stop")], [user("stop"), assistant("as you like")]])
def test_an_interrupted_call_gets_a_result_that_says_so(rest: list[Message]):
    messages = paired([user("go"), use("T1"), use("T2"), result("T2"), *rest])
    assert form(messages)[:3] == ["user: go", "assistant: calls T1 T2", "user: results T1 T2"]
    assert [(each.text, each.error) for each in messages[2].results] == [(NO_RESULT, True), ("what T2 said", False)]
    assert plain(messages[3:]) == plain(rest)


@pytest.mark.parametrize("nothing", ["", " ", "\n\n", " \t\n"])
def test_a_message_that_says_nothing_is_left_out(nothing: str):
    """No provider takes one; the client's transcripts hold many."""
    messages = [user("go"), assistant(nothing), user(nothing), use("T1"), user(nothing), result("T1"), Message(USER)]
    assert form(paired(messages)) == ["user: go", "assistant: calls T1", "user: results T1"]


def test_an_empty_result_is_a_result():
    assert form(paired([use("T1"), result("T1", "")])) == ["assistant: calls T1", "user: results T1"]


def test_an_error_stays_one():
    assert paired([use("T1"), result("T1", "Exit code 1", True)])[1].results[0].error is True


@pytest.mark.parametrize(
    "messages",
    [
        [result("T1")],
        [user("go"), result("T1")],
        [use("T1"), result("T2")],
        [result("T1"), use("T1")],
        [use("T1"), result("T1"), result("T1")],
        [use("T1"), use("T2"), result("T1"), result("T1")],
        [use("T1"), result("T1"), use("T1"), result("T1")],
        [use("T1"), use("T1"), result("T1")],
        [Message(ASSISTANT, "", [Use("T1", TOOLS.of("Bash"), {}), Use("T1", TOOLS.of("Bash"), {})])],
        [use("T1"), user("stop"), result("T1")],
    ],
)
def test_a_result_without_a_call_and_a_repeated_id_are_not_understood(messages: list[Message]):
    with pytest.raises(MessagesNotUnderstood, match="T"):
        paired(messages)


def test_what_is_given_stays_as_it_was():
    messages = [use("T1"), use("T2"), result("T2"), result("T1"), user("x")]
    before = json.dumps(plain(messages))
    paired(messages)
    assert json.dumps(plain(messages)) == before


# What happens in a conversation, one block after another, as a host hands it over.
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from([USER, ASSISTANT]), st.sampled_from(["", " ", "yes", "a\nb ", "語"])),
        st.tuples(st.just("call"), st.booleans()),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
    ),
    max_size=30,
)


def messages_of(blocks: list) -> list[Message]:
    """Messages in which a result comes only while its call can still be answered."""
    messages: list[Message] = []
    open_calls: list[str] = []
    count = 0
    for kind, *how in blocks:
        if kind == "say":
            role, text = how
            messages.append(Message(role, text))
            if role == USER and text.strip():
                open_calls = []
        elif kind == "call":
            count += 1
            open_calls.append(f"T{count}")
            both = how[0]
            messages.append(Message(ASSISTANT, f"now {count}" if both else "", [Use(f"T{count}", TOOLS.of("Bash"), {"n": count})]))
        elif open_calls:
            messages.append(result(open_calls.pop(how[0] % len(open_calls))))
    return messages


@given(BLOCKS)
def test_in_any_conversation_the_next_message_answers_every_call_and_nothing_else(blocks: list):
    messages = paired(messages_of(blocks))
    for at, message in enumerate(messages):
        assert bool(message.text.strip()) + bool(message.uses) + bool(message.results) == 1
        assert message.role == (USER if message.results else ASSISTANT if message.uses else message.role)
        if message.uses:
            assert [each.id for each in messages[at + 1].results] == [each.id for each in message.uses]
        if message.results:
            assert messages[at - 1].uses, "right behind its calls"


@given(BLOCKS)
def test_words_calls_and_results_all_stand_each_kind_in_its_order(blocks: list):
    messages = messages_of(blocks)
    paired_messages = paired(messages)
    assert [(each.role, each.text) for each in paired_messages if each.text] == [
        (each.role, each.text) for each in messages if each.text.strip()
    ]
    assert [each.id for message in paired_messages for each in message.uses] == [each.id for message in messages for each in message.uses]
    texts = {each.id: each.text for message in messages for each in message.results}
    assert {each.id: each.text for message in paired_messages for each in message.results if each.text != NO_RESULT} == texts


@given(BLOCKS)
def test_brought_into_the_one_form_again_it_stays_as_it_is(blocks: list):
    once = paired(messages_of(blocks))
    assert plain(paired(once)) == plain(once)


# --- from a host, and back to it --------------------------------------------------------------------------------------------------


def test_a_message_goes_to_the_host_as_it_came():
    value = {
        "role": "assistant",
        "text": "I look",
        "toolUses": [{"tool_use_id": "T1", "tool": "Bash", "input": {"command": "ls", "n": [1, {"x": None}]}}],
        "toolResults": [{"tool_use_id": "T0", "text": "a", "isError": True}],
    }
    assert message_of(value, TOOLS).to_json() == value
    assert message_of({**value, "handle": "u1", "more": 1}, TOOLS).to_json() == value, "what else a host says of it is not handed back"


def test_a_message_without_calls_and_results_needs_no_lists_of_them():
    bare = {"role": "user", "text": "go", "toolUses": [], "toolResults": []}
    assert message_of({"role": "user", "text": "go"}, TOOLS).to_json() == bare
    assert message_of({"role": "user", "text": "go", "toolUses": None, "toolResults": None}, TOOLS).to_json() == bare


USE, SHOWN = {"tool_use_id": "T1", "tool": "Bash", "input": {}}, {"tool_use_id": "T1", "text": "a"}


@pytest.mark.parametrize(
    "value",
    [
        None, 1, "user", [], [{"role": "user", "text": "go"}], {},
        {"role": "system", "text": "go"}, {"role": None, "text": "go"}, {"role": ["user"], "text": "go"}, {"text": "go"},
        {"role": "user"}, {"role": "user", "text": None}, {"role": "user", "text": 1}, {"role": "user", "text": [{"type": "text"}]},
        *({"role": "assistant", "text": "", "toolUses": uses} for uses in (
            [None], ["T1"], [[]], [{}], 5, True, "T1", {"T1": 1},
            [{**USE, "tool_use_id": ""}], [{**USE, "tool_use_id": 1}], [{**USE, "tool": ""}], [{**USE, "tool": None}],
            [{**USE, "input": None}], [{**USE, "input": "ls"}], [{**USE, "input": ["ls"]}], [USE, None],
        )),
        *({"role": "user", "text": "", "toolResults": results} for results in (
            [None], ["T1"], [[]], [{}], 5, True, "T1", {"T1": 1},
            [{**SHOWN, "tool_use_id": None}], [{**SHOWN, "text": None}], [{**SHOWN, "text": [{"type": "text"}]}], [SHOWN, 1],
        )),
    ],
)  # fmt: skip
def test_anything_else_is_not_understood(value: object):
    with pytest.raises(MessagesNotUnderstood):
        message_of(value, TOOLS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.sampled_from(["role", "text", "toolUses", "toolResults", "tool_use_id", "tool", "input", "isError"])


@given(st.dictionaries(FIELDS, JSON | st.lists(st.dictionaries(FIELDS, JSON)) | st.sampled_from([USER, ASSISTANT])))
def test_whatever_a_host_gives_is_a_message_or_not_understood(value: dict):
    try:
        message = message_of(value, TOOLS)
    except MessagesNotUnderstood:
        return
    assert message_of(message.to_json(), TOOLS).to_json() == message.to_json()


# --- what they take ---------------------------------------------------------------------------------------------------------------


def test_all_texts_of_an_input_count_names_of_fields_too():
    assert texts_in({"a": ["b", {"c": "d"}], "e": 1, "f": None}) == ["a", "b", "c", "d", "e", "1", "f", "None"]
    long = {"content": "word " * 1_000}
    assert Use("T1", TOOLS.of("Write"), long).tokens > Use("T1", TOOLS.of("Write"), {"content": "word"}).tokens + 1_500


def test_a_result_takes_what_its_text_takes_or_what_was_estimated_of_it_already():
    text = "one line of many words\n" * 20
    assert result_tokens(text) - result_tokens("") == estimate_tokens(text, "code")
    assert result_tokens(text, 7) - result_tokens("") == 7
