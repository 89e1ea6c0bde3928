"""What a build lets in, what it leaves out, and what it says of it."""

from __future__ import annotations

import json

import pytest

from popkit_retention.context import ContextBuildOptions, ContextTier, Provider, Sources, build_context
from tests.client.provider import blocks_of, faults, thoughts
from tests.context.given import Files, Memories
from tests.context.talking import BOUND, UNBOUND, Talk, editing, listing, openai_faults, reading

BOTH = pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])


def worked(provider: Provider = Provider.ANTHROPIC, exchanges: int = 6, thinking: bool = False, **more) -> Talk:
    """A conversation in which files were read and edited, as the provider's client would have sent it whole."""
    talk = Talk(provider, **more)
    for n in range(exchanges):
        talk.work(f"Do part {n}.", *(reading(f"/p/{n}{k}.py", 90, n) for k in range(3)), editing(f"/p/{n}0.py"), thinking=thinking)
    talk.ask("What is left?")
    return talk


@BOTH
def test_a_conversation_that_fits_goes_out_as_it_is(provider):
    talk = Talk(provider)
    talk.work("Read it.", ("Read", {"file_path": "/p/a.py"}, listing("a", 5)))
    talk.ask("Thanks.")
    result = talk.build(0.0)
    assert result.messages == talk.messages
    assert all(sent is own for sent, own in zip(result.messages, talk.messages))
    assert (result.appended, result.changed_from, result.notes) == (True, None, [])
    assert result.total_tokens == result.full_tokens == result.tier_breakdown.total


@BOTH
def test_the_less_room_remains_the_less_history_enters_but_the_request_always_does(provider):
    talk = worked(provider)
    sizes = []
    for used in (0.0, 30.0, 50.0, 70.0, 100.0, 250.0):
        talk.state = None
        result = talk.build(used)
        assert (faults if provider is Provider.ANTHROPIC else openai_faults)(result.messages) == []
        assert "What is left?" in str(result.messages[-1]["content"])
        sizes.append(result.total_tokens)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[3] < 0.3 * sizes[0]
    assert sizes[3] == sizes[4] == sizes[5]


@BOTH
def test_below_40_percent_only_requested_messages_and_their_names_enter(provider):
    result = worked(provider).build(70.0)
    history = [message for message in result.messages if message["role"] != "system"]
    assert len(history) == 1
    remains = history[0]["content"][0]["text"]
    assert "- Do part 0." in remains
    assert "handler_/_5_7" in remains


def test_the_tools_calls_of_the_turn_under_way_are_part_of_the_current_request():
    talk = worked()
    talk.answer("", [reading("/p/new.py", 300, 9)])
    result = talk.build(100.0)
    assert result.messages[-3:] == talk.messages[-3:]
    assert result.tier_breakdown.tier4.tokens == 0
    assert result.tier_breakdown.tier1.tokens > 1_000


def test_a_dead_result_leaves_first_and_its_notice_describes_it_and_keeps_its_names():
    talk = Talk()
    talk.work("Read and change it.", reading("/p/app.py", 120), *(editing("/p/app.py") for _ in range(6)))
    talk.work("Read it again.", reading("/p/app.py", 120, 1))
    for n in range(3):
        talk.work("Something else.", *(reading(f"/p/{n}{k}.py", 30, k) for k in range(3)))
    talk.ask("And now?")
    talk.state = None
    result = talk.build(60.0)
    first = result.messages[2]["content"][0]["content"]
    assert first.startswith("[PopKit left out Read /p/app.py (edited later)]\n")
    assert "settings_7" not in first
    assert "handler_/_0_70" in first
    assert faults(result.messages) == []


