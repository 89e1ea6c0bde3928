"""What of the settings and the environment decides how long the real client has its prompts cached: the lines that `popkit bill` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.views import bill, cache_lifetime
from tests.bill.lifetimes import lifetime

from . import installs
from .client import ClientHome
from .scripted_api import Recorded, ScriptedApi, call, say

JOB = {"description": "look", "subagent_type": "general-purpose", "prompt": "look [[SCRIPT:job]]", "run_in_background": False}
SCRIPTS = {"work": [call(("Agent", JOB)), say("done")], "job": [say("found")]}


def marks(request: Recorded) -> set[str]:
    """The lifetimes that a request asks for; without a word the provider keeps what it has for five minutes."""
    found: list[str] = []

    def look(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("cache_control"), dict):
                found.append(part["cache_control"].get("ttl", "5m"))
            for value in part.values():
                look(value)
        elif isinstance(part, list):
            for value in part:
                look(value)

    look(request.body)
    return set(found)


def asked_for(installed: installs.Installed, folder: Path, settings: dict[str, Any], local: dict[str, Any], env: dict[str, str]) -> tuple:
    """(what the main thread asks for, what its subagent does)."""
    with ScriptedApi(SCRIPTS) as api:
        home = ClientHome(folder, installed, api.url, env)
        path = home.config / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
        if local:
            (home.work / ".claude").mkdir()
            (home.work / ".claude" / "settings.local.json").write_text(json.dumps(local))
        assert home.run_headless("go [[SCRIPT:work]]").returncode == 0
        turns = api.turns()
        of_agents = [request for request in turns if "[[SCRIPT:job]]" in json.dumps(request.body["messages"][0])]
        mains = [request for request in turns if request not in of_agents]
        return set().union(*map(marks, mains)), set().union(*map(marks, of_agents))


CASES: dict[str, tuple] = {
    "nothing, with a key": ({}, {}, {}, "5m", "5m"),
    "both by the environment": ({}, {}, {"ENABLE_PROMPT_CACHING_1H": "1"}, "1h", "1h"),
    "the same in the settings' env": ({"env": {"ENABLE_PROMPT_CACHING_1H": "1"}}, {}, {}, "1h", "1h"),
    "a setting": ({"promptCacheTtl": "1h"}, {}, {}, "1h", "5m"),
    "a setting of the project's": ({"promptCacheTtl": "5m"}, {"promptCacheTtl": "1h"}, {}, "1h", "5m"),
    "a setting for subagents": ({"subagentPromptCacheTtl": "1h"}, {}, {}, "5m", "1h"),
    "a setting goes before the environment's": ({"promptCacheTtl": "5m"}, {}, {"ENABLE_PROMPT_CACHING_1H": "1"}, "5m", "1h"),
    "its own variable goes before the setting": ({"promptCacheTtl": "5m"}, {}, {"CLAUDE_CODE_PROMPT_CACHE_TTL": "1h"}, "1h", "5m"),
    "a variable for subagents": ({}, {}, {"CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL": "1h"}, "5m", "1h"),
    "five minutes by force": ({"promptCacheTtl": "1h", "subagentPromptCacheTtl": "1h"}, {}, {"FORCE_PROMPT_CACHING_5M": "1"}, "5m", "5m"),
}


# What is asked for in them together, the rest asks for in other pairs, or the lines of the bill below.
SLOW = {"both by the environment", "a setting", "a setting goes before the environment's", "a variable for subagents"}


@pytest.mark.parametrize(
    ("settings", "local", "env", "main", "agents"),
    [pytest.param(*case, id=name, marks=[pytest.mark.slow] if name in SLOW else []) for name, case in CASES.items()],
)
def test_who_decides_for_how_long_a_prompt_is_cached(
    settings: dict, local: dict, env: dict, main: str, agents: str, clients: dict[str, installs.Installed], tmp_path: Path
):
    assert asked_for(clients["newest"], tmp_path, settings, local, env) == ({main}, {agents})


@pytest.mark.parametrize("pays", [pytest.param("5m", marks=pytest.mark.slow), "1h"])
def test_what_the_bill_says_to_set_is_what_the_client_goes_by(pays: str, clients: dict[str, installs.Installed], tmp_path: Path):
    has = "5m" if pays == "1h" else "1h"
    told = {whose: lifetime(pays=pays, has=has) for whose in ("main", "subagents")}
    lines = [line.strip() for line in bill.text.laid_out(cache_lifetime.lifetime_lines(told))]
    settings = json.loads("{" + ", ".join(line for line in lines if line.startswith('"')) + "}")
    exported = dict(line.removeprefix("export ").split("=") for line in lines if line.startswith("export "))
    assert len(settings) == len(exported) == 2
    other = {"env": {"ENABLE_PROMPT_CACHING_1H": "1"}} if has == "1h" else {}
    assert asked_for(clients["newest"], tmp_path / "settings", {**other, **settings}, {}, {}) == ({pays}, {pays})
    assert asked_for(clients["newest"], tmp_path / "shell", other, {}, exported) == ({pays}, {pays})
