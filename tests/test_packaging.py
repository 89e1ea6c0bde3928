"""The manifests agree with each other, and what is installed is what is meant to be."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.patience import HANG_S

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PLUGIN = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
TOOLS_PLUGIN = ROOT / "power-mode" / "popkit-mcp"
TOOLS = json.loads((TOOLS_PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
MARKETPLACE = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))


def test_every_manifest_has_the_same_version_and_the_changelog_has_it() -> None:
    version = PLUGIN["version"]
    assert TOOLS["version"] == version
    assert re.search(r'^version = "(.+)"$', PYPROJECT, re.MULTILINE)[1] == version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{version}]" in changes or f"Version {version}" in changes.split("\n## ")[1]


def test_the_marketplace_offers_this_plugin_from_its_own_folder_and_its_tools_from_theirs() -> None:
    places = {PLUGIN["name"]: "./", TOOLS["name"]: "./power-mode/popkit-mcp"}
    assert {plugin["name"]: plugin["source"] for plugin in MARKETPLACE["plugins"]} == places
    assert all("version" not in plugin for plugin in MARKETPLACE["plugins"]), "one place for the version: plugin.json"
    assert MARKETPLACE["name"] == PLUGIN["name"] == "popkit"


def test_the_plugin_alone_brings_no_tools_and_its_tools_bring_no_hooks() -> None:
    assert not (ROOT / ".mcp.json").exists()
    assert "mcpServers" not in PLUGIN
    assert {path.name for path in TOOLS_PLUGIN.iterdir()} == {".claude-plugin", ".mcp.json", "start.sh"}


def test_hooks_name_only_events_that_the_oldest_client_knows() -> None:
    # Under 2.1.100 one unknown event silences every hook of a plugin.
    known = {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SessionStart", "PreCompact", "SessionEnd"}
    hooks = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert set(hooks) == known
    handlers = [handler for matchers in hooks.values() for matcher in matchers for handler in matcher["hooks"]]
    # 2.1.100 runs `command` alone and would give the payload to it as a script.
    assert all(set(handler) - {"if"} == {"type", "command", "timeout", "statusMessage"} for handler in handlers)
    assert all(handler["timeout"] <= 30 for handler in handlers), "seconds"
    assert all(len(matcher["hooks"]) == 1 for matchers in hooks.values() for matcher in matchers), "one process for each event"


@pytest.mark.parametrize(
    "name", ["bin/popkit", "hooks/popkit", "scripts/test", "scripts/test-under-load", ".ci/run", "power-mode/popkit-mcp/start.sh"]
)
def test_scripts_can_be_run(name: str) -> None:
    assert (ROOT / name).stat().st_mode & stat.S_IXUSR
    shell = "bash" if "bash" in (ROOT / name).read_text().split("\n")[0] else "sh"
    subprocess.run([shell, "-n", ROOT / name], check=True)


def test_hooks_have_no_dependency() -> None:
    assert re.search(r"^dependencies = \[\]", PYPROJECT, re.MULTILINE)
    assert 'requires-python = ">=3.9"' in PYPROJECT
    assert '"Private :: Do Not Upload"' in PYPROJECT


def test_nothing_that_is_shipped_names_a_folder_of_somebodys_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git repository")
    tell_tale = re.compile(r"/(?:root|home/(?!me\b|dev\b|user\b)[a-z]\w*|Users/(?!me\b|dev\b)\w+)/")
    paths = [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("tests/")]
    found = [path for path in paths if path.is_file() and tell_tale.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert found == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it would be installed, built by its own build system from this folder; no index is asked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=HANG_S)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"hooks", "popkit_retention", "retention-config.json"}
    tracked = [
        path.relative_to(ROOT).as_posix() for path in (ROOT / "hooks").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {name for name in names if name.startswith("hooks/")} == set(tracked)


def test_what_is_installed_from_the_wheel_works_by_itself(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    entry = re.search(r"^popkit = (.+):(.+)$", next(site.glob("*.dist-info/entry_points.txt")).read_text(), re.MULTILINE)

    def popkit(*words: str) -> str:
        code = f"import sys; from {entry[1]} import {entry[2]}; sys.exit({entry[2]}({list(words)!r}))"
        env = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": str(site)}
        done = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert popkit("--version") == f"popkit {PLUGIN['version']}\n"
    assert "Retention status" in popkit("try")
    assert popkit("config", "check") == f"No problems in 1 file:\n  {site / 'retention-config.json'}\n"
    shown = json.loads(popkit("config", "show", "--json"))["values"]
    assert {row["source"] for row in shown if row["key"].startswith("models.by_id")} == {"shipped"}, "prices and windows too"
