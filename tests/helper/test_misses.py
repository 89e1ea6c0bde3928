"""What the prompt cache loses is said when it happens: once, where it cost more than ten cents, and not what a session lost before."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core import text
from popkit_retention.core.config import layers
from popkit_retention.core.helper.prompt_cache import MOST_AGENTS, Misses
from popkit_retention.core.io import home
from popkit_retention.core.policy import lost_cache
from popkit_retention.core.policy.models import models_of
from popkit_retention.core.views.lost_caches import CAUSES
from tests.bill.conversations import BASE, Conversation
from tests.lab.transcripts import BEGAN

from .asking import Helper

MODELS = models_of(layers.load(home.plugin_root(), "/nonexistent", None))


class Watched:
    """A conversation of 200,000 tokens that is looked at as it grows."""

    def __init__(self, path: Path, hour: bool = True) -> None:
        self.path = path
        self.conversation = Conversation(hour=hour)
        self.conversation.request(total=200_000)
        self.write()
        self.misses = Misses(str(path), BEGAN)

    def write(self) -> None:
        self.conversation.written(self.path)

    def comes_back(self) -> None:
        self.conversation.wait(4_000)
        self.conversation.prompt("I am back")
        self.conversation.request(reads=BASE)

    def asks_for_context(self) -> None:
        self.conversation.command("/context")
        self.conversation.request(reads=BASE)

    def notice(self) -> str:
        self.write()
        return self.misses.notice(MODELS)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    session = Watched(tmp_path / "session.jsonl")
    assert session.notice() == ""
    return session


def test_a_loss_is_reported_once_in_tokens_and_dollars_with_its_cause(watched: Watched):
    watched.comes_back()
    assert watched.notice() == "Cache miss: ~180k tokens written again, $1.71 (you were away 66 min)"
    assert watched.notice() == ""
    watched.conversation.request()
    assert watched.notice() == ""


def test_a_pause_in_which_nobody_spoke_is_not_the_users(watched: Watched):
    watched.conversation.wait(4_000)
    watched.conversation.request(reads=BASE)
    assert watched.notice().endswith("(66 min went by)")


def test_losses_of_one_turn_are_one_line(watched: Watched):
    watched.conversation.model = "claude-opus-4-5"
    watched.conversation.request(reads=0)
    watched.conversation.attach(type="deferred_tools_delta", addedNames=["mcp__linear__list"])
    watched.conversation.request(reads=BASE)
    causes = "(the model changed: claude-opus-4-6 to claude-opus-4-5; tools or servers came or went: linear)"
    assert watched.notice() == f"2 cache misses: ~382k tokens written again, $3.63 {causes}"


def test_a_loss_that_cost_little_is_not_reported(watched: Watched):
    watched.conversation.request(reads=200_000 - 9_000)
    assert len(watched.conversation.losses(watched.path.parent)) == 1
    assert watched.notice() == ""


def test_a_loss_of_a_model_without_a_price_is_not_reported(watched: Watched):
    watched.conversation.model = "claude-nobody-1"
    watched.conversation.request(reads=0)
    assert watched.notice() == ""


def test_a_resumed_session_is_told_what_resuming_cost_and_not_what_it_lost_before(watched: Watched):
    watched.conversation.request(reads=0)
    watched.write()
    misses = Misses(str(watched.path), BEGAN + watched.conversation.at)
    misses.look()
    watched.comes_back()
    watched.write()
    assert misses.notice(MODELS).endswith("(you were away 66 min)")


def test_what_was_read_is_not_read_again(watched: Watched):
    watched.asks_for_context()
    whole, read = json.dumps(watched.conversation.entries[-1]), watched.path.stat().st_size
    watched.write()
    lines = watched.path.read_bytes()
    watched.path.write_bytes(b"x" * (read - 1) + b"\n" + lines[read:])
    assert whole.encode() in watched.path.read_bytes()
    assert watched.misses.notice(MODELS).endswith("(a slash command: /context)")


def test_a_line_that_is_being_written_is_read_once_it_is_whole(watched: Watched):
    watched.asks_for_context()
    watched.write()
    whole = watched.path.read_bytes()
    watched.path.write_bytes(whole[:-20])
    assert watched.misses.notice(MODELS) == ""
    watched.path.write_bytes(whole)
    assert watched.misses.notice(MODELS).endswith("(a slash command: /context)")


def test_a_request_noted_after_its_answer_is_reported_once_its_cause_is_known(watched: Watched):
    conversation = watched.conversation
    conversation.request(requestRef=conversation.sent(messages=("begin",)))
    assert watched.notice() == ""
    asked = conversation.sent(messages=("begin", "next"), effort="low")
    noted = conversation.entries[-2:]
    del conversation.entries[-2:]
    conversation.request(reads=BASE, requestRef=asked)
    assert watched.notice() == ""
    conversation.entries += noted
    assert watched.notice().endswith("(the effort changed: high to low)")
    assert watched.notice() == ""


def test_a_transcript_that_was_replaced_repeats_nothing(watched: Watched):
    watched.conversation.request(reads=0)
    assert watched.notice()
    other = watched.path.with_suffix(".new")
    watched.asks_for_context()
    watched.conversation.write(other)
    other.replace(watched.path)
    assert watched.misses.notice(MODELS).endswith("(a slash command: /context)")


def subagent_of(watched: Watched, name: str = "agent-a1") -> Watched:
    """A conversation of the same size in a subagent of a watched session."""
    folder = watched.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    return Watched(folder / f"{name}.jsonl")


def test_a_loss_of_a_subagent_is_reported_once_and_named_as_its_own(watched: Watched):
    subagent = subagent_of(watched)
    subagent.conversation.wait(4_000)
    subagent.conversation.prompt("go on")
    subagent.conversation.request(reads=BASE)
    subagent.write()
    assert watched.notice() == "Cache miss: ~180k tokens written again, $1.71 (in a subagent, 66 min went by)"
    assert watched.notice() == ""


def test_neither_thread_hides_what_another_lost_before(watched: Watched):
    subagent = subagent_of(watched)
    watched.conversation.wait(9_000)
    watched.conversation.request(reads=200_000)
    assert watched.notice() == ""
    subagent.conversation.model = "claude-opus-4-5"
    subagent.conversation.request(reads=0)
    subagent.write()
    watched.asks_for_context()
    notice = watched.notice()
    assert notice.startswith("2 cache misses: ")
    assert notice.endswith("(a slash command: /context; in a subagent, the model changed: claude-opus-4-6 to claude-opus-4-5)")


def test_a_subagent_that_ended_before_the_session_was_taken_up_is_not_read(watched: Watched):
    subagent = subagent_of(watched)
    subagent.conversation.request(reads=0)
    subagent.write()
    os.utime(subagent.path, (BEGAN - 10, BEGAN - 10))
    assert Misses(str(watched.path), BEGAN).notice(MODELS) == ""


def test_of_subagents_that_come_and_go_only_the_newest_are_held(watched: Watched):
    watched.notice()
    held = []
    for number in range(3 * MOST_AGENTS):
        subagent = subagent_of(watched, f"agent-{number:03}")
        os.utime(subagent.path, (BEGAN + number + 1, BEGAN + number + 1))
        watched.misses.look()
        held.append(watched.misses.held)
    assert held[MOST_AGENTS] < 2 * held[MOST_AGENTS // 2] + held[0]
    assert max(held[MOST_AGENTS:]) == held[MOST_AGENTS]


def test_a_dismissed_subagent_that_goes_on_reports_only_its_new_losses(watched: Watched):
    first = subagent_of(watched, "agent-000")
    first.conversation.request(reads=0)
    first.write()
    os.utime(first.path, (BEGAN + 1, BEGAN + 1))
    assert watched.notice().startswith("Cache miss: ")
    for number in range(1, 2 * MOST_AGENTS):
        os.utime(subagent_of(watched, f"agent-{number:03}").path, (BEGAN + 1 + number, BEGAN + 1 + number))
        assert watched.notice() == ""
    first.conversation.wait(4_000)
    first.conversation.prompt("go on")
    first.conversation.request(reads=BASE)
    first.write()
    assert watched.notice() == "Cache miss: ~182k tokens written again, $1.73 (in a subagent, 66 min went by)"
    assert watched.notice() == ""


def test_a_session_without_a_transcript_says_nothing(tmp_path: Path):
    assert Misses(str(tmp_path / "none.jsonl"), 0).notice(MODELS) == ""


@pytest.fixture
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helper]:
    """A helper whose session begins with the conversations of these tests."""
    started = Helper(tmp_path_factory.mktemp("h"), POPKIT_CLOCK=str(BEGAN))
    yield started
    started.stop()


def test_the_helper_hands_it_to_the_client_as_a_toast(helper: Helper):
    watched = Watched(helper.transcript)
    assert helper.ask("/view", {"turn_ended": True})["toast"] == ""
    watched.conversation.request(reads=0)
    watched.write()
    assert helper.ask("/view", {"turn_ended": True})["toast"].startswith("Cache miss: ~200k tokens written again")
    assert helper.ask("/view", {"turn_ended": True})["toast"] == ""
    assert not helper.failures()


def test_every_cause_has_words_that_fit_into_a_line():
    assert set(CAUSES) == set(lost_cache.CAUSES)
    assert max(text.width(what) for what, _ in CAUSES.values()) < 45
