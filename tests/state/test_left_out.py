"""What the provider has left out of requests is found, from what answers say or from the prompts, and noted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.policy.context import OUTSIDE
from hooks.utils.state import live, store
from hooks.utils.state.provider_cleared import editing_of
from tests.hosts.lines import Lines

TEXT = "a line of what was printed, like no other\n" * 120
TOKENS = 2_950  # of it, or so
EDIT = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 20_000},
    "keep": {"type": "tool_uses", "value": 2},
}


def usage(prompt: int) -> dict[str, int]:
    return {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": prompt - 103, "output_tokens": 5}


def managed(uses: int, tokens: int) -> dict[str, Any]:
    return {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": uses, "cleared_input_tokens": tokens}]}


class Told:
    """A session of results and answers; the prompt grows by what is printed, but for what is left out."""

    def __init__(self, folder: Path, asked: object = None):
        self.lines, self.folder, self.prompt, self.count = Lines(), folder, 18_000, 0
        body = json.dumps({"context_management": {"edits": asked if isinstance(asked, list) else [asked]}})
        environ = {"POPKIT_HOME": str(folder / "popkit"), **({"CLAUDE_CODE_EXTRA_BODY": body} if asked else {})}
        self.site = live.Site(environ, "s", "/shop")
        self.lines.prompt()

    def result(self, tool: str = "Bash") -> None:
        self.count += 1
        self.lines.use(f"t{self.count}", tool, {"command": f"print {self.count}"})
        self.lines.result(f"t{self.count}", TEXT + str(self.count), {"stdout": TEXT, "stderr": "", "interrupted": False})
        self.prompt += TOKENS

    def answer(self, less: int = 0, says: object = None) -> None:
        self.prompt -= less
        self.lines.say("so", usage(self.prompt), says)

    def write(self) -> str:
        return self.lines.write(self.folder / "session.jsonl")

    def look(self):
        return live.reconcile(self.site, self.write())

    def noted(self) -> list[tuple[list[str], int]]:
        entries = store.read_lines(self.site.paths().journal)
        return [(entry["ids"], entry["tokens"]) for entry in entries if entry["event"] == "outside"]


def test_what_an_answer_says_is_noted_once_however_often_it_is_said(tmp_path: Path):
    told = Told(tmp_path)
    for _ in range(3):
        told.result()
    told.answer()
    told.answer(2 * TOKENS, managed(2, 5_900))
    made = told.look()
    assert told.noted() == [(["t1", "t2"], 5_900)]
    assert [made.state.expired[id].cleared for id in ("t1", "t2")] == [OUTSIDE, OUTSIDE]
    assert "t3" in made.state.live
    told.result()
    told.answer(0, managed(2, 5_900))  # each request anew
    told.look()
    assert len(told.noted()) == 1
    told.answer(TOKENS, managed(3, 8_800))
    made = told.look()
    assert [ids for ids, _ in told.noted()] == [["t1", "t2"], ["t3"]]
    ledger = made.state.counts.ledger
    assert (ledger["clears"], ledger["confirmed"], ledger["results"]) == (2, 2, 3)
    assert ledger["reclaimed_tokens"] == pytest.approx(3 * TOKENS, rel=0.3)


def test_the_hosts_own_cut_is_noted_too(tmp_path: Path):
    told = Told(tmp_path)
    told.result()
    told.answer()
    told.answer(TOKENS, {"applied_edits": [], "client_cut_tool_uses": 1, "client_estimated_cleared_input_tokens": 1_800})
    told.look()
    assert told.noted() == [(["t1"], 1_800)]


def test_where_nothing_is_said_the_prompt_tells_what_was_asked_for(tmp_path: Path):
    told = Told(tmp_path, EDIT)
    for _ in range(3):
        told.result()
        told.answer()
    told.look()
    assert told.noted() == []
    told.result()
    told.answer(2 * TOKENS)
    told.look()
    [(ids, tokens)] = told.noted()
    assert (ids, tokens) == (["t1", "t2"], pytest.approx(2 * TOKENS, rel=0.3))
    told.result()
    told.answer(TOKENS)  # one comes, one goes
    told.look()
    assert [ids for ids, _ in told.noted()] == [["t1", "t2"], ["t3"]]


@pytest.mark.parametrize(
    "asked",
    [
        None,
        {**EDIT, "trigger": {"type": "input_tokens", "value": 90_000}},
        {**EDIT, "clear_at_least": {"type": "input_tokens", "value": 50_000}},
        {**EDIT, "keep": {"type": "tool_uses", "value": 9}},
        {**EDIT, "exclude_tools": ["Bash"]},
    ],
    ids=["nothing", "a trigger that is far", "more at once", "more kept", "spared"],
)
def test_a_prompt_that_falls_for_another_reason_tells_nothing(tmp_path: Path, asked: object):
    told = Told(tmp_path, asked)
    for _ in range(4):
        told.result()
        told.answer()
    told.answer(2 * TOKENS)
    told.look()
    assert told.noted() == []


def test_after_a_compaction_the_count_begins_anew(tmp_path: Path):
    told = Told(tmp_path)
    told.result()
    told.result()
    told.answer(0, managed(1, 1_900))
    told.look()
    told.lines.compact()
    told.result()
    told.answer(0, managed(1, 1_900))
    told.look()
    assert [ids for ids, _ in told.noted()] == [["t1"], ["t3"]]


@pytest.mark.parametrize(
    "says",
    [7, [], {"applied_edits": 3}, {"applied_edits": [1, {}, {"type": "clear_tool_uses_20250919", "cleared_tool_uses": "x"}]}, "x"],
)
def test_what_is_not_understood_says_nothing(tmp_path: Path, says: object):
    told = Told(tmp_path)
    told.result()
    told.answer()
    told.answer(0, says)
    told.look()
    assert told.noted() == []


@pytest.mark.parametrize("asked", ["x", 7, [EDIT, EDIT], {"type": "clear_thinking"}, {**EDIT, "keep": 7, "trigger": None}])
def test_settings_of_any_shape_are_taken_or_left(tmp_path: Path, asked: object):
    editing = editing_of(Told(tmp_path, asked).site.environ)
    assert editing is None or editing == (100_000, 3, 0, ())
