"""The benchmarks run, find what was made for them to be found, and keep within the bounds that they print: with --bench, since a busy
machine says nothing. test_benchmarks_start.py starts them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from popkit_retention.core.policy.masking import mask
from tests.lab.transcripts import BASE, Transcript, filled
from tests.policy.test_masking_work import HOSTILE
from tests.views.written import Written

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.bench


def run(name: str, *words: object, env: dict[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a benchmark in a process of its own."""
    command = [sys.executable, f"benchmarks/{name}.py", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=check)


@pytest.mark.parametrize(
    "name",
    [
        "hook_latency", "restore_latency", "door", "archive_search", "mcp_server", "governance", "context_data",
        "context_clients",
    ],
)  # fmt: skip
def test_what_it_measures_keeps_within_its_bounds(name: str):
    done = run(name, "--check", check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def test_the_replay_benchmark_runs():
    done = run("replay_speed", "--calls", 500)
    assert done.stdout.startswith("500 calls, best of 3: ")


def test_the_benchmark_of_the_door_runs_and_results_are_rewritten_in_it():
    env = {**os.environ, "POPKIT_DOOR_MS": "60000"}  # a result that takes longer enters whole
    done = run("door", "--results", "200", "--json", env=env)
    figures = json.loads(done.stdout)
    assert figures["results"] == 200
    assert 0 < figures["rewritten"] < 200


def test_the_benchmark_of_restoring_runs():
    done = run("restore_latency", "--records", "50", "--runs", "1", "--json")
    assert json.loads(done.stdout)["records"] == 50


def test_the_benchmark_of_searching_runs_and_the_index_is_smaller_than_its_source():
    done = run("archive_search", "--records", "300", "--runs", "1", "--json")
    figures = json.loads(done.stdout)
    assert 0 < figures["share"] < 0.5
    assert any(row["found"] for row in figures["questions"])


def test_the_benchmark_of_the_server_for_agents_runs():
    done = run("mcp_server", "--runs", "1", "--calls", "4", "--json")
    assert json.loads(done.stdout)["listed_characters"] < 5_500


def test_the_benchmark_of_thinking_finds_what_a_signature_holds(tmp_path: Path):
    lines = []
    for number in range(60):
        text, said = "t" * (300 + 37 * (number % 11)), "s" * (50 + 23 * (number % 7))
        blocks = [{"type": "thinking", "thinking": text, "signature": "x" * (235 + len(text) * 4 // 3)}, {"type": "text", "text": said}]
        usage = {"output_tokens": len(text) // 3 + len(said) // 2}
        message = {"id": f"m{number}", "model": "thinker", "content": blocks, "usage": usage}
        lines.append(json.dumps({"type": "assistant", "uuid": f"u{number}", "message": message}) + "\n")
    (tmp_path / "session.jsonl").write_text("".join(lines))
    done = run("thinking_tokens", "--transcripts", tmp_path)
    assert done.stdout.startswith("thinker: 60 messages. Signature: 3.0 characters a token, r2 1.000. Text: 3.0")
    assert "a signature is 235 characters and 1.33 for each byte of its text" in done.stdout


def test_no_text_holds_a_hook_for_long():
    took_s = {}
    for piece in HOSTILE:
        text = (piece * (20_000 // len(piece) + 1))[:20_000]
        began = time.process_time()
        mask(text)
        took_s[piece] = time.process_time() - began
    assert {piece: seconds for piece, seconds in took_s.items() if seconds >= 1.5} == {}


def test_the_held_out_benchmark_reports_the_door_s_savings_and_its_rewrites(tmp_path: Path):
    """Of a file that is read five times over, the second time in a reference; then an edit of a line that only the first reading shows."""
    written = Written(tmp_path)
    lines = [f"    value_{at} = configure('the shop', step={at})" for at in range(1, 301)]
    listing = "\n".join(f"{at:>6}→{line}" for at, line in enumerate(lines, 1))
    written.say("go")
    for limit in range(300, 305):
        written.call("Read", {"file_path": f"{written.project}/src/a.ts", "limit": limit}, listing)
    edit = {"file_path": f"{written.project}/src/a.ts", "old_string": lines[150], "new_string": "    gone = True"}
    written.call("Edit", edit, "The file has been updated.")
    for number in range(4):
        written.call("Bash", {"command": f"./show {number}"}, "done")
    shown = run("held_out", "--transcripts", tmp_path, "--door", "reads", "safe").stdout
    assert "reads: 4 results enter shorter, written again 10.00 of 100 requests" in shown
    assert "safe: 0 results enter shorter, written again 0.00 of 100 requests" in shown
    rows = re.findall(r"^0[.\d]+ +(?:5 minutes|1 hour) +(\d\.\d+) +(\d\.\d+) +(\d\.\d+) +(\d+\.\d)%$", shown, re.MULTILINE)
    assert len(rows) == 12
    assert all(float(cost) < 0.8 and float(carried) < 0.8 for cost, carried, *_ in rows[:6])
    assert set(rows[6:]) == {("1.000", "1.000", "0.00", "0.0")}
    assert {(missed, dearer) for *_, missed, dearer in rows} == {("0.00", "0.0")}


def test_the_held_out_benchmark_knows_no_other_door(tmp_path: Path):
    done = run("held_out", "--transcripts", tmp_path, "--door", "reads+all", check=False)
    assert done.returncode == 2
    assert "reads+all: parts joined by +, of reads, any, safe, strong, auto; or bound8, bound4, bound1" in done.stderr


def compacted(path: Path) -> None:
    """A session that Claude Code compacted: six files were read, and the summary names what one of them holds; then two are quoted."""
    transcript = Transcript()
    transcript.prompt(filled(100))
    for number in range(6):
        transcript.wait(10)
        text = "\n".join(f"    load('src/part_{number}/{at}_shop.ts')" for at in range(300))
        if number:
            transcript.call(f"t{number}")
        else:
            transcript.first("t0", visible=100)
        transcript.wait(2)
        transcript.result(f"t{number}", text)
    transcript.wait(10)
    transcript.fold("Look at src/part_0/1_shop.ts and src/part_0/2_shop.ts.")
    for number in (0, 5):
        transcript.wait(10)
        transcript.answer(" ".join(f"src/part_{number}/{at}_shop.ts" for at in (1, 2, 3)), f"m-{number}")
        usage = {"input_tokens": 1_000, "cache_read_input_tokens": BASE, "cache_creation_input_tokens": 0}
        transcript.entries[-1]["message"]["usage"] = usage
        transcript.prompt(filled(10))
    transcript.write(path)


def test_the_benchmark_of_compacting_tells_what_is_needed_and_still_stands(tmp_path: Path):
    compacted(tmp_path / "shop__a.jsonl")
    shown = run("compacting", "--transcripts", tmp_path, "--share", "1", "0.1").stdout
    assert shown.startswith("1 boundaries, ")
    kept = {name.strip(): shares for name, shares in re.findall(r"^(\D+?)  +(\d\.\d+ \(.*\))", shown, re.MULTILINE)}
    assert kept["recorded summary"].startswith("0.333")
    assert kept["ours"].startswith("1.000")


def test_the_benchmark_of_sections_fills_the_room_that_a_smaller_target_gives(tmp_path: Path):
    for repository in ("shop", "store"):
        compacted(tmp_path / f"{repository}__a.jsonl")
    shown = run("compacting_sections", "--transcripts", tmp_path).stdout
    assert shown.startswith("2 boundaries at 20%, ")
    rows = {name: [float(share) for share in shares.split()] for name, shares in re.findall(r"^(nothing|\d%) +(.+)$", shown, re.MULTILINE)}
    assert list(rows) == ["nothing", "2%", "4%", "8%"]
    assert all(model <= best for model, best in list(rows.values())[1:])


def test_the_held_out_benchmark_compares_compactions_with_the_hosts_own(tmp_path: Path):
    for repository in ("shop", "store"):
        compacted(tmp_path / f"{repository}__a.jsonl")
    shown = run("held_out", "--transcripts", tmp_path, "--compact", "0.3").stdout
    heads = [line for line in shown.splitlines() if "down to" in line]
    assert heads == ["at the threshold only, down to 30%", "and when cold, down to 30%"]
    rows = re.findall(r"^0[.\d]+ +(?:5 minutes|1 hour) +[\d.]+ +(\d\.\d+) .* +(\d+) +(\d+)$", shown, re.MULTILINE)
    assert len(rows) == 2 * 3 * 2 * 3
    assert {(own, ours) for _, own, ours in rows} == {("2", "2")}


def test_the_benchmark_of_parts_admits_needed_lines_and_restores_missed_ones(tmp_path: Path):
    """Of a long file that is read an edit quotes one line; nothing else is ever written of it."""
    written = Written(tmp_path)
    names = ["price", "stock", "order", "shipping", "invoice", "customer", "voucher", "return"]
    lines = [line for name in names for line in (f"def {name}():", *(f"    {name}_{at} = configure({at})" for at in range(50)), "")]
    path = f"{written.project}/src/shop.py"
    written.say("make vouchers dearer")
    written.call("Read", {"file_path": path}, "\n".join(f"{at:>6}→{line}" for at, line in enumerate(lines, 1)))
    written.call("Edit", {"file_path": path, "old_string": "    voucher_17 = configure(17)", "new_string": "    v = 1"}, "Updated.")
    for number in range(8):
        written.call("Bash", {"command": f"./show {number}"}, "done")
    shown = run("parts", "--transcripts", tmp_path, "--door", "safe", "--caution", "0.001", "1000").stdout
    assert shown.startswith("8 parts, 12.5% needed\n")
    rows = re.findall(r"^0[.\d]+ +(?:5 minutes|1 hour) +(\d\.\d+) +(\d\.\d+) +(\d+\.\d+) +(\d+\.\d)%$", shown, re.MULTILINE)
    oracle, careful, bold = rows[:6], rows[12:18], rows[24:30]
    assert all(float(cost) < 0.9 and missed == "0.00" for cost, _, missed, _ in oracle)
    assert {row[:3] for row in careful} == {("1.000", "1.000", "0.00")}
    assert all(float(cost) > float(least) and missed != "0.00" for (cost, _, missed, _), (least, *_) in zip(bold, oracle))


def test_the_benchmark_of_governance_runs():
    rows = json.loads(run("governance", "--resources", "300", "--entries", "20", "--runs", "1", "--json").stdout)
    assert [row["what"] for row in rows] == [
        "judge 300 resources",
        "judge 300 resources, half of them hostile",
        "change a policy",
        "add an entry to the log",
        "find an id in a log of 21",
        "verify a log of 21",
    ]
    assert rows[0]["found"] > rows[1]["found"] > 0


def test_the_benchmark_of_the_database_asks_all_that_the_page_does():
    done = run("context_data", "--sqlite", "--snapshots", "500", "--writers", "1", "--runs", "2", "--json")
    assert len(json.loads(done.stdout)["rows"]) == 7


def test_the_benchmark_of_clients_runs():
    rows = json.loads(run("context_clients", "--pairs", "1", "--json").stdout)
    assert {row["client"] for row in rows} == {"anthropic", "anthropic-async", "openai", "openai-async"}
    assert {row["user"] for row in rows} == {False, True}


def test_the_benchmark_of_libraries_tries_this_project_s_wheel(tmp_path: Path):
    done = run("libraries", "--only", "popkit memory", "--rounds", "1", "--folder", tmp_path, "--json")
    (row,) = json.loads(done.stdout)
    assert row["distributions"] == 1
    assert "The customer prefers e-mail to calls." in row["outcomes"]["first result"]["result"]
    assert {what: its.get("error") for what, its in row["outcomes"].items() if what != "first result"} == {
        "a path that cannot be": "StoreUnavailable",
        "used after close": "StoreUnavailable",
        "added twice": "DuplicateId",
        "a filter by an unknown field": "BadFilter",
    }


def test_a_library_that_cannot_be_installed_says_why(tmp_path: Path):
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    done = run("libraries", "--only", "langgraph store", "--folder", tmp_path, env=env)
    assert done.stdout == "langgraph store: not installed: ERROR: No matching distribution found for langgraph\n"
