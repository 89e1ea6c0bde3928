"""The bill in the real client: it is known without a request, and a hidden tool is in no request of the next session."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from popkit_retention.core import units
from tests.cli import inside

from . import installs
from .client import ClientHome, Run
from .plugin_copy import linked
from .provider import blocks_of
from .scripted_api import ScriptedApi, call, say
from .terminal import ClientTerminal
from .test_harness import JOB

SERVER = Path(__file__).parent / "mcp_server.py"
DEFERRED, HIDDEN = "mcp__demo__lookup", "mcp__demo__fail"
RULES = "# Rules\n\n" + "Be kind to whoever reads it. " * 60 + "\n\n## Tests\n\n" + "Every change has its test. " * 40 + "\n"


def play(home: ClientHome, *prompts: str) -> Run:
    """A new session with two MCP tools in the prompt."""
    server = {"command": sys.executable, "args": ["-S", "-E", str(SERVER)], "alwaysLoad": True}
    servers = ("--mcp-config", json.dumps({"mcpServers": {"demo": server}}), "--strict-mcp-config")
    return home.run_headless(list(prompts), plugin_dir=linked(), extra=servers)


def answered(home: ClientHome, *prompts: str) -> list[str]:
    """What the client prints for each prompt of such a session."""
    return [result["result"].replace("\\", "") for result in play(home, *prompts).results]


def tools(api: ScriptedApi) -> list[set[str]]:
    """The MCP tools of each request."""
    return [{tool["name"] for tool in request.body["tools"] if tool["name"].startswith("mcp__demo")} for request in api.turns()]


def test_hidden_or_deferred_tools_are_in_no_request_of_the_next_session(clients: dict[str, installs.Installed], tmp_path: Path):
    """Until a word or a search brings them back."""
    looks = [call(("ToolSearch", {"query": f"select:{DEFERRED}"})), say("found")]
    with ScriptedApi({"hi": [say("hello")], "looks": looks}) as api:
        home = ClientHome(tmp_path, clients["newest"], api.url, {"POPKIT_DOOR_MS": "60000"})
        (home.work / "CLAUDE.md").write_text(RULES)
        _, bill, hidden, deferred = answered(
            home, "go [[SCRIPT:hi]]", "/popkit bill --details", f"/popkit bill hide {HIDDEN} --yes", f"/popkit bill defer {DEFERRED} --yes"
        )
        assert tools(api) == [{DEFERRED, HIDDEN}]
        assert api.of_kind("count_tokens") == []
        assert "MCP server demo (2 tools); never used" in bill, bill
        assert all(name in bill for name in ("System prompt", "System tools", "CLAUDE.md", "Tests", "Skills", DEFERRED)), bill
        assert f"{HIDDEN} is hidden" in hidden, hidden
        assert f"{DEFERRED} is deferred" in deferred, deferred

        api.clear()
        _, _, bill, back, _ = answered(
            home, "go [[SCRIPT:hi]]", "go [[SCRIPT:looks]]", "/popkit bill", f"/popkit bill show {HIDDEN}", "again [[SCRIPT:hi]]"
        )
        assert tools(api)[:2] == [set(), set()]
        results = [block for message in api.turns()[2].body["messages"] for block in blocks_of(message) if block["type"] == "tool_result"]
        assert DEFERRED in json.dumps(results)
        assert "Out of this project's prompts" in bill, bill
        assert "deferred since" in bill, bill
        assert f"{HIDDEN} is back" in back, back
        assert HIDDEN in tools(api)[-1]


def test_messages_and_additions_are_told_as_the_client_counts_them(clients: dict[str, installs.Installed], tmp_path: Path):
    """A file that is named twice is attached once; the second time the client says that it was read already. Nothing is sent for it."""
    steps = [call(("Bash", {"command": "seq 2000"})), call(("Read", {"file_path": "{work}/src/app.js"})), say("done")]
    with ScriptedApi({"work": steps}) as api:
        home = ClientHome(tmp_path, clients["newest"], api.url, {"POPKIT_DOOR_MS": "60000"})
        api.places["work"] = str(home.work)
        asked = ("see @README.md [[SCRIPT:work]]", "see @README.md again [[SCRIPT:work]]")
        run = play(home, *asked, "/popkit bill --details", "/popkit retention")
        shown, panel = (answer["result"].replace("\\", "") for answer in run.results[-2:])
        environ = {"POPKIT_HOME": str(home.config / "popkit"), "CLAUDE_CONFIG_DIR": str(home.config)}
        bill = json.loads(inside.run(["bill", "--json"], environ, home.work).stdout)
        assert [request.kind for request in api.requests] == ["turn"] * 6
    print(shown, panel)
    results = {row["name"]: row["tokens"] for row in bill["messages"]["rows"] if row["kind"] == "result"}
    added = {row["name"]: row for row in bill["whole"]["added"]}
    print(json.dumps(bill["messages"]), json.dumps(bill["whole"]["added"]))
    assert "as Claude Code counts them" in shown
    assert "What Claude Code adds" in shown
    assert bill["messages"]["is_counted"]
    told = " ".join(panel.split())
    assert f"{sum(row['tokens'] for row in bill['messages']['rows']):,} tokens, as Claude Code counts them" in told
    assert all(f" {tokens:,} results of {name} ·" in told for name, tokens in results.items())
    assert f"{units.long_tokens(sum(row['tokens'] for row in added.values()))} by Claude Code so far, estimated" in told
    assert results["Bash"] > results["Read"] > 0
    assert (added["file"]["times"], added["already_read_file"]["times"], added["environment"]["times"]) == (1, 1, 1)
    assert all(row["tokens"] >= row["tokens_again"] >= 0 for row in added.values())
    assert not {"prompt_snapshot", "queued_command"} & set(added)


def test_a_tool_that_is_hidden_now_leaves_the_running_session(clients: dict[str, installs.Installed], tmp_path: Path):
    """Its price is said first; the next request is without the tool."""
    with ScriptedApi({"hi": [say("hello")]}) as api:
        home = ClientHome(tmp_path, clients["newest"], api.url, {"POPKIT_DOOR_MS": "60000"})
        now = f"/popkit bill hide {HIDDEN} --now"
        _, priced, _, hidden, _ = answered(home, "go [[SCRIPT:hi]]", now, "go [[SCRIPT:hi]]", f"{now} --yes", "go [[SCRIPT:hi]]")
        print(priced, hidden)
        assert "to the cache again" in priced
        assert "Nothing was changed" in priced
        assert f"{HIDDEN} is hidden" in hidden
        assert tools(api) == [{DEFERRED, HIDDEN}, {DEFERRED, HIDDEN}, {DEFERRED}]


def test_the_dollars_of_a_session_are_those_of_the_client(clients: dict[str, installs.Installed], tmp_path: Path):
    steps = [call(("Bash", {"command": "seq 2000"})), call(("Read", {"file_path": "README.md"})), say("done " * 200)]
    with ScriptedApi({"work": steps}) as api:
        home = ClientHome(tmp_path, clients["newest"], api.url)
        run = play(home, "go [[SCRIPT:work]]", "again [[SCRIPT:work]]")
        assert [request.kind for request in api.requests] == ["turn"] * 6
        path = str(home.transcript_path(run.session_id))
        done = inside.run(["bill", path, "--json"], {"POPKIT_HOME": str(tmp_path / "popkit")}, home.work)
        whole = json.loads(done.stdout)["whole"]
        assert whole["requests"] == 6
        assert whole["usd"] == pytest.approx(run.results[-1]["total_cost_usd"], rel=0.02)
        assert sum(row["usd"] for row in whole["kinds"]) == pytest.approx(whole["parts"]["conversation"], abs=1e-9)
        results = {row["name"]: row["used"][0] for row in whole["kinds"] if row["kind"] == "result"}
        assert results == {"Bash": 2, "Read": 2}


def test_tokens_the_api_counted_are_billed_once_however_the_session_goes_on(clients: dict[str, installs.Installed], tmp_path: Path):
    """After resume, continue, fork, rewind and compaction."""
    scripts = {
        "work": [call(("Bash", {"command": "seq 300"})), call(("Agent", JOB)), say("worked")],
        "job": [call(("Bash", {"command": "true"})), say("the job is done")],
        **{
            name: [call(("Bash", {"command": f"echo {name}"})), say(f"that was {name}")]
            for name in ("on", "fork", "detour", "again", "last")
        },
    }
    with ScriptedApi(scripts) as api:
        home = ClientHome(tmp_path, clients["newest"], api.url)
        first = home.run_headless("go [[SCRIPT:work]]").session_id
        home.run_headless("go [[SCRIPT:on]]", resume=first)
        home.run_headless("go [[SCRIPT:on]]", extra=["--continue"])
        fork = home.run_headless("go [[SCRIPT:fork]]", resume=first, extra=["--fork-session"]).session_id
        home.run_headless("go [[SCRIPT:fork]]", resume=fork, extra=["--fork-session"])
        with ClientTerminal(home, resume=first, columns=150) as terminal:
            terminal.wait("that was on")
            say_and_wait(terminal, "go [[SCRIPT:detour]]", "that was detour")
            terminal.rewind()
            say_and_wait(terminal, "go [[SCRIPT:again]]", "that was again")
            terminal.send("/compact")
            terminal.wait("Compacted")
            terminal.wait_idle()
            say_and_wait(terminal, "go [[SCRIPT:last]]", "that was last")
        kinds = Counter(kind for kind, _ in api.used)
        print(dict(kinds))
        turns = [used for kind, used in api.used if kind == "turn"]
        environ = {"POPKIT_HOME": str(tmp_path / "popkit"), "CLAUDE_CONFIG_DIR": str(home.config)}
        whole = json.loads(inside.run(["bill", "--json"], environ, home.work).stdout)["whole"]
        lost = json.loads(inside.run(["misses", "--json"], environ, home.work).stdout)
        assert kinds["summary"] == 1
        assert whole["requests"] == lost["requests"] == len(turns)
        digest = json.loads(inside.run(["bill", str(home.config / "projects"), "--json"], environ, home.work).stdout)["whole"]
        assert digest["requests"] == len(turns)
        assert (whole["usd"], whole["sessions"]) == (pytest.approx(digest["usd"]), digest["sessions"])
        assert whole["usd"] == pytest.approx(lost["usd"])
        print(f"{len(turns)} requests of the API, {whole['requests']} billed; ${whole['usd']:.4f}")


def say_and_wait(terminal: ClientTerminal, prompt: str, says: str) -> None:
    """A turn of a client without hooks."""
    terminal.ask(prompt, lambda shown: says in shown)
    terminal.wait_idle()
