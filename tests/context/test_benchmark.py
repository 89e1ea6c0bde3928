"""The benchmark of the context builder, on a session made for it; its bounds, where times are measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.views.written import Written


def run(*arguments: str) -> str:
    command = [sys.executable, "benchmarks/context.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A user who asks twice. After the second prompt, the assistant writes a name that only the last reading holds."""
    written = Written(tmp_path)
    written.say("look around")
    for number in range(12):
        lines = [f"     {at}\tvalue_{at} = configure('shop', step={at * number})" for at in range(1, 200)]
        written.call("Read", {"file_path": f"{written.project}/src/part{number}.py"}, "\n".join(lines))
    written.call("Bash", {"command": "./name"}, "the name is needed_later_only_here")
    written.ends()
    written.say("go on")
    written.call("Bash", {"command": "./use needed_later_only_here"}, "used")
    return tmp_path


def test_the_share_of_tokens_and_of_what_is_needed_later_is_shown_by_level(session):
    rows = json.loads(run("kept", "--json", "--processes", "1", "--transcripts", str(session)))
    assert [row["remaining"] for row in rows] == ["90 %", "70 %", "50 %", "30 %"]
    assert all(row["builds"] == 2 and row["needs"] == 1 for row in rows)
    assert [row["all"] for row in rows] == sorted((row["all"] for row in rows), reverse=True)
    assert rows[0]["kept next 10"] == rows[1]["kept next 10"] == 1.0
    assert rows[3]["all"] < rows[0]["all"]


def test_small_conversations_can_be_left_out(session):
    (row,) = json.loads(run("kept", "--json", "--processes", "1", "--transcripts", str(session), "--least", "5000", "--levels", "70"))
    assert row["builds"] == 1


def test_for_a_chat_without_tools_it_reports_what_was_sent_and_what_of_it_recurs(tmp_path):
    written = Written(tmp_path)
    for number in range(12):
        written.say(f"What about part_{number}?" + " And why is that so?" * 20)
        written.call("Bash", {"command": "ls"}, "a result that no chat has")
        written.ends(f"It is as value_{number} says." + " That is all there is to it." * 20 + (" So says value_0." if number == 11 else ""))
    written.say("And now?")
    written.ends("As value_0 and value_10 say.")
    rows = json.loads(run("chats", "--json", "--processes", "1", "--transcripts", str(tmp_path)))
    assert [(row["builds"], row["needs"]) for row in rows] == [(3, 2)] * 4
    assert [row["all"] for row in rows] == sorted((row["all"] for row in rows), reverse=True)
    assert rows[0]["sent"] == "33 of 33"
    assert rows[3]["sent"] == "9 of 33"
    assert all(row["kept next 5"] == 1.0 for row in rows[:3])
    assert rows[2]["in place"] < 1.0


def test_without_transcripts_it_says_so(tmp_path):
    assert run("kept", "--transcripts", str(tmp_path / "none")) == f"kept: left out. there are no transcripts at {tmp_path / 'none'}\n"
    assert run("kept", "--transcripts", str(tmp_path)) == f"kept: left out. no session in {tmp_path} has such a request\n"


def test_the_times_of_builds_are_measured_with_and_without_snapshots():
    rows = json.loads(run("speed", "--json", "--tokens", "3000", "--runs", "2"))
    names = [row["what"] for row in rows]
    assert names[:3] == ["build, 90 % remain, first", "build, 90 % remain, cold", "build, 90 % remain, next"]
    assert names[12:14] == ["service, without snapshots", "service, with snapshots"]
    assert "count_tokens of 200 KB, estimate" in names


def test_recorded_conversations_of_a_size_have_their_builds_timed_if_there_are_any(session):
    rows = json.loads(run("speed", "--json", "--tokens", "40000", "--runs", "1", "--transcripts", str(session)))
    assert [row["what"] for row in rows][12:16] == [f"build, {level} % remain, cold, 1 recorded" for level in (90, 70, 50, 30)]
    output = run("speed", "--tokens", "3000", "--runs", "1", "--transcripts", str(session))
    assert output == f"speed: left out. no session in {session} has a request of about 3,000 tokens\n"


@pytest.mark.bench
def test_a_build_of_200_000_tokens_takes_less_than_100_ms():
    rows = json.loads(run("speed", "--json"))
    for row in rows:
        assert float(row["median ms"]) < (50 if "200 KB" in row["what"] else 100), row
