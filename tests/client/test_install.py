"""The plugins as a user gets them: from a marketplace, installed, and at work from the copies that the client made."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.mcp.tool_service import table
from tests.patience import HANG_S

from . import installs
from .client import ClientHome, Run
from .marketplace import ROOT, checkout, claude, served
from .scripted_api import Recorded, ScriptedApi, call, say
from .test_plugin import Tracked

PREFIX = "mcp__plugin_popkit-mcp_popkit__"
OLD = {"id": "old", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}
AT = 1_790_000_000.0
LOST = "one\nthe basket total is calculated here\nthree"
LOOK = [
    call(("Read", {"file_path": "{work}/src/app.js"})),
    call(("Bash", {"command": "popkit --version"})),
    call(("Bash", {"command": "mkdir -p docs"})),
    call(("Bash", {"command": "npm test"})),
    say("looked"),
]
# Both clients, and both kinds of marketplace; the other two pairs with --slow.
WAYS = [
    pytest.param(("newest", "git"), id="newest-git"),
    pytest.param(("oldest", "folder"), id="oldest-folder"),
    pytest.param(("newest", "folder"), id="newest-folder", marks=pytest.mark.slow),
    pytest.param(("oldest", "git"), id="oldest-git", marks=pytest.mark.slow),
]


@dataclass
class Story:
    """A user who installs the first plugin and works, then the second and works, then disables the first: what came of it at each stage."""

    home: ClientHome
    tracked: Tracked
    way: str
    looked: Run
    first: list[Recorded]
    live: list[str]
    checks: dict[str, dict]
    handle: str
    searched: Run
    second: list[Recorded]
    disabled: str


@pytest.fixture(scope="module", params=WAYS)
def story(
    request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    end, way = request.param
    root = tmp_path_factory.mktemp("story")
    files = checkout(root / "popkit")
    with ScriptedApi() as api, served(files, root / "served" / "popkit.git") if way == "git" else nullcontext(str(files)) as source:
        home = ClientHome(root, clients[end], api.url)
        api.places["work"] = str(home.work)
        home.extra_env["ENABLE_TOOL_SEARCH"] = "false"  # which would hide the tools' schemas until the model looks for them
        yield played(home, api, way, source)


def played(home: ClientHome, api: ScriptedApi, way: str, source: str) -> Story:
    tracked = Tracked(home, api)
    claude(home, "plugin", "marketplace", "add", source)
    claude(home, "plugin", "install", "popkit@popkit")
    api.scripts["look"] = LOOK
    looked = home.run_headless("go [[SCRIPT:look]]")
    first, live = api.turns(), tracked.live_labels(looked.session_id)
    checks = {check["check"]: check for check in json.loads(popkit(home, "doctor", "--json"))["checks"]}

    claude(home, "plugin", "install", "popkit-mcp@popkit")
    handle = clear_from(home, LOST)
    api.scripts["search"] = [
        call((PREFIX + "context_search", {"query": "basket total"})),
        call((PREFIX + "context_restore", {"handle": handle})),
        call((PREFIX + "retention_apply", {"domain": "rag", "resources": [OLD, {"id": "young"}]})),
        call((PREFIX + "retention_get", {"domain": "both"})),
        say("searched"),
    ]
    api.clear()
    searched = home.run_headless("go [[SCRIPT:search]]")
    second = api.turns()

    claude(home, "plugin", "disable", "popkit@popkit")
    disabled = popkit(home, "doctor")
    return Story(home, tracked, way, looked, first, live, checks, handle, searched, second, disabled)


def popkit(home: ClientHome, *words: str) -> str:
    """The command from where the client has put it, with that client on PATH."""
    (program,) = (home.config / "plugins" / "cache").glob("popkit/popkit/*/bin/popkit")
    env = {**home.env(), "PATH": f"{home.installed.executable.parent}:{home.env()['PATH']}"}
    return subprocess.run([program, *words], env=env, cwd=home.work, capture_output=True, text=True, check=False, timeout=HANG_S).stdout


def clear_from(home: ClientHome, content: str) -> str:
    """Something that an earlier session of the project had cleared; its handle."""
    folder = Path(home.env()["CLAUDE_CONFIG_DIR"]) / "popkit"
    db = archive.open_archive(str(folder / "archive.sqlite"))
    record = archive.NewRecord("toolu_old", "read", "Read src/cart.js", json.dumps(content), tokens=9)
    (handle,) = archive.add_records(db, archive.Chain("earlier", "earlier", project=str(home.work)), [record], now=AT)
    db.close()
    return handle


def names_of_tools(request: Recorded) -> set[str]:
    """The tools of ours that a request told the model of: with their schemas, or by name where the client defers them."""
    body = json.dumps(request.body)
    return {name for name in table() if f"__{name}" in body}


def test_installed_from_a_marketplace_the_plugin_tracks(story: Story) -> None:
    assert story.tracked.errors() == ""
    assert story.live == ["Read src/app.js", "Bash popkit --version", "Bash npm test"]  # it may be resumed
    assert "popkit" in next(text for text in story.first[-1].tool_results().values() if "0." in text)


def test_doctor_understands_the_settings_of_the_client(story: Story) -> None:
    """Installed it is found well; disabled it says how to enable it."""
    # Of the interpreter's start it may warn where the machine is busy.
    assert {check["level"] for name, check in story.checks.items() if name != "interpreter"} == {"ok"}
    assert story.checks["interpreter"]["level"] != "problem"
    assert story.checks["client"]["version"] == story.home.installed.version
    assert story.checks["hooks"]["plugin"] == "popkit@popkit"
    assert story.checks["state"]["text"] == f"{story.looked.session_id[:8]} equals its transcript and journal (4 calls)"
    assert "claude plugin enable popkit@popkit" in story.disabled


def test_the_first_plugin_alone_puts_nothing_of_the_tools_into_the_context(story: Story) -> None:
    assert names_of_tools(story.first[0]) == set()
    assert "popkit" not in json.dumps(story.first[0].body["messages"]).replace(str(story.home.work), "").lower()


def test_the_second_plugin_gives_the_model_tools_that_find_what_left_the_context(story: Story) -> None:
    assert {server["name"]: server["status"] for server in story.searched.init["mcp_servers"]} == {"plugin:popkit-mcp:popkit": "connected"}
    sent = {tool["name"]: tool for tool in story.second[0].body["tools"]}
    assert {name.removeprefix(PREFIX) for name in sent if name.startswith(PREFIX)} == set(table())
    assert sent[PREFIX + "context_search"]["input_schema"]["required"] == ["query"]
    searched, restored, applied, wrong = story.second[-1].tool_results().values()
    [hit] = json.loads(searched)["results"]
    assert (hit["handle"], hit["lines"]) == (story.handle, ["the basket total is calculated here"])
    assert json.loads(restored)["content"] == LOST
    assert json.loads(applied)["counts"] == {"eligible": 1, "protected": 1, "total": 2}
    assert "arguments.domain must be one of memory, rag" in wrong
    # One plugin's hooks alone: each call was tracked once.
    assert story.tracked.stored(story.searched.session_id)["index"] == 4


def test_without_the_first_plugin_the_marketplace_s_own_copy_starts(story: Story, tmp_path: Path) -> None:
    """Where there is none either, it says what to install."""
    plugins = shutil.copytree(story.home.config / "plugins", tmp_path / "plugins", symlinks=True)
    shutil.rmtree(plugins / "cache" / "popkit" / "popkit")
    (script,) = plugins.glob("cache/popkit/popkit-mcp/*/start.sh")
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    env = {**story.home.env(), "PATH": "/usr/bin:/bin"}  # no popkit is on it
    ran = subprocess.run(
        ["sh", script], env=env, input=json.dumps(begin) + "\n", capture_output=True, text=True, check=False, timeout=HANG_S
    )
    if story.way == "git":
        assert json.loads(ran.stdout)["result"]["serverInfo"]["name"] == "popkit"
    else:
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "claude plugin install popkit@popkit" in ran.stderr


def test_claude_mcp_add_adds_the_server_alone(home: ClientHome, api: ScriptedApi) -> None:
    claude(home, "mcp", "add", "popkit", "--", str(ROOT / "bin" / "popkit"), "mcp")
    api.scripts["look"] = [call(("mcp__popkit__memory_status", {})), call(("mcp__popkit__context_status", {})), say("looked")]
    run = home.run_headless("go [[SCRIPT:look]]")
    memory, context = api.turns()[-1].tool_results().values()
    assert json.loads(memory)["project"] == home.work.name
    assert json.loads(context)["session"] == run.session_id


PLUGINS = {"popkit": ROOT, "popkit-mcp": ROOT / "power-mode" / "popkit-mcp"}


# The newest client validates the first plugin in test_mod.py, more strictly; the oldest one takes both when it installs them.
VALIDATED = [("newest", "popkit-mcp"), *(pytest.param("oldest", plugin, marks=pytest.mark.slow) for plugin in PLUGINS)]


@pytest.mark.parametrize(("client_version", "plugin"), VALIDATED)
def test_the_manifests_are_valid(home: ClientHome, plugin: str) -> None:
    said = claude(home, "plugin", "validate", str(PLUGINS[plugin]))
    assert "Validation passed" in said
    assert "Found 2 warnings" not in said
