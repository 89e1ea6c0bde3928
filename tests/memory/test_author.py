"""What an author of another agent has: one import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import popkit_retention.memory as package
from popkit_retention.memory import InMemoryStore, Lesson, Memory, Observed

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", package.__all__)
def test_every_name_is_there(name: str):
    value = getattr(package, name)
    assert isinstance(value, dict) if name.endswith("_POLICY") else value.__name__ == name


def test_no_other_name_is():
    with pytest.raises(AttributeError, match="has no attribute 'Recollection'"):
        package.Recollection  # noqa: B018


def test_an_agent_keeps_finds_learns_and_tells():
    memory = Memory(InMemoryStore(), "my-agent", now=lambda: 1_800_000_000.0)
    memory.add("The customer prefers e-mail to calls.", speaker="support", episode="call-17", place=3)
    memory.learn(Lesson("run-1", "my-agent", 1_799_999_000.0, 1_800_000_000.0, (Observed("path", "reports/weekly.md", 4),)))
    assert [item.text for item, _ in memory.search("how does the customer want to be reached: e-mail?")] == [
        "The customer prefers e-mail to calls."
    ]
    said = memory.document(500).text
    assert "The customer prefers e-mail to calls." in said
    assert "weekly.md" in said
    memory.run()
    assert memory.status()["items"] == 2


def test_the_example_of_the_documentation_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    example = next(
        block
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "agents.md").read_text(encoding="utf-8"), re.DOTALL)
        if "popkit_retention.memory" in block
    )
    exec(example.replace("/home/me", str(tmp_path)), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert printed.startswith("The customer prefers e-mail to calls.\n# Project memory")
    assert printed.count("The customer prefers e-mail to calls.") == 2


def test_nothing_but_the_standard_library_is_needed():
    program = "import sys; sys.path[:0] = sys.argv[1:]; from popkit_retention.memory import Memory, SqliteStore; print(Memory.__name__)"
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program, str(ROOT), str(ROOT / "power-mode")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("Memory\n", "")
