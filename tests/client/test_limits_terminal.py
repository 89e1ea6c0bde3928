"""The limits of a plan as a subscriber meets them in a terminal: the pane's line and rows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from pathlib import Path

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi
from .terminal import ClientTerminal
from .test_limits import SUBSCRIBED, headers
from .test_mod import Session
from .test_mod_terminal import SCRIPTS, TEST_JS


def test_the_pane_and_the_band_tell_a_subscriber_of_the_window(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi):
    api.scripts.update(SCRIPTS)
    api.headers.update(headers(int(time.time())))
    session = Session(ClientHome(tmp_path, clients["newest"], api.url), api)
    session.home.extra_env.update(SUBSCRIBED)
    session.popkit.mkdir(parents=True)
    (session.popkit / "retention-config.json").write_text(json.dumps({"retention": {"profile": "spec", "shape": "off"}}))
    (session.home.work / "test.js").write_text(TEST_JS)
    with ClientTerminal(session.home, plugin_dir=linked(), columns=100, rows=60) as terminal:
        terminal.wait_ready()
        terminal.turn("go [[SCRIPT:tested]]", "all tested")
        terminal.send("/popkit")
        terminal.wait("Limits    5 h 62% · 7 d 31%")
        terminal.press_until("5", lambda shown: "Tokens: " in shown)
        bill = joined(terminal.wait("Tokens: "))
        assert re.search(r"Limits of your plan ─+ 5 h 62%, resets (at|[A-Z][a-z]{2}) \d+:\d\d Tokens: ", bill), "today, or after midnight"
        assert "7 d 31%, resets " in bill


def joined(lines: Iterable[str]) -> str:
    """What stands on a screen, without the frame of the pane and its breaks."""
    return " ".join(" ".join(lines).replace("│", " ").split())