@pytest.mark.parametrize(("used", "stays"), [(10.0, True), (30.0, True), (60.0, False)])
def test_what_was_read_before_an_edit_stays_while_there_is_room(used: float, stays: bool):
    """An edit changes a few lines: the others are still true. What a newer run shows leaves whatever the room."""
    talk = Talk()
    run = ("Bash", {"command": "npm test"}, "\n".join(f"ok {n} the handler answers {n * 7919}" for n in range(80)))
    talk.work("Read and change it.", reading("/p/app.py", 120), run, *(editing("/p/app.py") for _ in range(6)))
    talk.work("Test it.", run)
    for n in range(8):
        talk.work("Something else.", *(reading(f"/p/{n}{k}.py", 30, k) for k in range(3)))
    talk.ask("And now?")
    talk.state = None
    built = talk.build(used)
    sent = {block["tool_use_id"]: block["content"] for message in built.messages for block in blocks_of(message) if "tool_use_id" in block}
    assert ("settings_7" in sent["call_0"]) == stays
    assert sent["call_1"].startswith("[PopKit left out Bash npm test (a newer one follows)]")
    assert faults(built.messages) == []


def test_a_cut_says_what_it_has_changed_and_takes_the_thinking_behind_it_as_one_run():
    talk = worked(thinking=True)
    before = talk.results[-1]
    kept = len(list(thoughts(before.messages)))
    result = talk.build(50.0)
    assert not result.appended
    assert result.messages[: result.changed_from] == before.messages[: result.changed_from]
    assert result.messages[result.changed_from] != before.messages[result.changed_from]
    assert result.thinking_left_out > 0
    assert len(list(thoughts(result.messages))) < kept
    assert faults(result.messages) == []


def test_without_a_handover_all_thinking_leaves_with_a_new_request():
    """As after a restart: memories had entered with the first request, and are not sent now."""
    talk = worked(exchanges=2, thinking=True, sources=Sources(Memories("We deploy on Fridays.")))
    talk.state, talk.sources = None, Sources()
    result = talk.build(0.0)
    assert faults(result.messages) == []
    assert list(thoughts(result.messages)) == []
    assert result.thinking_left_out == len(list(thoughts(talk.messages))) > 0
    talk.answer("", [reading("/p/new.py")], thinking=True)
    assert talk.build(0.0).appended
    assert faults(talk.results[-1].messages) == []


def test_without_a_handover_a_turn_under_way_keeps_its_thinking_and_goes_unchanged():
    talk = worked(exchanges=2, thinking=True)
    talk.build(0.0)
    talk.answer("", [reading("/p/new.py")], thinking=True)
    talk.state = None
    assert talk.build(50.0).messages == talk.messages


def test_a_model_that_does_not_bind_its_thinking_keeps_it_from_80_percent_on():
    talk = worked(thinking=True, model=UNBOUND)
    talk.state = None
    result = talk.build(15.0)
    assert result.messages != talk.messages
    assert result.thinking_left_out == 0


@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])
@pytest.mark.parametrize("model", [BOUND, UNBOUND])
def test_below_80_percent_earlier_thinking_and_long_call_inputs_leave_first(provider, model):
    talk = Talk(provider, model)
    written = "\n".join(f"    line {n} of what is in the file now" for n in range(200))
    talk.work("Write it.", ("Write", {"file_path": "/p/a.py", "content": written}, "The file has been written."), thinking=True)
    talk.work("Read it.", ("Read", {"file_path": "/p/b.py"}, "price = 3"), thinking=True)
    talk.ask("And now?")
    result = talk.build(25.0)
    sent = json.dumps(result.messages)
    assert "/p/a.py" in sent
    assert "line 1 of" in sent
    assert "line 100 of" not in sent
    assert "characters]" in sent
    assert "price = 3" in sent
    assert result.notes == ["Long texts in the input of 1 call of the history shortened."]
    assert list(thoughts(result.messages)) == []
    assert (faults if provider is Provider.ANTHROPIC else openai_faults)(result.messages) == []
    assert result.total_tokens < 0.7 * result.full_tokens
    talk.answer("Good.", thinking=provider is Provider.ANTHROPIC)
    talk.ask("Go on.")
    assert talk.build(25.0).appended


def test_while_a_turn_thinks_nothing_is_cut_and_the_next_request_cuts():
    talk = worked(thinking=True)
    talk.build(30.0)
    talk.answer("", [reading("/p/new.py")], thinking=True)
    result = talk.build(90.0)
    assert result.appended
    assert [note for note in result.notes if "needs its thinking" in note]
    talk.answer("Done.", thinking=True)
    talk.ask("Good.")
    after = talk.build(90.0)
    assert not after.appended
    assert faults(after.messages) == []


