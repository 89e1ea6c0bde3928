"""What the prompt cache lost has the cause that the transcript shows, and none where it shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.bill.digest import digest_of
from popkit_retention.core.policy import lost_cache
from popkit_retention.core.policy.lost_cache import Interval, SentRequest
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import shipped
from tests.bill.conversations import BASE, Conversation

MODELS = shipped.models()


def test_a_conversation_that_finds_its_cache_loses_nothing(tmp_path: Path):
    conversation = Conversation()
    for _ in range(5):
        conversation.prompt("and now?")
        conversation.request()
    assert conversation.losses(tmp_path) == []


def look_back(it: Conversation) -> None:
    for number in range(12):
        it.use(f"t{number}", "Read", {"file_path": f"{number}.py"}, message=f"m-{it.count}")
        it.result(f"t{number}", "text")


# What stands between two requests of a conversation, by the cause that it is of a loss.
HAPPENS: dict[str, Callable[[Conversation], object]] = {
    lost_cache.PAUSE: lambda it: it.wait(4_000),
    lost_cache.COMPACTION: lambda it: it.fold(),
    lost_cache.REWIND: lambda it: it.prompt("no, differently", parent=it.entries[1]["uuid"]),
    lost_cache.MODEL: lambda it: setattr(it, "model", "claude-opus-5"),
    lost_cache.EFFORT: lambda it: it.command("/effort"),
    lost_cache.TOOLS: lambda it: it.attach(type="deferred_tools_delta", addedNames=["mcp__linear__get_issue", "mcp__linear__list"]),
    lost_cache.ERROR: lambda it: it.add("system", subtype="api_error"),
    lost_cache.COMMAND: lambda it: it.command("/context"),
    lost_cache.INTERRUPTION: lambda it: it.prompt("[Request interrupted by user]"),
    lost_cache.LOOK_BACK: look_back,
    lost_cache.EARLY: lambda it: it.wait(900),
    lost_cache.UNKNOWN: lambda it: it.prompt("go on"),
}


@pytest.mark.parametrize("cause", HAPPENS)
def test_each_cause_is_known_by_what_is_between_the_requests(cause: str, tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    HAPPENS[cause](conversation)
    conversation.request(reads=BASE - 5_000)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [cause]


CHANGES = (lost_cache.COMPACTION, lost_cache.REWIND, lost_cache.MODEL, lost_cache.EFFORT)


@pytest.mark.parametrize("cause", CHANGES)
def test_whatever_changed_the_prompt_once_the_cache_was_cold_has_lost_nothing(cause: str, tmp_path: Path):
    conversation = Conversation(hour=False)
    conversation.request()
    conversation.wait(420)
    HAPPENS[cause](conversation)
    conversation.request(reads=BASE - 5_000)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [lost_cache.PAUSE]


@pytest.mark.parametrize("cause", CHANGES)
def test_a_change_to_the_prompt_while_the_cache_was_warm_stays_the_cause(cause: str, tmp_path: Path):
    """However long nobody asks after that."""
    conversation = Conversation(hour=False)
    conversation.request()
    conversation.wait(20)
    if cause == lost_cache.MODEL:
        conversation.command("/model")
    HAPPENS[cause](conversation)
    conversation.wait(420)
    conversation.request(reads=BASE - 5_000)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [cause]


def test_a_prompt_that_has_shrunk_lacks_what_was_cleared(tmp_path: Path):
    conversation = Conversation()
    conversation.request(total=80_000)
    conversation.request(reads=BASE, total=60_000)
    assert conversation.losses(tmp_path) == [(lost_cache.CLEARED, 40_000)]


def test_clears_that_an_answer_reports_count_even_if_the_prompt_is_no_smaller(tmp_path: Path):
    conversation = Conversation()
    conversation.request(total=80_000)
    conversation.request(reads=BASE, total=81_000)
    edits = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3, "cleared_input_tokens": 9_000}]
    conversation.entries[-1]["message"]["context_management"] = {"applied_edits": edits}
    assert conversation.losses(tmp_path) == [(lost_cache.CLEARED, 60_000)]


@pytest.mark.parametrize(("model", "cause"), [("claude-sonnet-4-5-20250929", lost_cache.THINKING), ("claude-opus-4-6", lost_cache.UNKNOWN)])
def test_a_model_that_drops_earlier_thinking_loses_its_cache_when_the_user_speaks(model: str, cause: str, tmp_path: Path):
    conversation = Conversation(model)
    conversation.request(thinks=True)
    conversation.prompt("next")
    conversation.request(reads=BASE - 5_000)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [cause]


def test_the_day_is_the_users(tmp_path: Path):
    old, new = Usage(50_000, 1_000.0, "claude-opus-5", 3_600, 0, 50_000), Usage(52_000, 1_100.0, "claude-opus-5", 3_600, 20_000, 32_000)
    lost = lost_cache.losses([SentRequest(old), SentRequest(new)], lambda at: at >= 1_050, MODELS)
    assert [(loss.cause, loss.tokens) for loss in lost] == [(lost_cache.DATE, 30_000)]


def test_a_cache_of_five_minutes_is_cold_after_six(tmp_path: Path):
    conversation = Conversation(hour=False)
    conversation.wait(360)
    conversation.request(reads=0)
    assert conversation.losses(tmp_path) == [(lost_cache.PAUSE, BASE + 2_000)]


@pytest.mark.parametrize(("away_s", "cause"), [(1_000, lost_cache.EARLY), (2_000, lost_cache.PAUSE)])
def test_a_cache_that_a_provider_keeps_by_itself_lives_as_long_as_that(away_s: int, cause: str, tmp_path: Path):
    """Of OpenAI's model half an hour, though nobody asked for more than five minutes."""
    conversation = Conversation("gpt-5.6-sol", hour=False)
    conversation.wait(away_s)
    conversation.request(reads=0)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [cause]


