"""docs/policies.md: its example is run as it is written, and what it says of the interface and of the public sessions is so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lab.research import RIVALS
from popkit_retention.lab.policy import Policy
from tests.lab.session_builder import SessionBuilder
from tests.lab.test_survey import session
from tests.paths import ROOT

GUIDE = (ROOT / "docs" / "policies.md").read_text()
EXAMPLE = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)[0]
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)[0].splitlines()
CORPUS = ROOT / "benchmarks" / "corpus.py"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user with the example's file and two sessions, in one of which the cache goes cold."""
    (tmp_path / "recent.py").write_text(EXAMPLE)
    projects = tmp_path / ".claude" / "projects"
    long = session(projects / "-shop" / "one.jsonl", 90, 1)
    session(projects / "-forum" / "two.jsonl", 16, 3)
    lines = [json.loads(line) for line in long.read_text().splitlines()]
    pause = max(at for at, line in enumerate(lines[:-20]) if line["type"] == "user")  # before a result, else it is the answer that is late
    for line in lines[pause:]:
        line["timestamp"] = "2027" + line["timestamp"][4:]
    long.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def typed(command: str, home: Path) -> subprocess.CompletedProcess:
    """Run a line of the guide in the folder of the example."""
    environ = {"HOME": str(home), "PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}"}
    command = command.replace("FILE", str(home / ".claude" / "projects" / "-shop" / "one.jsonl"))
    return subprocess.run(command, shell=True, cwd=home, env=environ, capture_output=True, text=True, check=False)  # noqa: S602


def test_the_example_is_among_the_others(home) -> None:
    done = typed(COMMANDS[0], home)
    assert (done.returncode, done.stderr) == (0, "")
    rows = dict(re.findall(r"^. (\S+) +\d\.\d{3} +(\d\.\d{3}) ", done.stdout, re.MULTILINE))
    assert set(rows) == {"nothing", "recent.py:Recent", "recent.py:Short", "auto", "door"}
    assert float(rows["recent.py:Recent"]) < 1
    assert "failed" not in done.stdout


def test_the_example_decides_in_one_session(home) -> None:
    done = typed(COMMANDS[1], home)
    assert done.returncode == 0, done.stderr
    cleared = [one for line in done.stdout.splitlines() for one in json.loads(line)["clear"]]
    assert cleared
    assert {(one["placeholder"], *one["reasons"]) for one in cleared} == {("[Old tool result cleared]", "old")}


def test_of_a_long_output_the_ends_enter(home) -> None:
    space: dict = {}
    exec(EXAMPLE, space)  # noqa: S102  the guide's own
    builder = SessionBuilder()
    long = builder.bash(text="\n".join(f"line {number}" for number in range(100)))
    entered = space["Short"]().enter(long).split("\n")
    assert (len(entered), entered[0], entered[20], entered[-1]) == (41, "line 0", "[60 lines left out]", "line 99")
    assert space["Short"]().enter(builder.bash(text="short")) is None


def test_every_method_has_a_row() -> None:
    rows = re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", GUIDE, re.MULTILINE)
    assert {name for name, _ in rows} == {name for name, value in vars(Policy).items() if callable(value)}


def test_every_rule_of_another_tool_has_its_source() -> None:
    table = [line.split("|")[1] for line in GUIDE.split("## The rules of other tools")[1].split("\n## ")[0].splitlines() if "|" in line]
    named = re.findall(r"`([a-z0-9-]+)`", "\n".join(table))
    assert set(named) == {"microcompact-60m", *RIVALS} - {"context-editing-20k"}


# --- the public sessions ------------------------------------------------------------------------------------------------------------


def corpus(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, CORPUS, *words], capture_output=True, text=True, check=False)


def test_pointers_are_whole_and_permissively_licensed() -> None:
    repositories = json.loads(CORPUS.with_suffix(".json").read_text())["repositories"]
    assert {one["licence"] for one in repositories.values()} <= {"MIT", "Apache-2.0", "CC0-1.0"}
    sessions = [each for one in repositories.values() for each in one["sessions"]]
    assert len(sessions) > 40
    assert len({each["sha256"] for each in sessions}) == len(sessions)
    for each in sessions:
        assert re.fullmatch(r"[0-9a-f]{40}", each["commit"])
        assert re.fullmatch(r"[0-9a-f]{64}", each["sha256"])
        assert set(each) == {"path", "commit", "characters", "sha256"}


def test_a_missing_source_is_named_with_its_place_of_publication(tmp_path) -> None:
    (tmp_path / "another.jsonl").write_text("{}\n")
    done = corpus(tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("0 of ")
    assert (
        "  https://github.com/obsessiondb/chkit/blob/88f12bcbfa066279afbb75eb9fe2dcab8ace4610/c6/10f68b690a/0/full.jsonl\n" in done.stdout
    )
    assert corpus(tmp_path / "nowhere").returncode == 2


def test_a_session_is_known_by_its_content_whatever_its_name(transcripts) -> None:
    done = corpus(transcripts, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    for each in json.loads(done.stdout):
        assert len(Path(each["found"]).read_text()) == each["characters"]
