"""`popkit lab`: a table of what past sessions would have cost under each policy, and a page of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from tests.lab.test_own_policies import GOOD, written
from tests.lab.test_survey import session
from tests.views.written import Written

FEW = ("--policy", "auto", "masking-10", "--jobs", "1")


@pytest.fixture
def environ(tmp_path: Path) -> dict:
    """A user with two sessions and a file that is none."""
    projects = tmp_path / "claude" / "projects"
    session(projects / "-shop" / "one.jsonl", 30, 1)
    session(projects / "-forum" / "two.jsonl", 16, 3)
    (projects / "-forum" / "empty.jsonl").write_text("")
    return {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "HOME": str(tmp_path)}


def lab(environ: dict, capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str, str]:
    code = main(["lab", *words], environ)
    return code, *capsys.readouterr()


def test_the_table_has_a_line_for_each_policy_the_cheapest_first_and_says_what_was_left_out(environ, capsys) -> None:
    code, shown, err = lab(environ, capsys, *FEW)
    assert (code, err) == (0, "")
    rows = re.findall(r"^(.) ([a-z0-9-]+) +(\d\.\d{3}) +\d\.\d{3} +\d+\.\d\d +\d+\.\d% +\d+\.\d%$", shown, re.MULTILINE)
    assert {name for _, name, _ in rows} == {"nothing", "auto", "masking-10"}
    assert [cost for _, _, cost in rows] == sorted(cost for _, _, cost in rows)
    assert {name for mark, name, _ in rows if mark != " "} == {"auto"}
    assert "2 sessions, 2 repositories, 46 requests" in shown
    assert re.search(r"Left out:\n +1 empty", shown)
    assert all(len(line) <= 76 for line in shown.splitlines())


def test_both_lifetimes_of_the_cache_have_a_table(environ, capsys) -> None:
    _, shown, _ = lab(environ, capsys, *FEW, "--ttl", "both")
    assert "Prompt cache of 5 minutes" in shown
    assert "Prompt cache of 1 hour" in shown


def test_it_says_at_which_prices_it_reckoned(environ, capsys, repo_root) -> None:
    dated = json.loads((repo_root / "retention-config.json").read_text())["retention"]["models"]["dated"]
    _, shown, _ = lab(environ, capsys, *FEW)
    assert f"At the prices of the models that answered them, as of {dated}: claude-opus-5." in " ".join(shown.split())
    _, shown, _ = lab(environ, capsys, *FEW, "--model", "claude-opus-4-8")
    assert f"At the prices of claude-opus-4-8, as of {dated}." in " ".join(shown.split())


def test_another_model_has_other_prices(environ, capsys) -> None:
    costs = {}
    for model in ("claude-opus-4-8", "of-nobody"):
        found = json.loads(lab(environ, capsys, "--policy", "masking-10", "--jobs", "1", "--json", "--model", model)[1])
        assert found["model"] == model
        costs[model] = found["ttls"]["300"]["masking-10"]["cost"]
    assert costs["of-nobody"] != costs["claude-opus-4-8"], "reads are cheaper there, and rewrites the dearer against them"


def test_json_is_the_whole_survey(environ, capsys) -> None:
    code, shown, _ = lab(environ, capsys, *FEW, "--ttl", "1h", "--json")
    found = json.loads(shown)
    assert code == 0
    assert list(found["ttls"]) == ["3600"]
    assert set(found["ttls"]["3600"]) == {"nothing", "auto", "masking-10"}
    assert found["skipped"] == {"empty": 1}
    assert set(found["rows"][0]["ttls"]["3600"]["policies"]) == {"nothing", "auto", "masking-10"}


def test_files_can_be_named(environ, capsys, tmp_path) -> None:
    _, shown, _ = lab(environ, capsys, str(tmp_path / "claude" / "projects" / "-shop" / "one.jsonl"), *FEW)
    assert "1 session, 1 repository, 30 requests" in shown


def test_nothing_found_says_what_to_name(environ, capsys, tmp_path) -> None:
    (tmp_path / "bare").mkdir()
    code, shown, _ = lab(environ, capsys, str(tmp_path / "bare"), *FEW)
    assert code == 1
    assert "No transcripts there: name files or folders" in shown


def test_where_the_client_never_ran_it_says_what_to_name(capsys, tmp_path) -> None:
    code, shown, err = lab({"CLAUDE_CONFIG_DIR": str(tmp_path / "nowhere"), "HOME": str(tmp_path)}, capsys)
    assert (code, shown) == (1, "")
    assert "nowhere/projectsdoesnotexist.Nameafolderorafile" in "".join(err.split()), "wrapped where the path is long"


def test_an_unknown_policy_lists_those_that_are_known(environ, capsys) -> None:
    code, shown, err = lab(environ, capsys, "--policy", "best\x1b[2J")
    assert (code, shown) == (1, "")
    assert "unknown policy best" in err
    assert "auto" in err
    assert "\x1b" not in err


def test_a_policy_of_ones_own_stands_among_the_others_and_its_faults_are_told(environ, capsys, tmp_path) -> None:
    path = written(tmp_path)
    code, shown, _ = lab(environ, capsys, "--policy", f"{path}:OldReads", f"{path}:Sometimes", "masking-10", "--jobs", "1")
    assert code == 0
    assert {"mine.py:OldReads", "mine.py:Sometimes"} <= set(re.findall(r"^  (\S+) +\d\.\d{3} ", shown, re.MULTILINE))
    told = " ".join(shown.split())
    assert "mine.py:Sometimes failed in 1 session. There it counts as if it had cleared nothing: 1 decide raised KeyError" in told
    assert all(len(line) <= 76 for line in shown.splitlines())


def test_a_policy_that_cannot_be_used_is_refused_before_the_run(environ, capsys, tmp_path) -> None:
    code, shown, err = lab(environ, capsys, "--policy", f"{written(tmp_path)}:Nobody\x1b[2J")
    assert (code, shown) == (1, "")
    assert "is no name of a policy" in " ".join(err.split())
    assert "\x1b" not in err


def test_the_card_is_the_same_on_every_machine_and_tells_what_differs(environ, capsys, tmp_path) -> None:
    def card(home: dict, path: str, *words: str) -> dict:
        return json.loads(lab(home, capsys, "--policy", f"{path}:OldReads", "masking-10", "--json", *words)[1])["card"]

    elsewhere = {"CLAUDE_CONFIG_DIR": str(tmp_path / "other"), "HOME": str(tmp_path)}
    shutil.copytree(tmp_path / "claude", tmp_path / "other")
    one = card(environ, written(tmp_path / "a"), "--jobs", "1")
    assert one == card(elsewhere, written(tmp_path / "b"), "--jobs", "2")
    assert {name for name, value in one.items() if not value} == {"model"}, "nothing but the model is left to each session"
    changed = card(environ, written(tmp_path / "c", GOOD.replace("-3", "-5")), "--jobs", "1")
    assert {name for name in one if one[name] != changed[name]} == {"policies", "results"}
    (tmp_path / "claude" / "projects" / "-forum" / "two.jsonl").unlink()
    changed = card(environ, written(tmp_path / "a"), "--jobs", "1")
    assert {name for name in one if one[name] != changed[name]} == {"sessions", "corpus", "results"}
    _, shown, _ = lab(environ, capsys, *FEW)
    assert re.search(rf"Card: popkit \S+ · engine {one['engine'][:12]} · corpus {changed['corpus'][:12]} ·", " ".join(shown.split()))


def test_the_door_stands_in_the_table_and_misses_nothing(environ, capsys, tmp_path) -> None:
    written = Written(tmp_path)
    text = "\n".join(f"{at:>6}→    value_{at} = configure('the shop', step={at})" for at in range(1, 401))
    written.say("go")
    for limit in range(400, 410):
        written.call("Read", {"file_path": f"{written.project}/src/a.ts", "limit": limit}, text)
        written.call("Bash", {"command": f"./show {limit}"}, text)
    words = ("--policy", "door", "door-reads", "--jobs", "1", str(written.path))
    code, shown, _ = lab(environ, capsys, *words)
    assert code == 0
    rows = re.findall(r"^. ([a-z-]+) +(\d\.\d{3}) +\d\.\d{3} +(\d+\.\d\d) +\d+\.\d% +(\d+\.\d)%$", shown, re.MULTILINE)
    assert [name for name, *_ in rows] == ["door", "door-reads", "nothing"]
    costs = [float(cost) for _, cost, *_ in rows]
    assert costs[0] < costs[1] - 0.1 < costs[2] - 0.2
    assert {tuple(rest) for _, _, *rest in rows} == {("0.00", "0.0")}


def test_no_processes_are_refused(environ, capsys) -> None:
    assert lab(environ, capsys, "--jobs", "0")[0] == 1


def test_html_writes_a_page_that_only_its_owner_can_read(environ, capsys, tmp_path) -> None:
    pytest.importorskip("plotly")
    page = tmp_path / "report.html"
    code, _, err = lab(environ, capsys, *FEW, "--html", str(page))
    assert code == 0
    assert str(page) in err
    assert "masking-10" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600


def test_a_page_that_cannot_be_written_is_refused_before_the_run(environ, capsys, tmp_path) -> None:
    code, shown, err = lab(environ, capsys, *FEW, "--html", str(tmp_path / "nowhere" / "report.html"))
    assert (code, shown) == (1, "")
    assert "cannot be written" in err


def test_without_the_library_html_names_the_command_that_installs_it_before_the_run(environ, repo_root, tmp_path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = tmp_path / "bare" / "bin" / "python"
    words = [bare, "-S", "-E", repo_root / "hooks" / "popkit.py", "lab", "--html", tmp_path / "report.html"]
    done = subprocess.run(words, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == ["popkit lab: --html needs a plotting library. Install it with", "", "  popkit setup lab"]
    assert not (tmp_path / "report.html").exists()


def test_nothing_is_drawn_where_there_is_no_terminal_and_a_bar_where_there_is_one(environ, repo_root) -> None:
    words = [str(repo_root / "bin" / "popkit"), "lab", "--policy", "masking-10"]
    done = subprocess.run(words, env={**os.environ, **environ}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    master, slave = os.openpty()
    with os.fdopen(master, "rb", buffering=0) as terminal:
        subprocess.run(words, env={**os.environ, **environ, "TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=slave, check=True)
        os.close(slave)
        assert b"100 % of" in terminal.read(4_096)


def test_what_keeping_the_cache_warm_would_have_been_worth_is_told_for_each_lifetime(environ, capsys) -> None:
    code, shown, err = lab(environ, capsys, "--keep-warm", "--ttl", "both")
    assert (code, err) == (0, "")
    assert re.search(r"Prompt cache of 5 minutes: 2 sessions, 46 requests\n  cost against letting it go cold: \d\.\d{3}", shown)
    assert "Prompt cache of 1 hour: 2 sessions, 46 requests\n  Nothing is sent" in shown
    assert "sessions that became dearer: " in shown
    _, shown, _ = lab(environ, capsys, "--keep-warm", "--json")
    assert {"sessions", "requests", "sent", "cost", "without", "dearer"} == set(json.loads(shown)["300"])


def test_a_file_that_is_not_there_is_named_where_warmth_is_asked_for(environ: dict[str, str], capsys: pytest.CaptureFixture):
    code, shown, err = lab(environ, capsys, "--keep-warm", "/none/there.jsonl")
    assert (code, shown) == (1, "")
    assert "/none/there.jsonl: cannot be read: No such file or directory" in " ".join(err.split())


def test_keeping_warm_is_no_policy_to_choose_among_others(environ, capsys) -> None:
    code, _, err = lab(environ, capsys, "--keep-warm", "--policy", "auto")
    assert code == 1
    assert "--policy belongs to lab and lab --decisions, not to lab --keep-warm" in " ".join(err.split())
