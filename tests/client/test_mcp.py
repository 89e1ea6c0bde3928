"""The tools inside the real client, oldest supported and newest: from the plugin that adds them, and from `claude mcp add`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.utils import archive
from popkit_retention.mcp.tools import TABLE

from .client import ClientHome
from .git_server import GitServer
from .scripted_api import ScriptedApi, call, say
from .test_install import claude
from .test_plugin import ROOT, Tracked

PREFIX = "mcp__plugin_popkit-mcp_popkit__"
OLD = {"id": "old", "created_at": "2020-01-01T00:00:00Z", "source_type": "context"}
AT = 1_790_000_000.0


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The project's files, as they are now, in a folder of their own."""
    work = tmp_path / "popkit"
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, work / name)
    return work


@pytest.fixture(params=["folder", "git"])
def marketplace(request: pytest.FixtureRequest, checkout: Path, tmp_path: Path) -> Iterator[str]:
    """A marketplace of that: the folder itself, or the URL of a git repository."""
    if request.param == "folder":
        yield str(checkout)
        return
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    bare = tmp_path / "served" / "popkit.git"
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "popkit"], ["clone", "-q", "--bare", ".", str(bare)]):
        subprocess.run(["git", *identity, *arguments], cwd=checkout, check=True)
    with GitServer(bare.parent) as server:
        yield server.url("popkit.git")


def clear_from(home: ClientHome, content: str) -> str:
    """Something that an earlier session of the project had cleared; its handle."""
    folder = Path(home.env()["CLAUDE_CONFIG_DIR"]) / "popkit"
    folder.mkdir(mode=0o700, exist_ok=True)
    db = archive.open_archive(str(folder / "archive.sqlite"))
    record = archive.NewRecord("toolu_old", "read", "Read src/cart.js", json.dumps(content), tokens=9)
    (handle,) = archive.add_records(db, archive.Chain("earlier", "earlier", project=str(home.work)), [record], now=AT).ids
    db.close()
    return handle


def names_of_tools(api: ScriptedApi) -> set[str]:
    """The tools of ours that a request told the model of: with their schemas, or by name where the client defers them."""
    said = json.dumps(api.turns()[0].body)
    return {name for name in TABLE if f"__{name}" in said}


def test_the_plugin_gives_the_model_tools_that_find_what_left_the_context(home: ClientHome, api: ScriptedApi, marketplace: str) -> None:
    home.extra_env["ENABLE_TOOL_SEARCH"] = "false"  # which would hide their schemas until the model looks for them
    claude(home, "plugin", "marketplace", "add", marketplace)
    claude(home, "plugin", "install", "popkit@popkit")
    claude(home, "plugin", "install", "popkit-mcp@popkit")
    assert "plugin:popkit-mcp:popkit" in claude(home, "mcp", "list")
    assert "Connected" in claude(home, "mcp", "list")
    handle = clear_from(home, "one\nthe basket total is calculated here\nthree")
    api.scripts["look"] = [
        call((PREFIX + "context_search", {"query": "basket total"})),
        call((PREFIX + "context_restore", {"handle": handle})),
        call((PREFIX + "retention_apply", {"domain": "rag", "resources": [OLD, {"id": "young"}]})),
        call((PREFIX + "retention_get", {"domain": "both"})),
        say("looked"),
    ]
    tracked = Tracked(home, api)
    run = home.run_headless("go [[SCRIPT:look]]")
    assert tracked.errors() == ""
    sent = {tool["name"]: tool for tool in api.turns()[0].body["tools"]}
    assert {name.removeprefix(PREFIX) for name in sent if name.startswith(PREFIX)} == set(TABLE)
    assert sent[PREFIX + "context_search"]["input_schema"]["required"] == ["query"]
    searched, restored, applied, wrong = api.turns()[-1].tool_results().values()
    assert json.loads(searched)["results"][0] == {
        **json.loads(searched)["results"][0], "handle": handle, "lines": ["the basket total is calculated here"],
    }  # fmt: skip
    assert json.loads(restored)["content"] == "one\nthe basket total is calculated here\nthree"
    assert json.loads(applied)["counts"] == {"eligible": 1, "protected": 1, "total": 2}
    assert "arguments.domain must be one of memory, rag" in wrong
    # One plugin's hooks alone: each call was tracked once.
    assert tracked.stored(run.session_id)["index"] == 4


def test_the_first_plugin_alone_puts_nothing_of_the_tools_into_the_context(home: ClientHome, api: ScriptedApi, checkout: Path) -> None:
    claude(home, "plugin", "marketplace", "add", str(checkout))
    claude(home, "plugin", "install", "popkit@popkit")
    api.scripts["look"] = [say("nothing to see")]
    home.run_headless("go [[SCRIPT:look]]")
    assert names_of_tools(api) == set()
    assert "popkit" not in json.dumps(api.turns()[0].body["messages"]).replace(str(home.work), "").lower()


def test_without_the_first_plugin_the_marketplaces_own_copy_is_started(home: ClientHome, checkout: Path, tmp_path: Path) -> None:
    claude(home, "plugin", "marketplace", "add", str(checkout))
    claude(home, "plugin", "install", "popkit-mcp@popkit")
    alone = subprocess.run(
        ["sh", str(shutil.copytree(checkout / "power-mode" / "popkit-mcp", tmp_path / "a" / "b" / "c" / "0.1.0") / "start.sh")],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "claude plugin install popkit@popkit" in alone.stderr


def test_claude_mcp_add_adds_the_server_alone(home: ClientHome, api: ScriptedApi) -> None:
    claude(home, "mcp", "add", "popkit", "--", str(ROOT / "bin" / "popkit"), "mcp")
    assert "Connected" in claude(home, "mcp", "list")
    api.scripts["look"] = [call(("mcp__popkit__memory_status", {})), call(("mcp__popkit__context_status", {})), say("looked")]
    run = home.run_headless("go [[SCRIPT:look]]")
    memory, context = api.turns()[-1].tool_results().values()
    assert json.loads(memory)["project"] == home.work.name
    assert json.loads(context)["session"] == run.session_id


def test_the_second_plugin_is_valid(home: ClientHome) -> None:
    strict = [] if home.installed.version == "2.1.100" else ["--strict"]  # the oldest has no such flag
    assert "Validation passed" in claude(home, "plugin", "validate", *strict, str(ROOT / "power-mode" / "popkit-mcp"))
