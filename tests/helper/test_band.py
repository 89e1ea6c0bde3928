"""The band: what it says to a person at work, who has not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.helper.compactions import Compactions
from hooks.utils.helper.native import Native
from hooks.utils.helper.pane import Pane, PaneRequest
from hooks.utils.helper.prompt_cache import Misses
from hooks.utils.reclaim import outlook
from tests.views.test_clear_answers import COLD_S, Asking
from tests.views.test_clear_auto_answers import wandered


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    """A session whose cache is warm; once it is cold, a clear would take nearly 10,000 of 50,000 tokens."""
    return Asking(wandered(tmp_path / "projects"), tmp_path / "home", "auto")


def _band(asking: Asking, window: int) -> tuple[str, str]:
    """(kind of the verdict, what the band says) where the window has so many tokens."""
    written = asking.written
    site = written.site(asking.home)
    site.remember(window_tokens=window)
    pane = Pane(str(written.path), Native({"POPKIT_HOME": str(asking.home)}, str(asking.home)), Compactions(), Misses(str(written.path), 0))
    band = pane.view(site, PaneRequest("now", "", 110, 40, False), written.now)["band"]
    return outlook.look(site, str(written.path), written.now).verdict["kind"], band["text"] if band else ""


def test_what_can_only_be_waited_for_is_not_said(asking: Asking) -> None:
    assert _band(asking, 200_000) == ("wait", "")


def test_near_the_limit_nobody_is_asked_to_wait(asking: Asking) -> None:
    kind, said = _band(asking, 54_000)
    assert kind == "wait"
    assert said.startswith("Full: /compact (what is dead goes first); in ")
    assert said.endswith(" a clear takes ~9.7k")


def test_a_clear_of_a_tenth_of_the_window_is_said_once_it_pays(asking: Asking) -> None:
    asking.written.now += COLD_S
    assert _band(asking, 90_000) == ("clear", "Clear now: ~9.7k leave for free")
    assert _band(asking, 200_000) == ("clear", "")
