"""The pack of modules never gives a hook another code than the sources, and is never needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Plugin:
    """A copy of the plugin, and its hook as the launcher starts it."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.copytree(ROOT / "hooks", folder / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "retention-config.json", folder)
        self.calls = 0

    @property
    def packs(self) -> list[Path]:
        return sorted((self.folder / "hooks/utils/__pycache__").glob("*.pack"))

    def hook(self, *flags: str) -> str:
        """Runs the hook on one more call; what it answered on both outputs."""
        self.calls += 1
        payload = {
            "hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/shop", "tool_name": "Bash", "tool_use_id": f"t{self.calls}",
            "tool_input": {"command": f"echo {self.calls}"}, "tool_response": {"stdout": str(self.calls), "stderr": ""},
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-S", "-E", *flags, self.folder / "hooks/post-tool-use.py"], input=json.dumps(payload), text=True,
            capture_output=True, check=True, env={"POPKIT_HOME": str(self.folder / "home")},
        )  # fmt: skip
        return done.stdout + done.stderr

    def tracked(self) -> int:
        """How many calls the state has seen."""
        state = json.loads((self.folder / "home/sessions/s/main.state.json").read_text())
        assert not (self.folder / "home/hooks.log").exists()
        return state["index"]


@pytest.fixture
def plugin(tmp_path) -> Plugin:
    return Plugin(tmp_path / "pop kit")


def test_the_first_hook_makes_the_pack_and_the_next_uses_it(plugin):
    assert plugin.hook() == ""
    (pack,) = plugin.packs
    made = pack.stat().st_mtime_ns
    loaded = plugin.hook("-X", "importtime")
    assert pack.stat().st_mtime_ns == made
    assert "utils.policy.engine" in loaded
    assert "__future__" not in loaded
    assert plugin.tracked() == 2


def test_a_source_that_changed_counts_at_once(plugin):
    plugin.hook()
    source = plugin.folder / "hooks/utils/handlers/post_tool_use.py"
    source.write_text(source.read_text().replace("def handle(", "def handle(*_arguments):\n    raise SystemExit\n\n\ndef _handle("))
    plugin.hook()
    assert json.loads((plugin.folder / "home/sessions/s/main.state.json").read_text())["index"] == 1


def test_a_plugin_that_was_moved_does_not_run_the_code_of_its_old_place(plugin, tmp_path):
    plugin.hook()
    moved = Plugin.__new__(Plugin)
    moved.folder, moved.calls = tmp_path / "moved", 1
    shutil.copytree(plugin.folder, moved.folder)
    shutil.rmtree(plugin.folder)
    assert moved.hook() == ""
    assert moved.tracked() == 2


@pytest.mark.parametrize("spoilt", [b"", b"garbage", "half", "flipped"])
def test_a_spoilt_pack_is_passed_over(plugin, spoilt):
    plugin.hook()
    (pack,) = plugin.packs
    whole = pack.read_bytes()
    index = whole.index(b"popkit") + 13  # in the length of the index
    pack.write_bytes({"half": whole[: len(whole) // 200], "flipped": whole[:index] + b"\xff" + whole[index + 1 :]}.get(spoilt, spoilt))
    assert plugin.hook() == ""
    assert plugin.tracked() == 2


def test_where_no_byte_code_may_be_written_there_is_no_pack(plugin):
    assert plugin.hook("-B") == ""
    assert plugin.packs == []
    blocked = plugin.folder / "hooks/utils/__pycache__"
    shutil.rmtree(blocked, ignore_errors=True)
    blocked.write_text("in the way")
    assert plugin.hook() == ""
    assert plugin.tracked() == 2


def test_hooks_at_once_leave_one_whole_pack(plugin):
    payload = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read", "tool_input": {}, "tool_response": ""}
    command = [sys.executable, "-S", "-E", plugin.folder / "hooks/post-tool-use.py"]
    env = {"POPKIT_HOME": str(plugin.folder / "home")}
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) for _ in range(8)]
    for number, process in enumerate(running):
        _, said = process.communicate(json.dumps({**payload, "tool_use_id": f"p{number}"}))
        assert (process.returncode, said) == (0, "")
    left_over = [path.name for path in plugin.packs[0].parent.iterdir() if ".pack." in path.name]
    assert left_over == []
    assert plugin.tracked() == 8
