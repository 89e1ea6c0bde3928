"""The line that tells a person, in the first session after the installation and never again, that PopKit works."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.handlers import session_events
from popkit_retention.core.handlers.session_events import FIRST_LINE
from tests.hooks import payloads
from tests.hooks.processes import Home

SEEN = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def told(home: Home, source: str = "startup", session: str = payloads.SESSION, **environ: str) -> str:
    """What the person is told as a session begins."""
    payload = payloads.session_start(source=source, session_id=session, cwd=str(home.parent))
    inherited = {name: value for name, value in home.env().items() if not name.startswith("CLAUDE_CODE_")}
    return (session_events.start(payload, {**inherited, **environ}) or {}).get("systemMessage", "")


def test_the_first_session_says_it_and_no_later_one(home: Home) -> None:
    assert told(home, **SEEN) == FIRST_LINE
    assert [told(home, source, **SEEN) for source in ("startup", "resume", "clear", "compact")] == [""] * 4
    assert told(home, session="3ffaa4db-e088-49ec-9796-000000000002", **SEEN) == ""


def test_each_home_has_it_once(tmp_path: Path) -> None:
    assert [told(Home(tmp_path / name), **SEEN) for name in ("one", "two", "one")] == [FIRST_LINE, FIRST_LINE, ""]


def test_a_session_that_goes_on_is_told_of_it_too(home: Home) -> None:
    assert told(home, "compact", **SEEN) == ""
    assert told(home, "resume", **SEEN) == FIRST_LINE


@pytest.mark.parametrize(
    "unseen",
    [{"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"},
     {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}],
    ids=lambda environ: " ".join(environ.values()),
)  # fmt: skip
def test_a_run_that_nobody_sees_leaves_it_to_one_that_somebody_does(home: Home, unseen: dict[str, str]) -> None:
    assert told(home, **unseen) == ""
    assert told(home, **SEEN) == FIRST_LINE


@pytest.mark.parametrize("environ", [{}, {"CLAUDE_CODE_ENTRYPOINT": "cli"}, {"CLAUDE_CODE_ENTRYPOINT": "claude-vscode"}])
def test_where_a_client_does_not_say_who_sees_it_somebody_may(home: Home, environ: dict[str, str]) -> None:
    assert told(home, **environ) == FIRST_LINE


def test_where_it_is_switched_off_it_does_not_say_that_it_works(home: Home) -> None:
    home.path.mkdir()
    (home.path / "retention-config.json").write_text('{"enabled": false}')
    assert told(home, **SEEN) == ""


def test_where_it_cannot_be_noted_it_is_not_said_in_each_session(home: Home) -> None:
    home.path.mkdir()
    (home.path / "cache").write_text("no folder")
    assert told(home, **SEEN) == ""


def test_it_is_one_quiet_line() -> None:
    assert "\n" not in FIRST_LINE
    assert len(FIRST_LINE) <= 100
