"""The limits of a plan, as the real client reports them: with a subscription's token, and not with a key of the API."""

from __future__ import annotations

import json
import time
from pathlib import Path

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi
from .test_mod import Session

# What no server but the scripted one is ever shown.
SUBSCRIBED = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-scripted-" + "a" * 80}
RESETS_IN = {"5h": 9_000, "7d": 300_000}
UTILIZATION = {"5h": 0.62, "7d": 0.31}
MOVED = 0.04


def headers(now: int) -> dict[str, str]:
    """What the API says of the windows with each answer."""
    sent = {
        "anthropic-ratelimit-unified-status": "allowed",
        "anthropic-ratelimit-unified-reset": str(now + RESETS_IN["5h"]),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    for name, seconds in RESETS_IN.items():
        prefix = f"anthropic-ratelimit-unified-{name}"
        sent |= {f"{prefix}-status": "allowed", f"{prefix}-reset": str(now + seconds), f"{prefix}-utilization": str(UTILIZATION[name])}
    return sent


def kept(home: Path, client: installs.Installed, env: dict[str, str], sessions: int) -> tuple[list[list[object]], str, int]:
    """(what is kept of sessions whose answers tell how full the windows are, what `popkit bill limits` says, when that began)."""
    began = int(time.time())
    with ScriptedApi() as api:
        session = Session(ClientHome(home, client, api.url), api)
        api.headers.update(headers(began))
        session.home.extra_env.update(env)
        for _ in range(sessions):
            session.runs.append(session.home.run_headless(["one", "/popkit"], plugin_dir=linked()))
            for name in RESETS_IN:  # the next session finds the windows fuller
                api.headers[f"anthropic-ratelimit-unified-{name}-utilization"] = str(UTILIZATION[name] + MOVED)
        assert session.log() == ""
        path = session.popkit / "limits.json"
        return json.loads(path.read_text()) if path.exists() else [], session.popkit_says("bill", "limits"), began


def test_the_windows_of_a_subscription_are_kept(clients: dict[str, installs.Installed], tmp_path: Path):
    rows, says, began = kept(tmp_path, clients["newest"], SUBSCRIBED, sessions=2)
    assert [(kind, percent, resets_at) for kind, _, percent, resets_at in rows[:2]] == [
        ("five_hour", 62, began + 9_000),
        ("seven_day", 31, began + 300_000),
    ]
    assert {(kind, percent) for kind, _, percent, _ in rows[2:]} == {("five_hour", 66), ("seven_day", 35)}
    assert "5 h       66% used" in says
    assert "tokens, $" in says


def test_a_key_of_the_api_has_none(clients: dict[str, installs.Installed], tmp_path: Path):
    rows, says, _ = kept(tmp_path, clients["newest"], {}, sessions=1)
    assert rows == []
    assert "There is no reading of a limit yet." in says