@pytest.mark.parametrize("is_known", [True, False])
def test_the_next_request_makes_up_for_a_cut_that_a_turn_under_way_prevented(is_known):
    """However little it takes."""
    talk = Talk()
    talk.work("Read it.", reading("/p/old.py", 40, 1))
    talk.work("Tell me all about it.", ("Bash", {"command": "cat notes"}, "Nothing is dead here, as it was read this very moment.\n" * 300))
    talk.ask("What is left?")
    if is_known:
        talk.build(0.0)
    talk.answer("", [reading("/p/new.py")], thinking=True) if is_known else talk.messages.extend(turn_under_way())
    assert talk.build(30.0).appended
    talk.answer("Done.")
    talk.ask("Good.")
    after = talk.build(30.0)
    assert not after.appended
    assert after.total_tokens > 0.7 * after.full_tokens


def turn_under_way() -> list[dict]:
    """An answer that has thought and calls, and what the call returned."""
    other = Talk()
    other.ask("Read it.")
    other.build()
    other.answer("", [reading("/p/new.py")], thinking=True)
    return [json.loads(json.dumps(message).replace("call_0", "call_90")) for message in other.messages[1:]]


def test_after_a_cut_little_that_is_new_makes_no_other():
    talk = worked()
    assert not talk.build(50.0).appended
    appended = []
    for n in range(6):
        talk.answer("Nothing is left.")
        talk.ask(f"Are you sure? {n}")
        appended.append(talk.build(50.0).appended)
    assert appended[-4:] == [True] * 4  # when the two newest exchanges grow old, their results may leave


