"""Messages of a provider as exchanges: SDKs' own objects, what the system says among them, results in every form."""

from __future__ import annotations

import pytest

from popkit_retention.clients.session_user import made_plain
from popkit_retention.context import Provider
from tests.client.provider import faults
from tests.context.talking import Talk, listing, openai_faults, reading


def test_the_objects_that_anthropics_sdk_answers_with_are_read_and_sent_on():
    import anthropic.types

    block = anthropic.types.ToolUseBlock(id="a", name="Read", input={"file_path": "/p/a.py"}, type="tool_use")
    talk = Talk()
    talk.messages = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [anthropic.types.TextBlock(text="I read.", type="text"), block]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": listing("a", 90)}]}]},
        {"role": "assistant", "content": [anthropic.types.TextBlock(text="Done.", type="text")]},
        {"role": "user", "content": "And now?"},
    ]
    result = talk.build(50.0)
    assert result.messages[1]["content"][1] is block
    shown = result.messages[2]["content"][0]["content"]
    assert shown.startswith("def handler_a_0_1(request)"), "its lines have no numbers in an exchange that is over"
    assert "\t" not in shown


def test_the_objects_that_openais_sdk_answers_with_are_read_and_sent_on():
    import openai.types.chat

    answer = openai.types.chat.ChatCompletionMessage(role="assistant", content="Hello.")
    talk = Talk(Provider.OPENAI)
    talk.messages = [{"role": "user", "content": "Hi."}, answer, {"role": "user", "content": "And now?"}]
    result = talk.build(50.0)
    assert result.state
    assert result.messages[1] is answer


def test_an_sdks_message_is_the_one_that_its_package_sends():
    import openai.types.chat

    answer = openai.types.chat.ChatCompletionMessage(role="assistant", content="Hello.", refusal=None)
    talk = Talk(Provider.OPENAI)
    talk.messages = [{"role": "user", "content": "Hi."}, answer, {"role": "user", "content": "And now?"}]
    talk.build(0.0)
    talk.messages = [*made_plain(talk.messages), {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Good."}]
    assert talk.build(0.0).appended


SEALED = {"type": "thinking", "thinking": "It is the price.", "signature": "s" * 700}
THOUGHT = [
    {"content": "Done.", "thinking_blocks": [SEALED], "reasoning_content": "It is the price."},
    {"content": "Done.", "thinking_blocks": [{"type": "redacted_thinking", "data": "s" * 700}]},
    {"content": "Done.", "reasoning_content": "It is the price. " * 9},
    {"content": [SEALED, {"type": "text", "text": "Done."}]},
]


@pytest.mark.parametrize("thought", THOUGHT)
def test_what_was_thought_in_openais_form_counts_and_leaves_with_a_cut(thought):
    talk = Talk(Provider.OPENAI)
    talk.work("Read it.", reading("/p/a.py", 200))
    talk.messages[-1] = {"role": "assistant", **thought}
    talk.ask("And now?")
    talk.state = None
    before = talk.build(0.0)
    talk.messages[-2] = {"role": "assistant", "content": "Done."}
    assert before.full_tokens > talk.build(0.0).full_tokens
    talk.messages[-2] = {"role": "assistant", **thought}
    talk.state = None
    result = talk.build(50.0)
    assert result.thinking_left_out == 1
    assert result.messages[-2] == {"role": "assistant", "content": result.messages[-2]["content"]}
    assert "Done." in str(result.messages[-2])
    assert "price" not in str(result.messages[-2])
    assert "thinking" not in str(result.messages[-2])


@pytest.mark.parametrize("thought", THOUGHT)
def test_a_turn_under_way_that_thinks_in_openais_form_is_not_cut(thought):
    talk = Talk(Provider.OPENAI)
    talk.work("Read it.", reading("/p/a.py", 200))
    talk.ask("And now?")
    talk.build(0.0)
    talk.answer("", [reading("/p/b.py", 10)])
    talk.messages[-2] |= thought
    result = talk.build(50.0)
    assert result.messages == talk.messages
    assert [note for note in result.notes if "needs its thinking" in note]


def thinking_alone(provider: Provider) -> Talk:
    """A conversation with an answer that ended before it had said anything."""
    talk = Talk(provider)
    talk.work("Read it.", reading("/p/a.py", 200))
    talk.ask("Is it right?")
    if provider is Provider.ANTHROPIC:
        talk.messages.append({"role": "assistant", "content": [SEALED]})
    else:
        talk.messages.append({"role": "assistant", "content": "", "thinking_blocks": [SEALED], "reasoning_content": "It is the price."})
    talk.ask("And now?")
    talk.build(0.0)
    return talk


@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])
def test_an_answer_of_thinking_alone_leaves_with_its_exchange(provider):
    result = thinking_alone(provider).build(80.0)
    assert result.state
    assert len(result.messages) == 1
    assert "And now?" in str(result.messages)


def test_an_answer_of_only_thinking_leaves_if_its_neighbours_may_be_adjacent():
    talk = thinking_alone(Provider.OPENAI)
    result = talk.build(50.0)
    assert [message["role"] for message in result.messages] == ["user", "assistant", "tool", "assistant", "user", "user"]
    assert result.thinking_left_out == 1
    assert openai_faults(result.messages) == []


def test_an_answer_of_only_thinking_stays_where_roles_must_alternate():
    talk = thinking_alone(Provider.ANTHROPIC)
    result = talk.build(50.0)
    assert result.messages == talk.messages
    assert result.state


def test_the_systems_words_among_openais_messages_never_leave():
    talk = Talk(Provider.OPENAI)
    talk.messages = [{"role": "system", "content": "Be kind."}]
    talk.work("Read it.", reading("/p/a.py", 90))
    talk.messages.append({"role": "developer", "content": "Be brief."})
    talk.ask("And now?")
    talk.state = None
    result = talk.build(95.0)
    assert [message["content"] for message in result.messages[:2]] == ["Be kind.", "Be brief."]
    assert len(result.messages) == 3
    assert openai_faults(result.messages) == []


def test_what_the_user_says_beside_results_begins_no_exchange():
    talk = Talk()
    talk.ask("Read both.")
    talk.answer("", [reading("/p/a.py", 90), reading("/p/b.py", 90)])
    talk.messages[-1]["content"].append({"type": "text", "text": "And hurry."})
    talk.answer("", [reading("/p/c.py", 90)])
    result = talk.build(95.0)
    assert result.messages == talk.messages
    assert faults(result.messages) == []


def test_a_result_with_a_picture_in_it_stays():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    talk = Talk()
    talk.work("Look.", ("Screenshot", {}, "x"))
    talk.messages[2]["content"][0]["content"] = [{"type": "text", "text": listing("a", 90)}, picture]
    talk.ask("And now?")
    talk.state = None
    assert talk.build(50.0).messages[2] == talk.messages[2]


def test_marks_for_the_cache_move_on_without_being_a_change():
    talk = Talk()
    talk.ask("Read it.")
    talk.build(0.0)
    talk.messages[0] = {"role": "user", "content": [{"type": "text", "text": "Read it.", "cache_control": {"type": "ephemeral"}}]}
    talk.answer("Done.")
    talk.ask("And now?")
    result = talk.build(0.0)
    assert result.appended
    assert result.messages[0]["content"][0]["cache_control"] == {"type": "ephemeral"}
