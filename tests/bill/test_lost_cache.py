"""What the prompt cache lost has the cause that the transcript shows, and none where it shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.policy import lost_cache
from hooks.utils.policy.conversation import Usage
from hooks.utils.policy.lost_cache import Between, Sent
from popkit_retention.bill.digests import digest_of
from tests.bill.conversations import BASE, Conversation


def test_a_conversation_that_finds_its_cache_loses_nothing(tmp_path: Path):
    conversation = Conversation()
    for _ in range(5):
        conversation.prompt("and now?")
        conversation.request()
    assert conversation.losses(tmp_path) == []


def _pause(it: Conversation) -> None:
    it.wait(4_000)


def _compaction(it: Conversation) -> None:
    it.fold()


def _rewind(it: Conversation) -> None:
    first = it.entries[1]["uuid"]
    it.prompt("no, differently", parent=first)


def _model(it: Conversation) -> None:
    it.model = "claude-opus-5"


def _effort(it: Conversation) -> None:
    it.command("/effort")


def _tools(it: Conversation) -> None:
    it.attach(type="deferred_tools_delta", addedNames=["mcp__linear__get_issue", "mcp__linear__list"])


def _error(it: Conversation) -> None:
    it.add("system", subtype="api_error")


def _date(it: Conversation) -> None:
    it.wait(3_000)


def _command(it: Conversation) -> None:
    it.command("/context")


def _interruption(it: Conversation) -> None:
    it.prompt("[Request interrupted by user]")


def _look_back(it: Conversation) -> None:
    for number in range(12):
        it.use(f"t{number}", "Read", {"file_path": f"{number}.py"}, message=f"m-{it.count}")
        it.result(f"t{number}", "text")


def _early(it: Conversation) -> None:
    it.wait(900)


def _nothing(it: Conversation) -> None:
    it.prompt("go on")


@pytest.mark.parametrize(
    ("happens", "cause"),
    [
        (_pause, lost_cache.PAUSE), (_compaction, lost_cache.COMPACTION), (_rewind, lost_cache.REWIND), (_model, lost_cache.MODEL),
        (_effort, lost_cache.EFFORT), (_tools, lost_cache.TOOLS), (_error, lost_cache.ERROR), (_command, lost_cache.COMMAND),
        (_interruption, lost_cache.INTERRUPTION), (_look_back, lost_cache.LOOK_BACK), (_early, lost_cache.EARLY),
        (_nothing, lost_cache.UNKNOWN),
    ],
)  # fmt: skip
def test_each_cause_is_told_by_what_stands_between_the_requests(happens: Callable, cause: str, tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    happens(conversation)
    conversation.request(reads=BASE - 5_000)
    assert [found for found, _ in conversation.losses(tmp_path)] == [cause]


def test_a_prompt_that_has_shrunk_lacks_what_was_cleared(tmp_path: Path):
    conversation = Conversation()
    conversation.request(total=80_000)
    conversation.request(reads=BASE, total=60_000)
    assert conversation.losses(tmp_path) == [(lost_cache.CLEARED, 40_000)]


def test_what_an_answer_says_was_cleared_is_told_though_the_prompt_is_no_smaller(tmp_path: Path):
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
    assert [found for found, _ in conversation.losses(tmp_path)] == [cause]


def test_the_day_is_the_users(tmp_path: Path):
    old, new = Usage(50_000, 1_000.0, "claude-opus-5", 3_600, 0, 50_000), Usage(52_000, 1_100.0, "claude-opus-5", 3_600, 20_000, 32_000)
    found = lost_cache.losses([Sent(old), Sent(new)], lambda at: at >= 1_050)
    assert [(loss.cause, loss.tokens) for loss in found] == [(lost_cache.DATE, 30_000)]


def test_a_cache_of_five_minutes_is_cold_after_six(tmp_path: Path):
    conversation = Conversation(hour=False)
    conversation.wait(360)
    conversation.request(reads=0)
    assert conversation.losses(tmp_path) == [(lost_cache.PAUSE, BASE + 2_000)]


def test_parallel_results_are_one_position_of_the_look_back(tmp_path: Path):
    conversation = Conversation()
    for number in range(30):
        conversation.use(f"t{number}", "Read", {"file_path": f"{number}.py"}, message="m-1")
    for number in range(30):
        conversation.result(f"t{number}", "text")
    conversation.request(reads=BASE - 5_000)
    assert [found for found, _ in conversation.losses(tmp_path)] == [lost_cache.UNKNOWN]


def test_servers_are_named_once_however_many_tools_they_bring(tmp_path: Path):
    conversation = Conversation()
    _tools(conversation)
    conversation.request(reads=BASE - 5_000)
    assert [loss["detail"] for loss in conversation.digest(tmp_path)["losses"]] == ["linear"]


def _requested(folder: Path, before: dict, *after: dict) -> list[tuple[str, str]]:
    """(cause, detail) of what is lost between a request and the next, of which the client notes these; a server is named in between."""
    conversation = Conversation()
    conversation.sent(**before)
    conversation.request()
    _tools(conversation)
    for noted in after:
        conversation.sent(**noted)
    conversation.request(reads=BASE - 5_000)
    path = Path(conversation.write(folder / "noted.jsonl"))
    path.write_text(path.read_text().replace('{"type": "api-request', '{"type":"api-request'))
    return [(loss["cause"], loss["detail"]) for loss in digest_of(str(path), path.stat().st_size)["losses"]]


def test_tools_are_the_cause_where_the_request_has_others(tmp_path: Path):
    other = {"tools": ("Bash", "mcp__jira__get", "mcp__jira__list")}
    assert _requested(tmp_path, {}, other) == _requested(tmp_path, other, {}) == [(lost_cache.TOOLS, "jira")]


def test_tools_that_are_only_named_in_the_conversation_are_not_the_cause(tmp_path: Path):
    assert _requested(tmp_path, {}, {}) == [(lost_cache.UNKNOWN, "")]


def test_a_request_that_is_sent_twice_has_failed(tmp_path: Path):
    assert _requested(tmp_path, {"digest": "a"}, {"digest": "b"}, {"digest": "b"}) == [(lost_cache.ERROR, "")]
    assert _requested(tmp_path, {"digest": "a"}, {"digest": "a"}) == [(lost_cache.UNKNOWN, "")]


def test_an_effort_that_is_another_is_told_with_both(tmp_path: Path):
    assert _requested(tmp_path, {}, {"effort": "low"}) == [(lost_cache.EFFORT, "high to low")]


def test_what_other_requests_of_the_client_have_does_not_matter(tmp_path: Path):
    title = {"source": "generate_session_title", "tools": (), "effort": "low"}
    assert _requested(tmp_path, {}, {}, title) == [(lost_cache.UNKNOWN, "")]


@pytest.mark.parametrize(
    "line", ['{"type":"api-request",', '{"type":"api-request","params":{},"shapeHash":[]}', '{"type":"api-request-shape",7}']
)
def test_a_note_that_is_not_understood_says_nothing(line: str, tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    path = Path(conversation.write(tmp_path / "odd.jsonl"))
    path.write_text(path.read_text() + line + "\n")
    assert digest_of(str(path), path.stat().st_size)["losses"] == []


usages = st.builds(
    lambda read, created, plain, at, model: Usage(read + created + plain, at, model, 300, read, created),
    st.integers(0, 500_000), st.integers(0, 500_000), st.integers(0, 5_000), st.floats(0, 1e6),
    st.sampled_from(["claude-opus-4-6", "claude-sonnet-4-5", ""]),
)  # fmt: skip


@given(st.lists(usages, max_size=8))
def test_a_loss_is_never_more_than_was_left_nor_more_than_was_sent_anew(requests: list[Usage]):
    found = lost_cache.losses([Sent(usage, between=Between()) for usage in requests], lambda at: at // 86_400)
    pairs = list(zip(requests, requests[1:]))
    assert len(found) <= len(pairs)
    for loss in found:
        before = next(old for old, new in pairs if new is loss.usage)
        assert lost_cache.LEAST_TOKENS < loss.tokens <= before.read + before.created
        assert loss.tokens <= loss.usage.tokens - loss.usage.read
        assert loss.cause in lost_cache.CAUSES