def test_a_limit_of_tokens_holds_whatever_the_budget_says():
    talk = worked()
    whole = talk.build(0.0).full_tokens
    for limit in (whole // 2, whole // 5, 1_500, 200):
        talk.state = None
        result = talk.build(0.0, max_tokens=limit)
        assert result.total_tokens <= limit
        assert faults(result.messages) == []


def test_memories_and_files_enter_before_the_request_and_stay_where_they_were_sent():
    sources = Sources(Memories("We deploy on Fridays.", "Tests live in tests/."), Files({"notes.md": "note\n" * 20}))
    talk = Talk(sources=sources)
    talk.ask("Look at notes.md.")
    first = talk.build(0.0)
    texts = [block["text"] for block in first.messages[0]["content"]]
    assert texts[0] == "From memory of earlier sessions:\n- We deploy on Fridays.\n- Tests live in tests/."
    assert texts[1].startswith("# notes.md")
    assert texts[2] == "Look at notes.md."
    assert first.tiers[1].content == texts[0]
    assert (first.tier_breakdown.tier2.items, first.tier_breakdown.tier3.items) == (2, 1)
    talk.answer("I have looked.")
    talk.ask("And notes.md?")
    second = talk.build(0.0)
    assert second.appended
    assert second.messages[0] == first.messages[0]
    assert second.messages[-1] is talk.messages[-1]


@pytest.mark.parametrize(("used", "memories", "file"), [(0.0, 5, "# notes.md\n"), (50.0, 3, "# notes.md ("), (90.0, 1, "")])
def test_how_many_memories_and_what_of_files_is_the_strategys(used, memories, file):
    talk = Talk(sources=Sources(Memories(*(f"Memory {n}." for n in range(5))), Files({"notes.md": "note\n" * 20})))
    talk.ask("Look at notes.md.")
    result = talk.build(used)
    assert result.tier_breakdown.tier2.items == memories
    assert any(block["text"].startswith(file) for block in result.messages[0]["content"][1:-1]) is bool(file)


@BOTH
def test_a_file_that_the_sdks_own_objects_show_whole_does_not_enter_again(provider):
    import anthropic.types
    import openai.types.chat

    text = "note\n" * 20
    talk = Talk(provider, sources=Sources(None, Files({"notes.md": text, "other.md": "other\n"})))
    talk.work("Look.", ("Read", {"file_path": "notes.md"}, text))
    call = talk.messages[1]
    if provider is Provider.ANTHROPIC:
        call["content"] = [anthropic.types.ToolUseBlock(**block) for block in call["content"]]
    else:
        talk.messages[1] = openai.types.chat.ChatCompletionMessage(**call)
    talk.ask("What do notes.md and other.md say?")
    assert [block["text"].split("\n")[0] for block in talk.build(0.0).messages[-1]["content"]] == [
        "# other.md",
        "What do notes.md and other.md say?",
    ]


def test_only_what_enters_as_an_outline_is_outlined():
    files = Files({"small.py": "a = 1\n", "shown.py": "b = 2\n", "large.py": "price = basket(1)\n" * 5_000})
    talk = Talk(sources=Sources(None, files))
    talk.work("Look.", ("Read", {"file_path": "shown.py"}, "b = 2\n"))
    talk.ask("Change small.py, shown.py and large.py.")
    talk.build(0.0)
    assert files.outlined == ["large.py"]


def test_a_file_that_has_changed_enters_again_behind_what_was_sent():
    files = Files({"notes.md": "old\n" * 20})
    talk = Talk(sources=Sources(None, files))
    talk.ask("Look at notes.md.")
    talk.build(0.0)
    files.texts["notes.md"] = "new\n" * 20
    talk.answer("Yes.")
    talk.ask("Again.")
    result = talk.build(0.0)
    assert result.appended
    assert "new" in result.messages[-1]["content"][0]["text"]


def test_forced_layers_enter_as_with_the_fullest_budget():
    talk = Talk(sources=Sources(Memories("One.", "Two."), Files({"notes.md": "note\n" * 20})))
    talk.work("Read it.", reading("/p/a.py", 3))
    talk.ask("Look at notes.md.")
    talk.state = None
    result = talk.build(95.0, force_include_tiers=list(ContextTier))
    breakdown = result.tier_breakdown
    assert breakdown.tier2.items == 2
    assert "# notes.md\n" in str([block["text"] for block in result.messages[-1]["content"]]).replace("\\n", "\n")
    assert breakdown.tier4.tokens > 0


def test_marks_for_the_cache_pictures_and_unknown_blocks_stay_as_they_are():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    strange = {"type": "hologram", "depth": 3}
    marked = {"type": "text", "text": "See this.", "cache_control": {"type": "ephemeral"}}
    talk = worked()
    talk.messages[-1] = {"role": "user", "content": [picture, strange, marked]}
    result = talk.build(50.0)
    assert result.messages[-1] == talk.messages[-1]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "assistant", "content": "Hi."}],
        [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "T", "input": {}}]}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}],
        [{"role": "robot", "content": "Hi."}],
        ["Hi."],
        [None],
    ],
)
def test_messages_that_are_not_understood_go_out_as_they_came_with_a_note(messages):
    talk = Talk()
    talk.messages = messages
    result = talk.build(90.0)
    assert result.messages == messages
    assert [note for note in result.notes if "left as they are" in note]
    assert result.state == {}


@BOTH
def test_of_messages_that_are_not_understood_pictures_count_as_pictures(provider):
    data = "A" * 1_000_000
    picture = {
        Provider.ANTHROPIC: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        Provider.OPENAI: {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}},
    }
    messages = [{"role": "user", "content": [picture[provider]]}, {"role": "robot", "content": "Hi."}]
    result = build_context(ContextBuildOptions(messages=messages, provider=provider))
    assert result.total_tokens == result.full_tokens < 2_000


@BOTH
def test_messages_that_cannot_be_sent_come_back_unchanged(provider):
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    endless: list = []
    endless.append(endless)
    for content in (
        deep,
        endless,
        [{"type": "text", "text": "x", ("a", "b"): 1}],
        [{"type": "tool_result", "tool_use_id": "a", "content": deep}],
    ):
        messages = [{"role": "user", "content": content}]
        result = build_context(ContextBuildOptions.model_construct(messages=messages, provider=provider, budget_used_percent=90.0))
        assert result.messages[0] is messages[0]
        assert [note for note in result.notes if "left as they are" in note]


