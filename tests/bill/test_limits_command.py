"""`popkit limits`: how full the windows are, and what used them, as people and programs read it."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from hooks.utils import text
from hooks.utils.hosts.claude_code.stamps import seconds_of
from hooks.utils.state.limits import weights
from hooks.utils.views.limits import pane_lines
from popkit_retention.bill.digests import digest_of
from popkit_retention.bill.sums import SLOT_S
from popkit_retention.bill.windows import took
from popkit_retention.views import spending
from tests.bill.conversations import BASE, Conversation
from tests.bill.standing import at_work
from tests.cli import inside
from tests.lab.transcripts import BEGAN, stamp

GOLDENS = Path(__file__).parent / "goldens"
HOUR = 3_600.0
WORTH = {
    "plain": None, "read": {"percent": 0.412, "error": 0.05, "claimed": True}, "write_5m": None,
    "write_1h": {"percent": 4.0, "error": 3.0, "claimed": False}, "output": None, "cold_5m": None,
    "cold_1h": {"percent": 1.9, "error": 0.3, "claimed": True},
}  # fmt: skip
FITTED = {
    "window": "five_hour", "why": "", "blocks": 12, "needs_blocks": 8, "movements": 80, "needs_movements": 24,
    "worth": {"claude-opus-5": WORTH, "claude-haiku-5": {**WORTH, "read": None, "cold_1h": None}},
}  # fmt: skip
RESETS = BEGAN + 4 * HOUR  # of the five hours in the middle of which the conversations begin


def worked(home: Path) -> dict[str, str]:
    """Sessions of a user, one with a subagent, one that began before the window: their environment an hour after they began."""
    project = home / "claude" / "projects" / "-shop"
    (project / "one" / "subagents").mkdir(parents=True)
    one = Conversation()
    one.request(output=300)
    one.write(project / "one.jsonl")
    agent = Conversation("claude-haiku-4-5")
    for entry in agent.entries:
        entry["isSidechain"] = True
    agent.write(project / "one" / "subagents" / "agent-a.jsonl")
    early = Conversation()
    for entry in early.entries:
        entry["timestamp"] = entry["timestamp"].replace("2026-09-21", "2026-09-20")
    early.request(output=700)
    early.write(project / "early.jsonl")
    return {"CLAUDE_CONFIG_DIR": str(home / "claude"), "POPKIT_HOME": str(home / "popkit"), "POPKIT_CLOCK": str(BEGAN + HOUR)}


def has_read(home: Path, rows: list[list[object]]) -> None:
    (home / "popkit").mkdir(exist_ok=True)
    (home / "popkit" / "limits.json").write_text(json.dumps(rows))


def steady(kind: str, resets_at: float, percent: float, an_hour: float) -> list[list[object]]:
    """Readings of the hour until now."""
    return [[kind, BEGAN + part * HOUR, percent - an_hour * (1 - part), resets_at] for part in (0, 0.25, 0.5, 0.75, 1)]


def data(home: Path, environ: dict[str, str]) -> dict:
    done = inside.run(["limits", "--json"], environ, home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_window_has_its_pace_its_end_and_what_used_it(tmp_path: Path):
    environ = worked(tmp_path)
    has_read(tmp_path, steady("five_hour", RESETS, 62, 38) + steady("seven_day", BEGAN + 90 * HOUR, 31, 0.1))
    five, seven = data(tmp_path, environ)["windows"]
    assert (five["kind"], five["percent"], five["percent_per_hour"]) == ("five_hour", 62, pytest.approx(38))
    assert five["full_at"] == pytest.approx(BEGAN + 2 * HOUR)
    assert seven["full_at"] is None
    # What the session of the day before had used by then is of the longer window alone.
    assert seven["took"]["tokens"] - five["took"]["tokens"] == BASE + 2_000 + 50


def test_subagents_stand_apart_and_the_sums_agree(tmp_path: Path):
    environ = worked(tmp_path)
    has_read(tmp_path, [["five_hour", BEGAN + HOUR, 62, RESETS]])
    (window,) = data(tmp_path, environ)["windows"]
    found = window["took"]
    assert {(part["session"], part["subagents"]): part["used"]["output"] for part in found["parts"]} == {
        ("one", False): 350, ("one", True): 50, ("early", False): 700,
    }  # fmt: skip
    assert found["tokens"] == sum(part["tokens"] for part in found["parts"]) == sum(found["used"].values())
    assert sum(part["share"] for part in found["parts"]) == pytest.approx(1)
    assert window["percent_per_hour"] is None
    assert sum(found["sources"].values()) == found["tokens"]
    assert {row["kind"] for row in found["kinds"]} == {"said", "wrote", "other"}
    assert sum(row["tokens"] for row in found["kinds"]) == found["sources"]["conversation"]
    assert found["sources"]["subagents"] == sum(part["tokens"] for part in found["parts"] if part["subagents"])
    assert (window["fit"]["why"], window["fit"]["blocks"], window["fit"]["worth"]) == ("blocks", 0, {})


def test_what_requests_used_by_time_is_all_that_they_used(tmp_path: Path):
    conversation = Conversation()
    conversation.wait(4_000)
    conversation.request(reads=0)
    digest = conversation.digest(tmp_path)
    (used,) = digest["used"]
    assert [at % SLOT_S for at, *_ in digest["by_time"]] == [0, 0]
    assert [sum(slot[column] for slot in digest["by_time"]) for column in (1, 2, 3, 4)] == [
        used["plain"], used["read"], used["write_5m"] + used["write_1h"], used["output"],
    ]  # fmt: skip


def test_without_a_reading_it_says_what_reports_them(tmp_path: Path):
    environ = worked(tmp_path)
    assert data(tmp_path, environ) == {"last_reading_at": None, "windows": []}
    assert "There are no readings of your limits yet." in inside.run(["limits"], environ, tmp_path).stdout
    has_read(tmp_path, [["five_hour", BEGAN - HOUR, 62, BEGAN]])
    assert "No window runs now." in inside.run(["limits"], environ, tmp_path).stdout


@pytest.mark.parametrize("columns", [40, 72])
def test_people_read_the_windows_and_what_used_them(columns: int, tmp_path: Path, golden):
    now = time.mktime((2026, 11, 24, 14, 0, 0, 0, 0, -1))
    worked(tmp_path)
    project = tmp_path / "claude" / "projects" / "-shop"
    at_work().write(project / "two.jsonl")
    found = took([digest_of(str(path), path.stat().st_size) for path in sorted(project.rglob("*.jsonl"))], 0.0)
    five = {"kind": "five_hour", "percent": 62.4, "at": now - 240, "percent_per_hour": 14.1, "full_at": now + 160 * 60,
            "resets_at": now + 4 * HOUR, "began": now - HOUR, "took": found, "fit": FITTED}  # fmt: skip
    seven = {**five, "kind": "seven_day", "percent": 31, "percent_per_hour": None, "full_at": None, "at": now,
             "resets_at": now + 90 * HOUR, "began": now - 78 * HOUR, "took": took([], 0.0),
             "fit": {**FITTED, "window": "seven_day", "why": "blocks", "blocks": 3, "worth": {}}}  # fmt: skip
    spent = {**seven, "kind": "spend_limit", "percent": 104.5, "resets_at": None, "began": None, "took": None, "fit": None}
    told = {"last_reading_at": now, "windows": [five, seven, spent]}
    lines = text.laid_out(spending.windows(told, now), columns)
    in_pane = text.laid_out(pane_lines(told, "claude-opus-5", now), columns)
    assert max(map(text.width, [*lines, *in_pane])) <= columns
    golden(GOLDENS / f"limits-{columns}.txt", "\n".join(lines) + "\n")
    golden(GOLDENS / f"limits-pane-{columns}.txt", "\n".join(in_pane) + "\n")


def test_what_was_written_again_after_a_pause_is_a_source(tmp_path: Path):
    conversation = Conversation()
    conversation.request()
    conversation.wait(4_000)
    conversation.request(reads=0)
    digest = conversation.digest(tmp_path)
    found = took([digest], 0.0)
    assert found["sources"]["standing"] > 0
    assert found["sources"]["pauses"] == sum(loss["tokens"] for loss in digest["losses"]) > 0
    assert min(found["sources"].values()) >= 0
    assert sum(found["sources"].values()) == found["tokens"]


def test_from_transcripts_and_readings_to_what_a_clear_is_worth(tmp_path: Path):
    """Ten windows of five hours, of which a token that is read takes 1e-6 percent, one that is written 20e-6, and one of output 50e-6."""
    draw, rows = random.Random(1), []
    project = tmp_path / "claude" / "projects" / "-shop"
    project.mkdir(parents=True)
    for window in range(10):
        conversation, used = Conversation(), 22_000 * 20e-6 + 50 * 50e-6
        start = BEGAN + window * 20_000
        for _ in range(40):
            conversation.wait(draw.choice([60, 240]))
            reads = None if draw.random() < 0.8 else 0
            output = draw.randrange(20_000)
            before = conversation.cached
            conversation.request(reads=reads, output=output)
            read = before if reads is None else 0
            used += read * 1e-6 + (conversation.cached - read) * 20e-6 + output * 50e-6
            rows.append(["five_hour", start + conversation.at + 2, float(round(used)), start + 18_000])
        for entry in conversation.entries:
            entry["timestamp"] = stamp(seconds_of(entry["timestamp"]) + start - 2 * BEGAN)
        conversation.write(project / f"session-{window}.jsonl")
    now = rows[-1][1] + 1
    has_read(tmp_path, rows)
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "popkit"), "POPKIT_CLOCK": str(now)}
    fit = data(tmp_path, environ)["windows"][0]["fit"]
    assert (fit["why"], list(fit["worth"])) == ("", ["claude-opus-4-6"])
    for kind, percent in (("write_1h", 20), ("output", 50), ("cold_1h", 1.9)):
        found = fit["worth"]["claude-opus-4-6"][kind]
        assert found["claimed"]
        assert abs(found["percent"] - percent) <= found["error"]
    assert (fit["worth"]["claude-opus-4-6"]["write_5m"], fit["worth"]["claude-opus-4-6"]["cold_5m"]) == (None, None)
    (kept,) = weights(str(tmp_path / "popkit"), now)
    assert kept.claimed({("claude-opus-4-6", "write_1h"): 1e6})["window"] == "five_hour"
