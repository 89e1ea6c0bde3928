"""A session that is compacted again and again: what the helper answers, what the archive has, and the way back."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.compacting import LISTS_SHARE
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.list_text import handle_of_fold, handle_of_list
from popkit_retention.core.policy.messages import Message, message_of, paired
from popkit_retention.core.policy.ruleset import COMPACT_LEAST_TOKENS

from .asking import Helper, Transcript, lines, numbered
from .running import Running

CYCLES, CALLS = 10, 14


class Working:
    """A session that works on, with everything that was ever said and called in it."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        self.transcript = Transcript(helper.transcript, helper.project)
        self.client = Running(helper)
        self.paths: dict[str, str] = {}  # id of a call -> the file that it read
        self.whole = paired(self.messages())

    def messages(self) -> list[Message]:
        return [message_of(row, TOOLS) for row in self.client.rows()]

    def works(self, cycle: int) -> None:
        written = self.helper.transcript.read_text().splitlines()
        self.transcript.count, self.transcript.last = len(written), json.loads(written[-1])["uuid"]
        before = len(paired(self.messages()))
        self.transcript.asked(f"and now part {cycle}")
        for number in range(CALLS):
            if number % 3 == 0:
                self.transcript.said("I look at the next one.")
            id, path = f"toolu_{len(self.paths):04}", str(self.helper.project / f"part{cycle}_{number}.py")
            self.paths[id] = path
            self.transcript.called(id, "Read", {"file_path": path}, numbered(lines(60, f"of_{cycle}_{number}")))
        self.transcript.answered(40_000)
        self.whole += paired(self.messages())[before:]

    def report(self) -> dict:
        return json.loads(self.helper.run("context", "retention", "--json", "--session", self.helper.session))

    def lists(self) -> list[str]:
        return [message.text for message in self.messages() if handle_of_list(message)]


@pytest.fixture
def working(helper_with) -> Working:
    helper = helper_with({"compact_target": 0.1})
    working = Working(helper)
    for cycle in range(CYCLES):
        working.works(cycle)
        assert "rows" in working.client.compacts()
        assert helper.failures() == ""
    return working


def said(messages: list[Message]) -> list[tuple[str, str]]:
    """All lines that were said, by whom; those of the assistant may have been joined."""
    return [(message.role, line) for message in messages if message.text for line in message.text.split("\n")]


def called(messages: list[Message]) -> list[tuple[str, object, str]]:
    """Every call with its input and its result."""
    inputs = {use.id: use.input for message in messages for use in message.uses}
    return [(shown.id, inputs[shown.id], shown.text) for message in messages for shown in message.results]


def test_lists_have_their_share_and_no_word_is_lost(working: Working):
    listed = working.lists()
    assert 0 < sum(map(estimate_tokens, listed)) <= 1.5 * LISTS_SHARE * COMPACT_LEAST_TOKENS  # the estimate is calibrated
    words = [message for message in paired(working.messages()) if not handle_of_list(message)]
    assert said(words) == said(working.whole)


def test_every_call_is_found_from_the_lists_that_remain(working: Working):
    found = {id for id, _, _ in called(working.messages())}
    for line in working.lists():
        printed = working.helper.run("restore", handle_of_fold(line))
        handles = [handle_of_fold(each) for each in printed.splitlines() if handle_of_fold(each)]
        printed += "".join(working.helper.run("restore", handle) for handle in handles)
        found |= {id for id, _, _ in called(working.whole) if f'{working.paths[id]}"' in printed}
    assert found == set(working.paths)


def test_undone_one_after_another_they_give_the_whole_conversation_back(working: Working):
    for _ in range(CYCLES):
        assert working.helper.ask("/command", {"words": "undo"})["compact"] is True
        assert "rows" in working.client.compacts(own=True)
    back = paired(working.messages())
    assert called(back) == called(working.whole)
    assert said(back) == said(working.whole)
    assert working.helper.ask("/command", {"words": "undo"}).get("compact") is None
    report = working.report()
    assert {row["id"] for row in report["results"]} == set(working.paths)
    assert (report["calls"], report["compacted"]) == (len(working.paths), 0)
    why = working.helper.run("context", "why", "T1", "--session", working.helper.session)
    assert why.startswith("T1  Read part0_0.py")
    assert "Its id: toolu_0000" in why


def test_panel_and_why_know_what_came_back(working: Working):
    before = {row["id"] for row in working.report()["results"]}
    assert working.helper.ask("/command", {"words": "undo"})["compact"] is True
    working.client.compacts(own=True)
    shown = {id for id, _, _ in called(working.messages())}
    assert {row["id"] for row in working.report()["results"]} == shown > before


def test_one_result_comes_back_from_within_merged_lists_without_the_others(working: Working):
    (id, _, text) = called(working.whole)[3]
    assert id not in {each for each, _, _ in called(working.messages())}
    before = {each for each, _, shown in called(working.messages()) if "popkit restore" not in shown}
    assert working.helper.ask("/command", {"words": f"restore {id} --in-place"})["compact"] is True
    assert "rows" in working.client.compacts(own=True)
    after = called(working.messages())
    assert {each for each, _, shown in after if "popkit restore" not in shown} == {*before, id}
    assert [shown for each, _, shown in after if each == id] == [text]
    assert len(after) < len(called(working.whole)) / 2


def test_a_line_that_the_user_quotes_stays_as_words(working: Working):
    quote = working.lists()[0]
    working.works(CYCLES)
    working.transcript.asked(quote)
    for cycle in (CYCLES + 1, CYCLES + 2):
        working.works(cycle)
        working.client.compacts()
    texts = [message.text for message in paired(working.messages())]
    assert texts[texts.index(f"and now part {CYCLES + 1}") - 1] == quote
