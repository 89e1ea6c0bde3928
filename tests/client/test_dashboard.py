"""The page beside the real client: it moves while the session does, and what it clears and puts back is what the client sends."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the dashboard needs its extra")
pytest.importorskip("playwright", reason="the page is tried in a browser, which playwright drives")

from playwright.sync_api import Browser, expect

from tests.dashboard.page.served import Served, Visit, chromium

from .client import ClientHome, Run
from .plugin_copy import linked
from .reclaimed import SCRIPTS, Reclaimed, placeholders
from .scripted_api import ScriptedApi, call, say

COLD_S = 3_000
WATCHED = call(("Bash", {"command": "until [ -e seen ]; do sleep 0.2; done"}))
# One by one: of those that run at once the oldest client sends the results in another order once it has resumed.
REST = [*(call(("Bash", {"command": f"echo {number}"})) for number in range(6)), say("rested")]


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_a_session_is_seen_as_it_goes_cleared_by_a_click_and_put_back(home: ClientHome, api: ScriptedApi, browser: Browser) -> None:
    world = Reclaimed(home, api, profile="")
    api.scripts["watched"] = [*SCRIPTS["work"][:-1], WATCHED, say("done")]
    api.scripts["rest"] = REST
    session_id = watched(home, browser, home.work / "seen")
    path = home.transcript_path(session_id)
    original = path.read_bytes()
    cold = {**home.env(), "POPKIT_CLOCK": str(path.stat().st_mtime + COLD_S)}
    with Served(cold) as served:
        seen = Visit(browser, served, f"#/session/{session_id}")
        expect(seen.page.get_by_label("What to do now")).to_contain_text("Clear now")
        assert re.search(r" leave(, saving ~\$| at no cost)", seen.confirm("Clear"))
        assert "when the session is resumed in Claude Code 2.1.326 or later" in " ".join(seen.status().split())
        assert path.read_bytes() == original
        api.clear()
        home.run_headless("go [[SCRIPT:talk]]", plugin_dir=linked(), resume=session_id)
        gone = placeholders(api.turns()[0].tool_results())
        assert "toolu_watched_2_0" in gone, "the long file that was edited later is not sent any more"
        seen.page.reload()
        seen.confirm("Undo the last clear")
        assert path.read_bytes().startswith(original)
        seen.close()
    api.clear()
    home.run_headless("go [[SCRIPT:talk]]", plugin_dir=linked(), resume=session_id)
    assert placeholders(api.turns()[0].tool_results()) == {}
    assert world.errors() == ""


def watched(home: ClientHome, browser: Browser, seen_file: Path) -> str:
    """Plays a session that does not go on until the page has shown what it has done so far; its id."""
    runs: list[Run] = []
    with Served(home.env()) as served:
        seen = Visit(browser, served)
        expect(seen.page.get_by_text("No sessions yet")).to_be_visible()
        playing = threading.Thread(
            target=lambda: runs.append(home.run_headless(["go [[SCRIPT:watched]]", "go [[SCRIPT:rest]]"], plugin_dir=linked()))
        )
        playing.start()
        try:
            seen.page.locator(".row").get_by_role("link").click()
            expect(seen.page.locator(".session-head")).to_contain_text("Running")
            last_call = seen.page.locator(".axis-head span").last  # rows that say the same are one, so they are not counted
            expect(last_call).to_have_text("T7")
            seen_file.touch()
            expect(last_call).to_have_text("T14")
        finally:
            seen_file.touch()  # else the session waits for it where the page has not shown what it should
            playing.join()
        seen.close()
    assert runs[0].returncode == 0, runs[0].stderr
    return runs[0].session_id