def test_parallel_results_are_one_position_of_the_look_back(tmp_path: Path):
    conversation = Conversation()
    for number in range(30):
        conversation.use(f"t{number}", "Read", {"file_path": f"{number}.py"}, message="m-1")
    for number in range(30):
        conversation.result(f"t{number}", "text")
    conversation.request(reads=BASE - 5_000)
    assert [lost_by for lost_by, _ in conversation.losses(tmp_path)] == [lost_cache.UNKNOWN]


def test_a_detail_is_no_longer_than_a_few_lines(tmp_path: Path):
    conversation = Conversation()
    conversation.model = "claude-" + "x" * 100_000
    conversation.request(reads=0)
    [(cause, detail)] = _causes_of(conversation, tmp_path)
    assert (cause, len(detail)) == (lost_cache.MODEL, 200)


def test_servers_are_named_once_however_many_tools_they_bring(tmp_path: Path):
    conversation = Conversation()
    HAPPENS[lost_cache.TOOLS](conversation)
    conversation.request(reads=BASE - 5_000)
    assert [loss["detail"] for loss in conversation.digest(tmp_path)["losses"]] == ["linear"]


def _requested(folder: Path, before: dict, *after: dict) -> list[tuple[str, str]]:
    """(cause, detail) of what is lost between a request and the next, of which the client notes these; a server is named in between."""
    conversation = Conversation()
    conversation.sent(**before)
    conversation.request()
    HAPPENS[lost_cache.TOOLS](conversation)
    for noted in after:
        conversation.sent(**noted)
    conversation.request(reads=BASE - 5_000)
    return _causes_of(conversation, folder)


def _causes_of(conversation: Conversation, folder: Path) -> list[tuple[str, str]]:
    return [(loss["cause"], loss["detail"]) for loss in conversation.digest(folder)["losses"]]


