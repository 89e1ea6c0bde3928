"""What hooks and the helper leave to be sent: nothing unless it is asked for, and never what results hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.state import outbox
from tests.helper.asking import Helper
from tests.hooks import payloads
from tests.hooks.remembering import Blocking, Remembering
from tests.patience import until
from tests.reclaim.shops import Shop, worked


def lines(home: Path) -> list[dict]:
    path = home / outbox.NAME
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.write(worked(str(shop.project)))
    return shop


def test_a_clear_and_its_undo_leave_spans_of_counts_alone(shop: Shop) -> None:
    shop.configure(context={"traces": "http://127.0.0.1:4318"})
    assert shop.clear()[1] is not None
    shop.undo()
    cleared, undone = lines(shop.home)
    assert (cleared["name"], undone["name"]) == ("POPKIT_CLEAR", "POPKIT_UNDO")
    assert cleared["attributes"]["results"] == undone["attributes"]["results"] == 3
    for line in (cleared, undone):
        assert line["session"] == shop.session_id
        assert line["start"] <= line["end"]
        assert all(type(value) is int for value in line["attributes"].values())


def test_without_traces_limits_or_a_database_a_clear_leaves_nothing(shop: Shop) -> None:
    assert shop.clear()[1] is not None
    assert lines(shop.home) == []


def test_a_dry_run_is_no_clear(shop: Shop) -> None:
    shop.configure(context={"traces": "http://127.0.0.1:4318"})
    shop.clear(dry_run=True)
    assert lines(shop.home) == []


def test_the_end_of_a_session_starts_the_child_that_sends(tmp_path: Path) -> None:
    made = Remembering(tmp_path)
    made.begin()
    home = Path(made.home.path)
    (home / "retention-config.json").write_text('{"context": {"month_usd": 50}}')
    ending = Blocking(made, tmp_path)
    assert ending.run("session-end", payloads.session_end()).silent
    assert ending.child()[3:] == list(outbox.WORDS)
    ending.let_go()
    (line,) = lines(home)
    assert (line["kind"], line["transcript"]) == ("session", str(made.transcript))


def test_the_helper_notes_turns_and_rows_where_it_is_asked_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    helper = Helper(tmp_path_factory.mktemp("h"), config={"context": {"traces": "http://127.0.0.1:4318"}})
    try:
        helper.ask("/rows", {"agent_id": ""})
        helper.read("secret-plans.py", ["launch = 0"] * 3)
        until(lambda: len(lines(helper.home)) == 2, "the helper to note them")
    finally:
        helper.stop()
    told = {line["kind"]: line for line in lines(helper.home)}
    assert told["session"]["transcript"] == str(helper.transcript)
    assert (told["span"]["name"], told["span"]["attributes"]) == ("POPKIT_DOOR", {"rewritten": 0})
    assert "secret-plans" not in (helper.home / outbox.NAME).read_text()


def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file in its place")
    config = {"context": {"traces": "http://127.0.0.1:4318"}}
    outbox.Outbox(str(home), config, {"POPKIT_HOME": str(tmp_path / "other")}, "s").span("POPKIT_CLEAR", 1)
    assert "outbox" in (tmp_path / "other" / "hooks.log").read_text()
