"""A session of a host that keeps it itself: the helper does what hooks do elsewhere, and what cannot be is said in that host's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.cli.main import main
from popkit_retention.core.hosts.opencode.kept_transcripts import path_of
from popkit_retention.core.state import store
from tests.helper.asking import Helper
from tests.hosts.test_opencode import SESSION, worked


class Guest(Helper):
    """A helper of OpenCode's session, told of a conversation as the plugin does."""

    session = SESSION

    def tell(self, messages: list[dict[str, Any]]) -> None:
        for part in [part for message in messages for part in message["parts"] if part.get("type") == "tool"]:
            state = part["state"]
            call = {"id": part["callID"], "tool": part["tool"], "input": state["input"], "cwd": str(self.project)}
            assert self.ask("/result", {**call, "output": state["output"], "metadata": state["metadata"]}) == {}
        self.ask("/messages", {"messages": messages, "all": True, "usage": {"window": 200_000}})


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    helper = Guest(tmp_path_factory.mktemp("guest"))
    helper.tell(worked().messages)
    yield helper
    helper.stop()


def test_results_get_a_lifetime_and_the_transcript_agrees(guest: Guest) -> None:
    answer = json.loads(guest.run("context", "--json"))
    assert [(row["tool"], row["state"]) for row in answer["results"]][:2] == [("read", "expired"), ("bash", "expired")]
    assert (answer["session"], answer["calls"]) == (SESSION, 4)
    assert guest.ask("/view", {"columns": 100, "rows": 40, "usage": {"window": 200_000}})["line"].startswith("context ")
    context = json.loads(guest.run("context", "--json"))["context"]
    assert (context["window"], context["window_source"]) == (200_000, "client"), "where Claude Code would compact means nothing here"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("clear", "nothing was changed: OpenCode keeps this session itself, so only /compact removes anything"),
        ("auto on", "OpenCode keeps this session itself, so only /compact removes anything"),
        ("", "Nothing to do: OpenCode keeps this session itself, so only /compact removes anything"),
    ],
)
def test_what_cannot_be_done_is_explained(guest: Guest, words: str, says: str) -> None:
    answer = " ".join(guest.ask("/command", {"words": words, "columns": 100})["text"].split())
    assert says in answer
    assert "popkit:context" not in answer, "commands are named as they are typed there"


def test_the_pane_offers_nothing_that_cannot_be(guest: Guest) -> None:
    for page in ("now", "results", "saved", "settings"):
        shown = guest.ask("/view", {"page": page, "columns": 100, "rows": 40})
        assert (shown["pane"]["page"], shown["pane"]["operations"]) == (page, [])
        assert "compact" not in shown


def test_whoever_draws_for_the_session_is_told_where_its_helper_listens(guest: Guest, capsys: pytest.CaptureFixture) -> None:
    for session, announced in ((SESSION, {"socket": guest.announced["socket"], "protocol": 1}), ("ses_7f3amadeup0002", {})):
        assert main(["serve", "--session", session, "--join"], guest.env) == 0
        assert json.loads(capsys.readouterr().out) == announced


def test_at_its_end_the_session_has_ended_and_its_recording_is_kept(tmp_path: Path) -> None:
    helper = Guest(tmp_path)
    helper.tell(worked().messages)
    helper.ask("/end")
    helper.process.wait()
    helper.stop()
    journal = store.read_lines(store.ContextFiles(str(helper.home), SESSION).journal)
    assert [entry["event"] for entry in journal] == ["end"]
    assert Path(path_of(str(helper.home), str(helper.project.resolve()), SESSION)).exists()


def test_a_session_that_is_resumed_goes_on_with_its_first_prompt(tmp_path: Path) -> None:
    for says in (lambda helper: helper.tell(worked().messages), lambda helper: helper.ask("/prompt", {"model": "claude-sonnet-5-5"})):
        helper = Guest(tmp_path)
        says(helper)
        helper.ask("/end")
        helper.process.wait()
        helper.stop()
    journal = store.read_lines(store.ContextFiles(str(helper.home), SESSION).journal)
    assert [entry["event"] for entry in journal] == ["end", "resumed", "end"]


def test_nothing_is_said_to_the_model_where_there_is_nothing_to_say(guest: Guest) -> None:
    assert guest.ask("/prompt", {"model": "claude-sonnet-5-5"}) == {}


@pytest.mark.parametrize(
    "asked", [{}, {"id": 7}, {"id": "c", "tool": None}, {"id": "c", "tool": "read", "input": 3, "output": {}, "metadata": []}]
)
def test_what_is_no_result_is_nothing(guest: Guest, asked: dict[str, Any]) -> None:
    assert guest.ask("/result", asked) == {}
    assert guest.ask("/messages", {"messages": asked, "removed": asked}) == {}
