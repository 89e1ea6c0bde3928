"""What the provider has left out of requests is found, from what answers say or from the prompts, and noted once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core import text
from popkit_retention.core.policy.context import OUTSIDE
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state import context_editing, journal, reconciling, store
from popkit_retention.core.state.context_editing import editing_of
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import panel, report
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


class Session:
    """A session of results and answers; the prompt grows by what is printed, but for what is left out."""

    def __init__(self, folder: Path, asked: object = None):
        self.lines, self.folder, self.prompt, self.count = Lines(), folder, 18_000, 0
        body = json.dumps({"context_management": {"edits": asked if isinstance(asked, list) else [asked]}})
        environ = {"POPKIT_HOME": str(folder / "popkit"), **({"CLAUDE_CODE_EXTRA_BODY": body} if asked else {})}
        self.site = Site(environ, "s", "/shop")
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
        return reconciling.reconcile(self.site, self.write())

    def noted(self) -> list[tuple[list[str], int]]:
        entries = store.read_lines(self.site.paths().journal)
        return [(entry["ids"], entry["tokens"]) for entry in entries if entry["event"] == "outside"]


def _says_what_it_left_out(session: Session):
    """A session whose answers say that three results were left out, one by one; what was rebuilt of it."""
    for _ in range(3):
        session.result()
    session.answer()
    session.answer(2 * TOKENS, managed(2, 5_900))
    rebuilt = session.look()
    assert session.noted() == [(["t1", "t2"], 5_900)]
    assert [rebuilt.state.expired[id].cleared for id in ("t1", "t2")] == [OUTSIDE, OUTSIDE]
    assert "t3" in rebuilt.state.live
    session.result()
    session.answer(0, managed(2, 5_900))  # each request anew
    session.look()
    assert len(session.noted()) == 1
    session.answer(TOKENS, managed(3, 8_800))
    rebuilt = session.look()
    assert [ids for ids, _ in session.noted()] == [["t1", "t2"], ["t3"]]
    return rebuilt


def test_an_answer_s_report_is_noted_once_and_counts_where_the_user_asked_for_it(tmp_path: Path):
    ledger = _says_what_it_left_out(Session(tmp_path, EDIT)).state.counts.ledger
    assert (ledger["clears"], ledger["confirmed"], ledger["results"]) == (2, 2, 3)
    assert ledger["reclaimed_tokens"] == pytest.approx(3 * TOKENS, rel=0.3)


def test_what_the_host_clears_by_itself_is_noted_and_no_gain_of_ours(tmp_path: Path):
    session = Session(tmp_path)
    ledger = _says_what_it_left_out(session).state.counts.ledger
    assert not any(ledger.values())
    session.result()
    session.lines.use("again", "Bash", {"command": "print 1"})
    session.lines.result("again", TEXT + "1", {"stdout": TEXT, "stderr": "", "interrupted": False})
    session.answer()
    assert not any(session.look().state.counts.ledger.values()), "nor is it our loss that it is fetched again"


def test_what_did_not_enter_saves_nothing_more_once_the_host_leaves_its_result_out(tmp_path: Path):
    def kept_out(left_out: int) -> float:
        session = Session(tmp_path / str(left_out))
        session.result()
        store.journal(session.site.paths(), journal.entered("t1", [], "abcd2345", 9_000, 5_000, TOKENS, ["said above"], 0.0))
        session.answer()
        for _ in range(5):
            session.answer(TOKENS if left_out else 0, managed(left_out, TOKENS) if left_out else None)
        return session.look().state.counts.ledger["saved_kept_out"]

    assert 0 < kept_out(1) < kept_out(0)


def test_the_panel_names_what_the_host_has_cleared_and_offers_no_undo_of_it(tmp_path: Path):
    session = Session(tmp_path)
    _says_what_it_left_out(session)
    data = report.build(outlook.look(session.site, session.write(), 0.0))
    assert (data["by_host"]["cleared"], data["cleared"]["items"]) == (3, 0)
    shown = text.laid_out(panel.panel(data))
    assert "Claude Code: 3 results cleared" in shown
    assert not [line for line in shown if "Archived" in line or "Undo" in line or "Reclaimed" in line]


def test_the_panel_names_what_the_host_wrote_to_files_and_answered_unchanged(tmp_path: Path):
    session = Session(tmp_path)
    notice = "<persisted-output>\nOutput too large (55.3KB). Full output saved to: /tmp/x.txt\n\nPreview (first 2KB):\n" + TEXT[:2_000]
    session.lines.use("big", "Bash", {"command": "make"})
    session.lines.result("big", notice, {"stdout": TEXT, "stderr": "", "persistedOutputPath": "/x.txt", "persistedOutputSize": 55_300})
    session.lines.use("mcp", "mcp__shop__all", {})
    session.lines.result("mcp", "Error: result (170,041 characters) exceeds maximum allowed tokens. Output has been saved to /tmp/y.txt.")
    for id in ("one", "two"):
        session.lines.use(id, "Read", {"file_path": "/shop/a.py"})
        session.lines.result(
            id, "File unchanged since last read. The content from the earlier Read is still current.", {"type": "file_unchanged"}
        )
    session.answer()
    data = report.build(outlook.look(session.site, session.write(), 0.0))
    assert data["by_host"] == {"cleared": 0, "in_files": 2, "unchanged": 2}
    assert "Claude Code: 2 long outputs in files, 2 re-reads answered unchanged" in text.laid_out(panel.panel(data))
    assert data["figures"] == {}, "nothing of it is ours"


def test_the_hosts_own_cut_is_noted_too(tmp_path: Path):
    session = Session(tmp_path)
    session.result()
    session.answer()
    session.answer(TOKENS, {"applied_edits": [], "client_cut_tool_uses": 1, "client_estimated_cleared_input_tokens": 1_800})
    session.look()
    assert session.noted() == [(["t1"], 1_800)]


def test_where_no_answer_reports_it_the_prompt_shows_what_was_asked_for(tmp_path: Path):
    session = Session(tmp_path, EDIT)
    for _ in range(3):
        session.result()
        session.answer()
    session.look()
    assert session.noted() == []
    session.result()
    session.answer(2 * TOKENS)
    session.look()
    [(ids, tokens)] = session.noted()
    assert (ids, tokens) == (["t1", "t2"], pytest.approx(2 * TOKENS, rel=0.3))
    session.result()
    session.answer(TOKENS)  # one comes, one goes
    session.look()
    assert [ids for ids, _ in session.noted()] == [["t1", "t2"], ["t3"]]


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
def test_a_prompt_that_falls_for_another_reason_shows_nothing(tmp_path: Path, asked: object):
    session = Session(tmp_path, asked)
    for _ in range(4):
        session.result()
        session.answer()
    session.answer(2 * TOKENS)
    session.look()
    assert session.noted() == []


def test_after_a_compaction_the_count_starts_over(tmp_path: Path):
    session = Session(tmp_path)
    session.result()
    session.result()
    session.answer(0, managed(1, 1_900))
    session.look()
    session.lines.compact()
    session.result()
    session.answer(0, managed(1, 1_900))
    session.look()
    assert [ids for ids, _ in session.noted()] == [["t1"], ["t3"]]


@pytest.mark.parametrize(
    "says",
    [7, [], {"applied_edits": 3}, {"applied_edits": [1, {}, {"type": "clear_tool_uses_20250919", "cleared_tool_uses": "x"}]}, "x"],
)
def test_what_is_not_understood_says_nothing(tmp_path: Path, says: object):
    session = Session(tmp_path)
    session.result()
    session.answer()
    session.answer(0, says)
    session.look()
    assert session.noted() == []


@pytest.mark.parametrize("asked", ["x", 7, [EDIT, EDIT], {"type": "clear_thinking"}, {**EDIT, "keep": 7, "trigger": None}])
def test_settings_of_any_shape_are_taken_or_left(tmp_path: Path, asked: object):
    editing = editing_of(Session(tmp_path, asked).site.environ)
    assert editing is None or (editing.trigger, editing.keep, editing.at_least, editing.spared) == (100_000, 3, 0, ())


def test_what_the_provider_is_asked_has_its_own_defaults():
    body = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
    editing = editing_of({"CLAUDE_CODE_EXTRA_BODY": json.dumps(body)})
    assert editing is not None
    assert (editing.trigger, editing.keep, editing.at_least, editing.spared) == (100_000, 3, 0, ())


def asked(**edit: object):
    body = {"context_management": {"edits": [{"type": "other"}, {"type": "clear_tool_uses_20250919", **edit}]}}
    editing = editing_of({"CLAUDE_CODE_EXTRA_BODY": json.dumps(body)})
    assert editing is not None
    return editing


@pytest.mark.parametrize(
    ("value", "read"), [(0, 0), (1, 1), (70_000, 70_000), (-1, None), (True, None), ("5", None), (5.0, None), (None, None)]
)
def test_a_setting_has_a_whole_number_or_the_providers_own(value: object, read: int | None):
    editing = asked(
        trigger={"type": "input_tokens", "value": value}, keep={"type": "tool_uses", "value": value}, clear_at_least={"value": value}
    )
    assert (editing.trigger, editing.keep, editing.at_least) == ((100_000, 3, 0) if read is None else (read, read, read))


def test_a_trigger_that_counts_no_tokens_holds_for_any_prompt():
    assert [asked(trigger={"type": kind, "value": 5}).trigger for kind in ("input_tokens", "tool_uses", None)] == [5, 0, 0]
    assert asked(exclude_tools=["Read", 7, "Bash"]).spared == ("Read", "Bash")
    assert asked(exclude_tools="Read").spared == ()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"context_management": {"edits": {}}}', '{"context_management": {"edits": [{}]}}']
)
def test_what_asks_for_no_editing_is_none(text: str):
    assert editing_of({"CLAUDE_CODE_EXTRA_BODY": text}) is None
    assert editing_of({}) is None


def test_a_large_transcript_is_read_again_for_a_note_of_our_own_and_saved(tmp_path: Path):
    session = Session(tmp_path, None)
    for _ in range(3):
        session.result()
    session.answer()
    session.answer(2 * TOKENS, managed(2, 5_900))
    path, paths = session.write(), session.site.paths()
    os.truncate(path, (16 << 20) + 1)
    assert reconciling.refreshed(session.site, paths, path, 0)[1]
    assert len(journal.read(paths)) == 1


@pytest.mark.parametrize("is_asked", [True, False])
def test_it_is_noted_who_left_it_out_and_nothing_where_nothing_can_be_written(tmp_path: Path, is_asked: bool):
    session = Session(tmp_path, EDIT if is_asked else None)
    for _ in range(3):
        session.result()
    session.answer()
    session.answer(2 * TOKENS, managed(2, 5_900))
    editing, paths = editing_of(session.site.environ), session.site.paths()
    fresh = reconciling.rebuilt(session.site, paths, session.write())
    held = store.ContextFiles(str(tmp_path / "popkit"), "s", is_held=True)
    assert not context_editing.note_cleared(held, fresh, editing)
    store.journal(paths, journal.cleared_outside(["t1"], 5, "so", 1.0))
    assert context_editing.note_cleared(paths, fresh, editing)
    assert not context_editing.note_cleared(paths, fresh, editing)
    _, entry = journal.read(paths)
    assert (entry["ids"], entry["tokens"], entry.get("unasked", False)) == (["t2"], 2_950, not is_asked)
    assert entry["how"] == ("left out of the request by the provider" if is_asked else "left out of the request by Claude Code")
