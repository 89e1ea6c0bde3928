"""The harness itself, against both ends of the supported range: what later tests rely on really happens."""

from __future__ import annotations

import sys
from pathlib import Path

from .client import ClientHome
from .installs import Installed
from .probe import Probe
from .scripted_api import ScriptedApi, call, position, say
from .terminal import ClientTerminal

MCP_SERVER = Path(__file__).parent / "mcp_server.py"
JOB = {
    "description": "small job",
    "prompt": "Read the readme [[SCRIPT:job]]",
    "subagent_type": "general-purpose",
    "run_in_background": False,
}
SCRIPTS = {
    "more": [call(("Bash", {"command": "echo more"})), say("more is done")],
    "big": [say("a big answer", cache_read_input_tokens=90_000)],
}
COUNTS_DOWN = f"""#!{sys.executable}
import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
for second in range(300):
    print(end=f"\\rPrompt cache warm for 4:{{second % 60:02d}}", flush=True)
    time.sleep(0.1)
print("over", flush=True)
signal.pause()
"""

# Has a prompt as the client has, drops the first text and the first Enter, and takes in only a part of the second text.
DROPS_KEYS = f"""#!{sys.executable}
import os, signal, tty
signal.signal(signal.SIGINT, signal.SIG_DFL)
tty.setraw(0, when=0)
typed, said, texts, enters = "", "", 0, 0
while True:
    rule = "\\u2500" * 60
    print(end=f"\\x1b[2J\\x1b[H{{said}}\\r\\n{{rule}}\\r\\n\\u276f {{typed}}\\r\\n{{rule}}\\r\\n", flush=True)
    got = os.read(0, 4096).decode()
    if "\\x03" in got:
        break
    if got == "\\r":
        enters += 1
        if typed and enters > 1:
            typed, said = "", f"you said {{typed}}"
    elif got == "\\x15":
        typed = ""
    else:
        texts += 1
        typed = typed + ("", got[4:], got)[min(texts, 3) - 1]
"""


def test_the_step_follows_from_the_request_alone() -> None:
    asked = {"role": "user", "content": "please [[SCRIPT:day]]"}
    use = {"type": "tool_use", "id": "toolu_day_0_0_0001", "input": {"prompt": "[[SCRIPT:job]]"}}
    answer = {"role": "assistant", "content": [use]}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "[[SCRIPT:job]]"}]}
    assert position([asked]) == ("day", 0)
    assert position([asked, answer, result]) == ("day", 1)
    assert position([asked, answer, result, asked]) == ("day", 0)
    assert position([answer]) == ("", 1)
    assert position([{"role": "user", "content": "summary [[SCRIPT:after]]"}, answer, result]) == ("after", 0)


def test_several_turns_run_in_one_process_which_reaches_the_scripted_api_alone(home: ClientHome, api: ScriptedApi, probe: Probe) -> None:
    api.scripts.update(SCRIPTS)
    run = home.run_headless(["one [[SCRIPT:more]]", "two [[SCRIPT:big]]"], plugin_dir=probe.plugin_dir)
    assert [event["result"] for event in run.results] == ["more is done", "a big answer"]
    used = [line["message"]["usage"] for line in home.transcript(run.session_id) if line["type"] == "assistant"]
    assert used[-1]["cache_read_input_tokens"] == 90_000
    (started,) = probe.records("SessionStart")
    assert started["env"]["ANTHROPIC_BASE_URL"] == api.url
    assert started["env"]["CLAUDE_CONFIG_DIR"] == str(home.config)
    assert all(request.headers.get("x-api-key", "").startswith("sk-ant-scripted") for request in api.requests)
    assert [payload["hook_event_name"] for payload in probe.payloads() if "tool_use_id" in payload] == ["PreToolUse", "PostToolUse"]


def _terminal_of(text: str, home: ClientHome, folder: Path) -> ClientTerminal:
    """Return a terminal in which a script runs instead of the client."""
    program = folder / "stand_in"
    program.write_text(text)
    program.chmod(0o755)
    home.installed = Installed("0", program)
    return ClientTerminal(home)


def test_a_screen_on_which_nothing_but_a_countdown_moves_stands_still(home: ClientHome, tmp_path: Path) -> None:
    with _terminal_of(COUNTS_DOWN, home, tmp_path) as terminal:
        terminal.wait("cache warm for")
        terminal.wait_idle()
        assert "over" not in terminal.text()


def test_what_the_client_drops_is_typed_and_submitted_again(home: ClientHome, tmp_path: Path) -> None:
    with _terminal_of(DROPS_KEYS, home, tmp_path) as terminal:
        terminal.dropped_s = 0.5
        terminal.wait("❯")
        terminal.send("go on with it")
        assert terminal.wait("you said")[0] == "you said go on with it"
