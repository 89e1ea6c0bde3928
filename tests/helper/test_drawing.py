"""What is drawn from a look at a context is the same wherever the look is taken, and a long one leaves nothing in the helper."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.helper import drawing
from popkit_retention.core.helper.drawing import BILL, LONG_BYTES, NOW, RESULTS, SAVED, SETTINGS, PaneRequest, draw, drawn
from popkit_retention.core.policy import masking
from popkit_retention.core.state.site import Site
from tests.views.test_clear_answers import Asking
from tests.views.test_clear_auto_answers import wandered

from .asking import Helper, Transcript, numbered

MOST_HELD = 1_000_000  # bytes


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(wandered(tmp_path / "projects"), tmp_path / "home", "auto")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transcript is a long one, and none can be looked at here."""
    monkeypatch.setattr(drawing, "LONG_BYTES", 0)
    monkeypatch.setattr(drawing, "draw", _fails)


def _fails(*_: Any) -> Any:
    raise AssertionError("it was looked at here")


def _asked(asking: Asking) -> tuple[Site, str, float]:
    return asking.written.site(asking.home), str(asking.written.path), asking.written.now


def _long(transcript: Transcript, project: Path) -> None:
    """Makes a transcript long, of results as short as they come."""
    number = 0
    while transcript.path.stat().st_size <= LONG_BYTES:
        for _ in range(500):
            number += 1
            shown = numbered([f"{number} {at}" for at in range(60)])
            transcript.called(f"toolu_l{number}", "Read", {"file_path": str(project / f"{number}.py")}, shown, prompt=9_000)


@pytest.mark.parametrize("page", [NOW, RESULTS, SAVED, BILL, SETTINGS, "another"])
def test_in_a_process_of_its_own_the_same_is_drawn(asking: Asking, elsewhere: None, page: str):
    site, path, now = _asked(asking)
    request = PaneRequest(page, "", 90, 30, True)
    here = draw(site, path, request, 1.25, now)
    assert drawn(site, path, request, 1.25, now) == json.loads(json.dumps(here))


def test_a_process_of_its_own_masks_what_the_client_has_named(asking: Asking, elsewhere: None):
    site, path, now = _asked(asking)
    before = masking.secrets_learnt()
    masking.learn("login.ts", "[REDACTED]")
    try:
        shown = json.dumps(drawn(site, path, PaneRequest(RESULTS, "", 90, 30, False), None, now))
    finally:
        masking.learn_again(before)
    assert "login.ts" not in shown
    assert "login.ts" in json.dumps(draw(site, path, PaneRequest(RESULTS, "", 90, 30, False), None, now))


def test_where_a_process_of_its_own_fails_the_helper_looks(asking: Asking, monkeypatch: pytest.MonkeyPatch):
    site, path, now = _asked(asking)
    monkeypatch.setattr(drawing, "LONG_BYTES", 0)
    monkeypatch.setattr(drawing.processes, "popkit_command", lambda words: ["/no/such/interpreter", *words])
    request = PaneRequest(NOW, "", 90, 30, False)
    assert drawn(site, path, request, None, now) == draw(site, path, request, None, now)
    assert "pane FileNotFoundError" in (asking.home / "hooks.log").read_text()


def test_a_look_at_a_long_session_leaves_nothing_in_the_helper(helper: Helper):
    _long(Transcript(helper.transcript, helper.project), helper.project)
    site = Site({**helper.env}, helper.transcript.stem, str(helper.project))
    request = PaneRequest(NOW, "", 90, 30, False)
    tracemalloc.start()
    try:
        found = drawn(site, str(helper.transcript), request, None, 1.8e9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found["calls"] > 1_000
    assert peak <= MOST_HELD
    shown = helper.ask("/view", {"columns": 90})
    assert shown["pane"]["page"] == NOW
    assert helper.failures() == ""
