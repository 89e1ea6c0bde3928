"""The first line in the real client: a person sees it in the first session after the installation, and in no later one."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core.handlers.session_events import FIRST_LINE

from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi, say
from .terminal import ClientTerminal

pytestmark = pytest.mark.client
ROOT = Path(__file__).resolve().parents[2]


def in_one_line(screen: str) -> str:
    return " ".join(screen.split())


def test_the_first_session_that_a_person_sees_shows_it(home: ClientHome, api: ScriptedApi):
    api.scripts.update(hello=[say("hello to you")])
    assert FIRST_LINE not in home.run_headless("hello [[SCRIPT:hello]]", plugin_dir=linked()).stdout
    shown = []
    for _ in range(2):
        with ClientTerminal(home, plugin_dir=linked(), columns=80, rows=24) as terminal:
            terminal.wait_ready()
            terminal.turn("hello [[SCRIPT:hello]]", "hello to you")
            shown.append(in_one_line(terminal.text()).count(FIRST_LINE))
    assert shown == [1, 0]
