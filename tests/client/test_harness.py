"""The harness itself, against both ends of the supported range: what later tests rely on really happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .client import ClientHome, Run
from .ends import OLDEST_IF_SLOW
from .installs import Installed
from .probe import Probe, probe_hook
from .scripted_api import ScriptedApi, call, position, say
from .terminal import ClientTerminal

MCP_SERVER = Path(__file__).parent / "mcp_server.py"
APP, README = "{work}/src/app.js", "{work}/README.md"
FIX = {"file_path": APP, "old_string": "a - b", "new_string": "a + b"}
JOB = {
    "description": "small job",
    "prompt": "Read the readme [[SCRIPT:job]]",
    "subagent_type": "general-purpose",
    "run_in_background": False,
}
SCRIPTS = {
    "day": [
        call(("Read", {"file_path": APP}), ("Read", {"file_path": README}), text="Let me look."),
        call(("Bash", {"command": "npm test"})),
        call(("Edit", {**FIX, "old_string": "not in the file"})),
        call(("Edit", FIX)),
        call(("Bash", {"command": "npm test"})),
        call(("mcp__demo__lookup", {"key": "colour"})),
        call(("mcp__demo__fail", {"key": "shape"})),
        call(("Agent", JOB)),
        say("the day is done"),
    ],
    "job": [call(("Read", {"file_path": README})), say("the readme is short")],
    "more": [call(("Bash", {"command": "echo more"})), say("more is done")],
    "big": [say("a big answer", cache_read_input_tokens=90_000)],
    "full": [
        # The newest client keeps the last assistant message, and without one before it has nothing to summarise.
        call(("Bash", {"command": "echo filling"})),
        call(("Bash", {"command": "echo full"}), cache_read_input_tokens=190_000),
        say("not reached"),
    ],
    "after": [call(("Bash", {"command": "echo after"})), say("went on after the summary")],
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
ENDED, FAILED = ["PreToolUse", "PostToolUse"], ["PreToolUse", "PostToolUseFailure"]


@dataclass
class Day:
    """One whole scripted session and what was recorded of it."""

    run: Run
    home: ClientHome
    api: ScriptedApi
    probe: Probe

    def events(self, call_id: str) -> list[str]:
        """The tool events of one call, by its id without the running number."""
        fired = [p for p in self.probe.payloads() if p.get("tool_use_id", "").startswith(call_id + "_")]
        return [payload["hook_event_name"] for payload in fired]

    def result(self, call_id: str) -> str:
        """What the last request of the main thread says the call answered."""
        results = self.api.turns()[-1].tool_results()
        return next(text for use_id, text in results.items() if use_id.startswith(call_id + "_"))


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def day(
    request: pytest.FixtureRequest,
    clients: dict[str, Installed],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Day]:
    """The day, played once per client."""
    root = tmp_path_factory.mktemp("day")
    with ScriptedApi(SCRIPTS) as api:
        probe = Probe(root / "probe_records")
        home = ClientHome(root, clients[request.param], api.url, probe.env)
        api.places["work"] = str(home.work)
        run = home.run_headless("start [[SCRIPT:day]]", plugin_dir=probe.plugin_dir, mcp_server=MCP_SERVER)
        yield Day(run, home, api, probe)


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


def test_a_headless_session_plays_its_script_to_the_end(day: Day) -> None:
    assert (day.run.returncode, day.run.results[-1]["result"]) == (0, "the day is done")


def test_parallel_calls_are_both_answered_in_one_request(day: Day) -> None:
    assert "a - b" in day.result("toolu_day_0_0")
    assert "tiny project" in day.result("toolu_day_0_1")
    assert day.events("toolu_day_0_0") == day.events("toolu_day_0_1") == ENDED


def test_npm_test_fails_until_the_file_is_edited(day: Day) -> None:
    assert day.result("toolu_day_1_0").startswith("Exit code 1")
    assert day.events("toolu_day_1_0") == FAILED
    assert "PASS 1 test" in day.result("toolu_day_4_0")
    assert day.events("toolu_day_4_0") == ENDED


def test_a_rejected_input_fires_no_tool_event(day: Day) -> None:
    assert "not found in file" in day.result("toolu_day_2_0")
    assert day.events("toolu_day_2_0") == []


def test_an_mcp_tool_answers_and_fails(day: Day) -> None:
    assert (day.result("toolu_day_5_0"), day.events("toolu_day_5_0")) == ("value of colour", ENDED)
    assert day.result("toolu_day_6_0").startswith("no such key: shape")
    assert day.events("toolu_day_6_0") == FAILED


def test_a_subagent_has_its_own_transcript_and_events(day: Day) -> None:
    assert "the readme is short" in day.result("toolu_day_7_0")
    inner = [p for p in day.probe.payloads("PostToolUse") if p["tool_use_id"].startswith("toolu_job_0_0_")]
    subagents = day.home.subagent_transcripts(day.run.session_id)
    assert [p["agent_id"] for p in inner] == list(subagents)


def test_the_caller_and_the_network_stay_out_of_it(day: Day) -> None:
    env = day.probe.records("SessionStart")[0]["env"]
    assert env["ANTHROPIC_BASE_URL"] == day.api.url
    assert env["CLAUDE_CONFIG_DIR"] == str(day.home.config)
    assert all(request.headers.get("x-api-key", "").startswith("sk-ant-scripted") for request in day.api.requests)


@pytest.mark.slow  # where it fails, so do test_plugin.py and test_memory.py
def test_compact_and_resume_keep_one_session(home: ClientHome, api: ScriptedApi, tmp_path: Path) -> None:
    """`/compact` asks for one summary, then the resumed session goes on after it."""
    events = ["SessionStart", "PreCompact", "PostCompact"]
    probe = Probe.with_hooks(tmp_path / "compact", {event: probe_hook() for event in events})
    home.extra_env.update(probe.env)
    api.scripts.update(SCRIPTS)
    session = home.run_headless("begin [[SCRIPT:more]]", plugin_dir=probe.plugin_dir).session_id
    home.run_headless("/compact", plugin_dir=probe.plugin_dir, resume=session)
    assert len(api.of_kind("summary")) == 1
    api.clear()
    resumed = home.run_headless("again [[SCRIPT:more]]", plugin_dir=probe.plugin_dir, resume=session)
    assert (resumed.session_id, resumed.results[-1]["result"]) == (session, "more is done")
    assert "Scripted summary" in api.turns()[0].text
    assert "begin [[SCRIPT:more]]" not in api.turns()[0].text
    assert [p.get("source", p.get("trigger")) for p in probe.payloads()] == [
        "startup",
        *("resume", "manual", "compact", "manual"),
        "resume",
    ]


def test_a_full_context_is_compacted_in_mid_turn(home: ClientHome, api: ScriptedApi) -> None:
    """The usage in a script fills the context; the script that the summary names goes on."""
    home.extra_env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    api.scripts.update(SCRIPTS)
    api.summary = "It was a long turn. [[SCRIPT:after]]"
    run = home.run_headless("fill it [[SCRIPT:full]]")
    assert run.results[-1]["result"] == "went on after the summary"
    assert [request.kind for request in api.requests] == ["turn", "turn", "summary", "turn", "turn"]


def test_several_turns_run_in_one_process(home: ClientHome, api: ScriptedApi) -> None:
    api.scripts.update(SCRIPTS)
    run = home.run_headless(["one [[SCRIPT:more]]", "two [[SCRIPT:big]]"])
    assert [event["result"] for event in run.results] == ["more is done", "a big answer"]
    used = [line["message"]["usage"] for line in home.transcript(run.session_id) if line["type"] == "assistant"]
    assert used[-1]["cache_read_input_tokens"] == 90_000


def test_a_screen_on_which_nothing_but_a_countdown_moves_stands_still(home: ClientHome, tmp_path: Path) -> None:
    program = tmp_path / "counts_down"
    program.write_text(COUNTS_DOWN)
    program.chmod(0o755)
    home.installed = Installed("0", program)
    with ClientTerminal(home) as terminal:
        terminal.wait("cache warm for")
        terminal.wait_idle()
        assert "over" not in terminal.text()


@pytest.mark.slow  # where it fails, so does test_plugin_terminal.py
def test_the_terminal_shows_answers_and_rewinds(home: ClientHome, api: ScriptedApi, probe: Probe) -> None:
    """A prompt, its answer on the screen, a rewind that drops it from the next request, and an orderly end."""
    api.scripts.update(SCRIPTS)
    with ClientTerminal(home, plugin_dir=probe.plugin_dir) as terminal:
        terminal.wait_ready()
        terminal.send("paint it blue [[SCRIPT:more]]")
        assert any(line.endswith("more is done") for line in terminal.wait("more is done"))
        terminal.rewind()
        api.clear()
        terminal.send("paint it green [[SCRIPT:big]]")
        terminal.wait("a big answer")
    assert "paint it green" in api.turns()[0].text
    assert "paint it blue" not in api.turns()[0].text
    assert [p["reason"] for p in probe.payloads("SessionEnd")] == ["prompt_input_exit"]