@pytest.mark.parametrize("state", [None, {}, {"schema": 99}, {"schema": 1}, {"schema": 1, "digests": "x", "left": 3}])
def test_a_state_that_is_not_ours_is_ignored(state):
    talk = worked()
    talk.state = state
    assert faults(talk.build(50.0).messages) == []


def test_messages_after_a_rewind_are_built_behind_those_that_stay():
    talk = worked()
    talk.state = None
    before = talk.build(30.0)
    cut = len(talk.messages) - 1
    talk.messages[cut:] = [{"role": "user", "content": "Something else."}]
    after = talk.build(30.0)
    assert after.messages[:cut] == before.messages[:cut]
    assert (after.appended, after.changed_from) == (False, len(before.messages) - 1)


def test_the_state_holds_no_words_of_the_conversation():
    talk = Talk()
    talk.work("My cat is called Mirabelle.", ("Bash", {"command": "ls"}, "quincunx\n" * 9))
    talk.ask("And now?")
    handed_on = str(talk.build(30.0).state)
    assert "Mirabelle" not in handed_on
    assert "quincunx" not in handed_on


def test_a_limit_tightened_within_a_turn_removes_even_stand_ins_for_exchanges():
    talk = worked(model=UNBOUND)
    before = talk.build(70.0)
    assert "PopKit left out" in str(before.messages[0])
    talk.answer("", [("Bash", {"command": "npm test"}, "1 failed")])
    alone = before.tier_breakdown.tier1.tokens + 60
    result = talk.build(70.0, max_tokens=alone)
    assert result.total_tokens <= alone
    assert "PopKit left out" not in str(result.messages[0])
    assert faults(result.messages) == []


REMINDER = {"role": "system", "content": "Be brief."}


@BOTH
@pytest.mark.parametrize("remains", [100, 45, 10])
def test_a_system_message_after_the_request_does_not_change_what_enters_and_leaves(provider, remains):
    sizes = []
    for behind in ([], [REMINDER]):
        talk = worked(provider, model=UNBOUND, sources=Sources(Memories("We deploy on Fridays.")))
        talk.state = None
        talk.messages += behind
        result = talk.build(100.0 - remains)
        assert [message for message in result.messages if message == REMINDER] == behind
        assert result.messages[-1 - len(behind)]["content"][0]["text"].startswith(("From memory", "PopKit left out"))
        assert result.tier_breakdown.tier2.items == 1
        sizes.append(result.tier_breakdown.tier4.tokens)
    assert sizes[0] == sizes[1]


def test_a_system_message_after_a_result_removes_no_thinking_of_the_turn_under_way():
    talk = worked(thinking=True)
    talk.messages += [*turn_under_way(), REMINDER]
    talk.state = None
    result = talk.build(50.0)
    assert result.thinking_left_out == 0
    assert result.messages == talk.messages


@pytest.mark.filterwarnings("ignore:open_binary is deprecated")  # as the counter loads its vocabulary
def test_an_estimate_stays_an_estimate_in_later_builds_that_reuse_its_count():
    talk = Talk(Provider.OPENAI, model="gpt-4o")
    talk.messages.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]})
    assert talk.build().counted == "estimate"
    talk.answer("A picture.")
    talk.ask("Of what?")
    assert talk.build().counted == "estimate"


@pytest.mark.parametrize(
    "call",
    [
        {"type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin Patch\n" + "+ a line\n" * 900}},
        {"type": "function", "function": {"name": "apply_patch", "arguments": "no object: " + "x" * 9_000}},
        {"type": "function", "function": {"name": "apply_patch", "arguments": json.dumps(["x" * 9_000])}},
    ],
)
def test_a_call_whose_input_cannot_be_shortened_counts_in_full(call):
    talk = Talk(Provider.OPENAI, model=UNBOUND)
    talk.ask("Patch it.")
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0", **call}]}
    talk.messages += [called, {"role": "tool", "tool_call_id": "call_0", "content": "Done."}]
    talk.answer("I have patched it.")
    talk.ask("Thanks.")
    result = talk.build(30.0)
    assert called in result.messages
    assert result.total_tokens == result.full_tokens > 1_000
    limited = talk.build(30.0, max_tokens=500)
    assert limited.total_tokens <= 500
    assert called not in limited.messages
