"""Pairs of calls with the right answer, written down by somebody who had not seen the rules: does the second call end the result of the
first?

`pairs.json`: of each pair its kind, whether it `ends`, why, and its calls: the first, what lies between, the second. A call is what was run
(a command line, or the tool with its input), what it returned (a long text by its name in `texts`), "error" if it failed, and what an MCP
server says of its tool. Those of the `second` and the `third` table are from people who had seen neither the others nor the code. A pair
may end by what lies between, too: an edited file, a commit. `disputed` has [the place of a pair, the reason] of those whose answer the
rules do not give.
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from pathlib import Path

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import events
from popkit_retention.core.policy.tools import Tool
from tests.policy.scenario import Scenario

TABLE = json.loads((Path(__file__).parent / "pairs.json").read_text("utf-8"))
PAIRS, TEXTS = TABLE["pairs"], TABLE["texts"]
DISPUTED = dict(TABLE["disputed"])
NEWER = ("superseded", "same_content")
MOST_WRONG = 0.02


def _tool(what: str | dict, notes: dict) -> tuple[Tool, dict]:
    """The tool of a call, with what its server says of it, and the input."""
    [(name, tool_input)] = [("Bash", {"command": what})] if isinstance(what, str) else what.items()
    tool = TOOLS.of(name)
    tool.is_getter = tool.is_getter or notes.get("readOnlyHint") is notes.get("idempotentHint") is True
    return tool, tool_input


def ended_by(pair: dict) -> tuple[str, str]:
    """What has ended the first result: at the second call, and at all; "" for nothing."""
    session = Scenario(cwd="/repo")
    for number, (what, text, *more) in enumerate(pair["calls"], 1):
        tool, tool_input = _tool(what, more[1] if len(more) > 1 else {})
        text = TEXTS.get(text, text)
        outcome = outcomes.outcome_of_error(text) if more[:1] == ["error"] else outcomes.outcome_of_text(tool, tool_input, text)
        if isinstance(what, str) and what.startswith("cd ") and what[3:].replace("/", "").isalnum():
            session.cwd = posixpath.join(session.cwd, what[3:])  # as the host tells it with the call
        ended = session.observe(events.Call(f"T{number}", tool, tool_input, outcome, session.at + number, session.cwd, session.turn))
    return ended.get("T1", ""), session.expired.get("T1", "")


def is_right(pair: dict) -> bool:
    at_the_second, at_all = ended_by(pair)
    return bool(at_all) if pair["ends"] else at_the_second not in NEWER


@pytest.mark.parametrize("kind", sorted({pair["kind"] for pair in PAIRS}))
def test_a_newer_call_ends_an_older_one_if_it_shows_the_same_and_only_then(kind: str):
    wrong = [
        (place, pair["calls"][0][0], pair["calls"][-1][0], "should end" if pair["ends"] else "should stay", pair["why"])
        for place, pair in enumerate(PAIRS)
        if pair["kind"] == kind and place not in DISPUTED and not is_right(pair)
    ]
    assert wrong == []


def test_what_is_disputed_is_little_and_still_disputed():
    by_answer = Counter(pair["ends"] for pair in PAIRS)
    disputed = Counter(PAIRS[place]["ends"] for place in DISPUTED)
    assert all(disputed[ends] <= MOST_WRONG * of for ends, of in by_answer.items())
    assert not [place for place in DISPUTED if is_right(PAIRS[place])]


def test_no_failed_result_is_ended_that_should_stay():
    failed = [pair for pair in PAIRS if not pair["ends"] and pair["calls"][0][2:3] == ["error"]]
    assert [pair["calls"] for pair in failed if not is_right(pair)] == []


def test_half_of_the_pairs_are_to_end():
    assert len(PAIRS) > 700
    assert 0.4 < sum(pair["ends"] for pair in PAIRS) / len(PAIRS) < 0.6
