"""`popkit misses`: causes, sums and what would prevent them, as people and programs read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils import text
from popkit_retention.bill.digests import digest_of
from popkit_retention.bill.sums import misses
from popkit_retention.views import spending
from tests.bill.conversations import BASE, Conversation
from tests.bill.test_digests import MODELS
from tests.cli import inside

GOLDENS = Path(__file__).parent / "goldens"


def lost(folder: Path) -> Path:
    """A folder of two sessions that lost their caches in several ways."""
    folder.mkdir()
    one = Conversation()
    one.wait(4_000)
    one.request(reads=0, total=200_000)
    one.command("/context")
    one.request(reads=BASE)
    one.attach(type="mcp_instructions_delta", addedNames=["linear"])
    one.request(reads=BASE)
    one.write(folder / "one.jsonl")
    two = Conversation("claude-nobody-1")
    two.request(thinks=True)
    two.prompt("on")
    two.request(reads=BASE)
    two.write(folder / "two.jsonl")
    return folder


@pytest.mark.parametrize("columns", [40, 72, 100])
def test_people_read_a_table_with_the_dearest_cause_first(columns: int, tmp_path: Path, golden):
    found = misses([digest_of(str(path), path.stat().st_size) for path in sorted(lost(tmp_path / "sessions").iterdir())], MODELS)
    lines = text.laid_out(spending.misses(found, "sessions since 2026-10-25", "2026-11"), columns)
    assert max(map(text.width, lines)) <= columns
    golden(GOLDENS / f"misses-{columns}.txt", "\n".join(lines) + "\n")


def test_the_command_prints_it(tmp_path: Path):
    done = inside.run(["misses", str(lost(tmp_path / "sessions"))], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Tools or servers came or went: linear" in done.stdout


def test_programs_read_the_same(tmp_path: Path):
    done = inside.run(["misses", "--json", str(lost(tmp_path / "sessions"))], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    found = json.loads(done.stdout)
    assert [row["cause"] for row in found["causes"]] == ["tools", "command", "pause", "unknown"]
    assert found["lost"]["tokens"] == sum(row["tokens"] for row in found["causes"])
    assert found["prices_of"]


def test_the_user_s_own_sessions_are_read_where_no_file_is_named(tmp_path: Path):
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    lost(tmp_path / "claude" / "projects" / "-shop")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "home")}
    found = json.loads(inside.run(["misses", "--json", "--since", "2020-01-01"], environ, tmp_path).stdout)
    assert (found["sessions"], found["lost"]["times"]) == (2, 4)
    none = inside.run(["misses", "--since", "2199-01-01"], environ, tmp_path).stdout
    assert "No request had to write again what the cache already held." in none


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    done = inside.run(["misses", str(tmp_path / "none.jsonl")], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    assert (done.returncode, "none.jsonl" in done.stderr.replace("\n  ", "")) == (1, True)  # a long path goes on in the next line
