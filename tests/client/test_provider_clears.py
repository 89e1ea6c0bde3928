"""What the provider clears when the settings ask for it, with the real client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import installs
from .client import ClientHome
from .plugin_copy import linked
from .scripted_api import ScriptedApi, Step, call, say
from .test_mod import BIG, Session, referred

pytestmark = pytest.mark.client


def asking_to_clear(trigger: int, keep: int, at_least: int) -> dict[str, str]:
    """Return the environment in which a client asks the provider to clear tool results."""
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger},
        "keep": {"type": "tool_uses", "value": keep},
        "clear_at_least": {"type": "input_tokens", "value": at_least},
    }
    thinking = {"type": "clear_thinking_20251015", "keep": "all"}  # the client's own edit, which the body would replace
    return {"CLAUDE_CODE_EXTRA_BODY": json.dumps({"context_management": {"edits": [thinking, edit]}})}


def test_what_the_provider_clears_is_noted_once_and_nothing_leans_on_it(
    clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi
):
    """The newest client keeps nothing of what an answer says of a clearing that it has not asked for itself: the prompts tell."""
    session = Session(ClientHome(tmp_path, clients["newest"], api.url), api)
    session.home.extra_env.update(asking_to_clear(20_000, keep=1, at_least=2_000))
    (session.home.work / "other.py").write_text("".join(f"other_{number} = {number}\n" for number in range(400)))

    def read(path: str, prompt: int, **more: int) -> Step:
        cleared = (more.pop("cleared", 0), 4_000)
        usage = {"cache_read_input_tokens": prompt, "cache_creation_input_tokens": 10}
        return Step(calls=(("Read", {"file_path": path, **more}),), usage=usage, cleared=cleared)

    # The client writes what an answer used a moment after it has run its calls.
    written = f"until grep -qs 'cache_read_input_tokens.:24000' {session.home.config}/projects/*/*.jsonl; do sleep 0.1; done"
    api.scripts["long"] = [
        read(BIG, 22_000),
        read("{work}/other.py", 26_000),
        call(("Bash", {"command": written}), cache_read_input_tokens=24_000, cache_creation_input_tokens=10),
        read(BIG, 24_200, cleared=1, offset=2),
        read("{work}/other.py", 24_500, cleared=2, offset=2),
        say("done", cache_read_input_tokens=25_000),
    ]
    api.scripts["next"] = [call(("Bash", {"command": "true"})), say("next is done")]
    session.runs.append(session.home.run_headless(["go [[SCRIPT:long]]", "go [[SCRIPT:next]]"], plugin_dir=linked()))
    assert not any(map(referred, session.results()))
    session.popkit_says("context", "stats")
    noted = [id for entry in session.journal() if entry["event"] == "outside" for id in entry["ids"]]
    assert noted[0].startswith("toolu_long_0_")
    assert len(noted) == len(set(noted))
    explanation = session.popkit_says("context", "why", "T1")
    assert "left out of the request by the provider" in explanation
    assert session.log() == ""