ONE, TWO = ("begin", "done"), ("begin", "done", "next")
SAME = {"messages": ONE}, {"messages": TWO}
JIRA = {"tools": ("Bash", "mcp__jira__get", "mcp__jira__list")}
TITLE = {"source": "generate_session_title", "tools": (), "effort": "low"}
KIND = {"system": "You are an agent.\n# Rules\nBe kind.\n# Tone\nShort."}
BRIEF = {"system": "You are an agent.\n# Rules\nBe brief.\n# Tone\nShort."}
TONELESS = {"system": "You are an agent.\n# Rules\nBe brief."}
CLEAR = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
NOTED = {
    "tools are the cause where the request has others": ([{}, JIRA], lost_cache.TOOLS, "jira"),
    "or has no more of them": ([JIRA, {}], lost_cache.TOOLS, "jira"),
    "tools that are only named in the conversation are not": ([{}, {}], lost_cache.UNKNOWN, ""),
    "a request that is sent twice has failed": ([{"digest": "a"}, {"digest": "b"}, {"digest": "b"}], lost_cache.ERROR, ""),
    "the same digest alone is no failure": ([{"digest": "a"}, {"digest": "a"}], lost_cache.UNKNOWN, ""),
    "another effort is told with both": ([{}, {"effort": "low"}], lost_cache.EFFORT, "high to low"),
    "so is thinking that is switched": (
        [{"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}], lost_cache.EFFORT, "thinking adaptive to disabled",
    ),
    "what other requests of the client have does not matter": ([{}, {}, TITLE], lost_cache.UNKNOWN, ""),
    "a request that begins as the one before was lost early": ([*SAME], lost_cache.EARLY, ""),
    "unless the provider was asked to clear": ([{**SAME[0], **CLEAR}, {**SAME[1], **CLEAR}], lost_cache.UNKNOWN, ""),
    "or something else in it is another": ([SAME[0], {**SAME[1], "betas": ["fast"]}], lost_cache.UNKNOWN, ""),
    "it is said from which message on it is another": (
        [{"messages": TWO}, {"messages": ("begin", "changed", "next", "last")}], lost_cache.MESSAGES, "from message 2 of 3 on",
    ),
    "and below which heading the system prompt is": ([KIND, BRIEF], lost_cache.SYSTEM, "Rules"),
    "or lacks one": ([BRIEF, TONELESS], lost_cache.SYSTEM, "Tone"),
    "or what came or went where it has none": ([{"system": "One."}, {"system": "Two."}], lost_cache.SYSTEM, "while linear came or went"),
}  # fmt: skip


@pytest.mark.parametrize(("requests", "cause", "detail"), NOTED.values(), ids=NOTED)
def test_the_notes_of_requests_tell_the_cause(requests: list[dict], cause: str, detail: str, tmp_path: Path):
    assert _requested(tmp_path, *requests) == [(cause, detail)]


@pytest.mark.parametrize("what", [lost_cache.COMPACTION, lost_cache.REWIND, lost_cache.COMMAND, lost_cache.INTERRUPTION, lost_cache.DATE])
def test_an_event_that_left_the_request_unchanged_is_not_the_cause(what: str, tmp_path: Path):
    conversation = Conversation()
    conversation.sent(messages=ONE)
    conversation.request()
    HAPPENS.get(what, lambda it: it.wait(3_000))(conversation)
    conversation.sent(messages=TWO)
    conversation.request(reads=BASE - 5_000)
    assert _causes_of(conversation, tmp_path) == [(lost_cache.EARLY, "")]


def test_requests_that_go_on_from_the_same_one_do_not_share_what_they_add(tmp_path: Path):
    conversation = Conversation()
    first = conversation.sent(messages=ONE)
    conversation.request(requestRef=first)
    conversation.sent(messages=("a title?",), on=(first, 2), source="generate_session_title")
    second = conversation.sent(messages=("next",), on=(first, 2))
    conversation.request(reads=BASE - 5_000, requestRef=second)
    third = conversation.sent(messages=("otherwise",), on=(second, 2))
    conversation.request(reads=BASE - 5_000, requestRef=third)
    unknown = conversation.sent(messages=("more",), on=("nobody", 2))
    conversation.request(reads=BASE - 5_000, requestRef=unknown)
    causes = [(lost_cache.EARLY, ""), (lost_cache.MESSAGES, "from message 3 of 3 on"), (lost_cache.UNKNOWN, "")]
    assert _causes_of(conversation, tmp_path) == causes


@pytest.mark.parametrize(("is_error", "cause"), [(True, lost_cache.ERROR), (False, lost_cache.UNKNOWN)])
def test_what_the_client_answers_for_itself_is_no_error_unless_it_says_so(is_error: bool, cause: str, tmp_path: Path):
    conversation = Conversation()
    message = {"model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]}
    conversation.add("assistant", message=message, isApiErrorMessage=is_error)
    conversation.request(reads=BASE - 5_000)
    assert _causes_of(conversation, tmp_path) == [(cause, "")]


def test_where_something_else_in_the_request_is_another_an_event_may_be_the_cause(tmp_path: Path):
    conversation = Conversation()
    conversation.sent(messages=ONE)
    conversation.request()
    conversation.command("/fast")
    conversation.sent(messages=TWO, speed="fast")
    conversation.request(reads=BASE - 5_000)
    assert _causes_of(conversation, tmp_path) == [(lost_cache.COMMAND, "/fast")]


def test_an_answer_that_names_its_request_is_matched_even_if_the_note_comes_later(tmp_path: Path):
    conversation = Conversation()
    first = conversation.sent(messages=ONE)
    conversation.request(requestRef=first)
    second = conversation.sent(messages=TWO, effort="low")
    noted = conversation.entries[-2:]
    del conversation.entries[-2:]
    conversation.request(reads=BASE - 5_000, requestRef=second)
    conversation.entries += noted
    conversation.sent(messages=(*TWO, "more"), effort="low")
    conversation.request(reads=BASE - 5_000, requestRef=f"request-{len(conversation.entries) - 1}")
    assert _causes_of(conversation, tmp_path) == [(lost_cache.EFFORT, "high to low"), (lost_cache.EARLY, "")]


def test_a_subagent_is_known_by_the_notes_of_its_own_requests(tmp_path: Path):
    conversation = Conversation()
    for effort in ("high", "low"):
        conversation.sent(effort=effort, source="agent:builtin:general-purpose")
        conversation.request(reads=BASE - 5_000)
    conversation.entries = [{**entry, "isSidechain": True, "agentId": "a1"} for entry in conversation.entries]
    for entry in conversation.entries:  # the type stands first in the lines of notes
        if entry["type"].startswith("api-"):
            entry.pop("isSidechain")
    assert [detail for cause, detail in _causes_of(conversation, tmp_path) if cause == lost_cache.EFFORT] == ["high to low"]


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ("tools_changed", lost_cache.TOOLS), ("system_changed", lost_cache.SYSTEM), ("messages_changed", lost_cache.MESSAGES),
        ("previous_message_not_found", lost_cache.UNKNOWN), ("unavailable", lost_cache.UNKNOWN), ("model_changed", lost_cache.UNKNOWN),
    ],
)  # fmt: skip
def test_the_provider_s_reason_is_believed(says: str, cause: str, tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    conversation.prompt("go on")
    conversation.request(reads=BASE - 5_000, says=says)
    assert _causes_of(conversation, tmp_path) == [(cause, "")]


def test_the_provider_s_word_comes_before_what_may_have_been(tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    conversation.command("/context")
    HAPPENS[lost_cache.TOOLS](conversation)
    conversation.request(reads=BASE - 5_000, says="messages_changed")
    assert _causes_of(conversation, tmp_path) == [(lost_cache.COMMAND, "/context")]
    conversation.wait(900)
    conversation.request(reads=BASE - 5_000, says="messages_changed")
    assert _causes_of(conversation, tmp_path)[1:] == [(lost_cache.MESSAGES, "")]


@pytest.mark.parametrize("version", ["2.1.100", "2.1.331", "3.0.0"])
def test_a_client_that_asks_the_provider_to_keep_thinking_does_not_lose_it(version: str, tmp_path: Path):
    conversation = Conversation("claude-sonnet-4-5-20250929")
    conversation.request(thinks=True, version=version)
    conversation.prompt("next")
    conversation.request(reads=BASE - 5_000, version=version)
    assert _causes_of(conversation, tmp_path) == [(lost_cache.UNKNOWN, "")]


@pytest.mark.parametrize(("edits", "cause"), [([], lost_cache.THINKING), ([{"type": "clear_thinking_20251015", "keep": "all"}], None)])
def test_the_notes_say_whether_it_asked(edits: list, cause: str | None, tmp_path: Path):
    conversation = Conversation("claude-sonnet-4-5-20250929")
    conversation.sent(messages=ONE, context_management={"edits": edits})
    conversation.request(thinks=True, version="2.1.331")
    conversation.prompt("next")
    conversation.sent(messages=TWO, context_management={"edits": edits})
    conversation.request(reads=BASE - 5_000, version="2.1.331")
    assert _causes_of(conversation, tmp_path) == [(cause or lost_cache.EARLY, "")]


def test_a_prompt_of_many_parts_takes_as_many_positions_of_the_look_back(tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    conversation.add("user", message={"role": "user", "content": [{"type": "text", "text": f"part {number}"} for number in range(25)]})
    conversation.request(reads=BASE - 5_000)
    assert _causes_of(conversation, tmp_path) == [(lost_cache.LOOK_BACK, "")]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"api-request",', '{"type":"api-request","params":{},"shapeHash":[]}', '{"type":"api-request-shape",7}',
        '{"type":"api-request","querySource":"sdk","id":[],"params":{"thinking":7,"context_management":{"edits":[7]}},"keep":9,"tail":7}',
        '{"type":"api-request","querySource":"sdk","id":"a","params":{},"base":"b","keep":true,"tail":[{}],"requestDigest":{}}',
        '{"type":"api-request-shape","shapeHash":"a","shape":{"tools":[7,{}],"system":[{"text":7},[]]}}',
        '{"type":"api-request-shape","shapeHash":"a","shape":{"tools":' + "[" * 100_000 + "]" * 100_000 + "}}",
    ],
)  # fmt: skip
def test_a_note_that_is_not_understood_says_nothing(line: str, tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    path = Path(conversation.write(tmp_path / "odd.jsonl"))
    path.write_text(path.read_text() + line + "\n" + line + "\n")
    assert digest_of(str(path), path.stat().st_size)["losses"] == []


usages = st.builds(
    lambda read, created, plain, at, model: Usage(read + created + plain, at, model, 300, read, created),
    st.integers(0, 500_000), st.integers(0, 500_000), st.integers(0, 5_000), st.floats(0, 1e6),
    st.sampled_from(["claude-opus-4-6", "claude-sonnet-4-5", ""]),
)  # fmt: skip


@given(st.lists(usages, max_size=8))
def test_a_loss_is_never_more_than_was_left_nor_more_than_was_sent_again(requests: list[Usage]):
    lost = lost_cache.losses([SentRequest(usage, between=Interval()) for usage in requests], lambda at: at // 86_400, MODELS)
    pairs = list(zip(requests, requests[1:]))
    assert len(lost) <= len(pairs)
    for loss in lost:
        before = next(old for old, new in pairs if new is loss.usage)
        assert lost_cache.LEAST_TOKENS < loss.tokens <= before.read + before.created
        assert loss.tokens <= loss.usage.tokens - loss.usage.read
        assert loss.cause in lost_cache.CAUSES
