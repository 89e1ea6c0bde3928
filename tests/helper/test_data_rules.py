"""What the client says of data rules while a session runs decides what the door and the hooks do from then on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.handlers import session_events, tool_calls
from hooks.utils.state import data_rules

from .asking import SESSION, Helper, lines, numbered

NEW = {"AI_AGENT": "claude-code_2-1-332_harness"}
MARK = "zebrafinch"
WHOLE = lines(40, MARK)


class Client(Helper):
    """The helper of a client that says with each request which rules apply."""

    rules: object = None

    def ask(self, path: str, asked: object = None, raw: bytes | None = None) -> Any:
        said = {} if self.rules is None else {"data_rules": self.rules}
        return super().ask(path, {**(asked if isinstance(asked, dict) else {}), **said}, raw)


@pytest.fixture
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The helper of a client that asks which rules apply."""
    running = Client(tmp_path_factory.mktemp("h"), **NEW)
    yield running
    running.stop()


def says(helper: Helper, rules: object) -> None:
    helper.rules = rules
    helper.ask("/rows")


def shortens(helper: Helper) -> bool:
    """Whether a second Read of what was just read enters as a reference."""
    helper.read("app.py", WHOLE)
    return helper.read("app.py", WHOLE)[1] != numbered(WHOLE)


def call_by_hook(helper: Helper, number: int) -> None:
    """A completed call, as the hook on tool calls sees it."""
    payload = {
        "hook_event_name": "PostToolUse",
        "session_id": SESSION,
        "transcript_path": str(helper.transcript),
        "cwd": str(helper.project),
        "tool_name": "Bash",
        "tool_use_id": f"toolu_hook_{number}",
        "tool_input": {"command": f"pytest {MARK}"},
        "tool_response": {"stdout": f"1 failed: {MARK}", "stderr": "", "interrupted": False},
    }
    session_events.start({**payload, "hook_event_name": "SessionStart", "source": "startup"}, helper.env)
    tool_calls.track(payload, helper.env)


def kept(helper: Helper) -> set[str]:
    """Names of the files below our folder that hold the mark."""
    return {path.name for path in Path(helper.home).rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()}


def test_until_the_client_has_said_that_no_rule_applies_nothing_is_kept(new: Client):
    call_by_hook(new, 1)
    assert not shortens(new)
    says(new, None)
    call_by_hook(new, 2)
    assert not shortens(new)
    assert kept(new) == set()
    says(new, [])
    call_by_hook(new, 3)
    assert shortens(new)
    assert kept(new) >= {"main.state.json"}


@pytest.mark.parametrize("rules", [["hipaa"], ["zdr"], ["a rule of tomorrow"], {"hipaa": True, "zdr": False}])
def test_a_rule_that_comes_up_later_holds_from_then_on(new: Client, rules: object):
    says(new, [])
    assert shortens(new)
    says(new, rules)
    before = {path: path.read_bytes() for path in Path(new.home).rglob("*") if path.is_file() and "sessions" in path.parts}
    call_by_hook(new, 1)
    assert not shortens(new)
    assert not (new.ask("/compact", {"trigger": "manual", "rows": [{"role": "user", "text": MARK, "toolUses": []}]}))
    after = {path: path.read_bytes() for path in before}
    assert after == before


def test_a_client_that_is_too_old_to_say_is_under_no_rule(helper: Helper):
    says(helper, None)
    call_by_hook(helper, 1)
    assert shortens(helper)
    assert not (Path(helper.home) / "sessions" / SESSION / data_rules.NAME).exists()


def test_the_pane_and_the_answers_say_why_nothing_is_kept(new: Client):
    says(new, ["hipaa"])
    shown = new.ask("/view", {"columns": 80, "page": "now"})
    assert "under a data rule (HIPAA)" in " ".join(shown["pane"]["lines"])
    assert shown["pane"]["operations"] == []
    assert shown["band"] is None
    for words in ("", "clear", "undo", "pin src/**", "timeline", "why"):
        assert "under a data rule (HIPAA)" in " ".join(new.ask("/command", {"words": words})["text"].split())
    says(new, None)
    assert "has not said whether a data rule" in " ".join(new.ask("/view", {"columns": 80, "page": "now"})["pane"]["lines"])
    assert kept(new) == set()
