"""What `popkit native on` writes, as the real client sends it."""

from __future__ import annotations

import pytest

from popkit_retention.cli import main

from .client import ClientHome
from .scripted_api import ScriptedApi, say

pytestmark = pytest.mark.client


def test_the_client_asks_the_provider_to_clear_and_no_more_after_off(home: ClientHome, api: ScriptedApi):
    api.scripts["hello"] = [say("Hello.")]
    environ = {**home.env(), "CLAUDE_PROJECT_DIR": str(home.work)}
    asked = []
    for words in (["on", "--trigger", "100000", "--yes"], ["off", "--yes"]):
        assert main.main(["native", *words], environ) == 0
        assert home.run_headless("[[SCRIPT:hello]]").returncode == 0
        asked.append([edit["type"] for edit in api.turns()[-1].body["context_management"]["edits"]])
    assert asked == [["clear_thinking_20251015", "clear_tool_uses_20250919"], ["clear_thinking_20251015"]]
