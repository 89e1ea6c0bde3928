"""`popkit lab` as it is called: the survey of past sessions, and `popkit lab replay`, what a policy would have cleared in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from popkit_retention.cli.main import main
from popkit_retention.core import text
from popkit_retention.lab import replay_command, sent_requests, survey_views
from popkit_retention.lab.replay_policies import POLICIES
from tests.lab.test_own_policies import GOOD, MASKING, written
from tests.lab.test_survey import session
from tests.lab.transcripts import Script, Transcript, filled
from tests.policy.priced import prices
from tests.views.written import Written

FEW = ("--policy", "default", "spec", "--jobs", "1")


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


def test_the_table_lists_policies_from_the_cheapest_and_says_what_was_left_out(environ, capsys) -> None:
    code, shown, err = lab(environ, capsys, *FEW)
    assert (code, err) == (0, "")
    rows = re.findall(r"^(.) ([a-z0-9-]+) +(\d\.\d{3}) +\d\.\d{3} +\d+\.\d\d +\d+\.\d% +\d+\.\d%$", shown, re.MULTILINE)
    assert {name for _, name, _ in rows} == {"nothing", "default", "spec"}
    assert [cost for _, _, cost in rows] == sorted(cost for _, _, cost in rows)
    assert {name for mark, name, _ in rows if mark != " "} == {"default"}
    assert "2 sessions, 2 repositories, 46 requests" in shown
    assert re.search(r"Left out:\n +1 empty", shown)
    assert all(len(line) <= 76 for line in shown.splitlines())


def test_in_a_narrow_terminal_figures_stand_below_their_policy(environ, capsys) -> None:
    answer = json.loads(lab(environ, capsys, *FEW, "--json")[1])
    shown = text.laid_out(survey_views.lines_of(answer), 40)
    assert re.fullmatch(r" \d\.\d{3} +\d\.\d{3} +\d\.\d\d +\d+\.\d% +\d+\.\d%", shown[shown.index("► default") + 1])
    assert all(text.width(line) <= 40 for line in shown)


def test_both_lifetimes_of_the_cache_have_a_table(environ, capsys) -> None:
    _, shown, _ = lab(environ, capsys, *FEW, "--ttl", "both")
    assert "Prompt cache of 5 minutes" in shown
    assert "Prompt cache of 1 hour" in shown


def test_it_names_the_prices_of_the_calculation(environ, capsys, repo_root) -> None:
    dated = json.loads((repo_root / "retention-config.json").read_text())["retention"]["models"]["dated"]
    _, shown, _ = lab(environ, capsys, *FEW)
    assert f"At the prices of the models that answered them, as of {dated}: claude-opus-5." in " ".join(shown.split())
    _, shown, _ = lab(environ, capsys, *FEW, "--model", "claude-opus-4-8")
    assert f"At the prices of claude-opus-4-8, as of {dated}." in " ".join(shown.split())


def test_another_model_has_other_prices(environ, capsys) -> None:
    costs = {}
    for model in ("claude-opus-4-8", "claude-opus-5-5"):
        answer = json.loads(lab(environ, capsys, "--policy", MASKING, "--jobs", "1", "--json", "--model", model)[1])
        assert answer["model"] == model
        costs[model] = answer["ttls"]["300"][MASKING]["cost"]
    assert costs["claude-opus-5-5"] != costs["claude-opus-4-8"], "reads are cheaper there, and rewrites the dearer against them"


def test_a_model_without_a_price_is_refused(environ, capsys) -> None:
    code, shown, error = lab(environ, capsys, "--policy", MASKING, "--model", "of-nobody")
    assert (code, shown) == (1, "")
    assert "of-nobody: the table of models has no price for it" in " ".join(error.split())


def test_json_is_the_whole_survey(environ, capsys) -> None:
    code, shown, _ = lab(environ, capsys, *FEW, "--ttl", "1h", "--json")
    answer = json.loads(shown)
    assert code == 0
    assert list(answer["ttls"]) == ["3600"]
    assert set(answer["ttls"]["3600"]) == {"nothing", "default", "spec"}
    assert answer["skipped"] == {"empty": 1}
    assert set(answer["rows"][0]["ttls"]["3600"]["policies"]) == {"nothing", "default", "spec"}


def test_nothing_found_says_what_to_name(environ, capsys, tmp_path) -> None:
    (tmp_path / "bare").mkdir()
    code, shown, _ = lab(environ, capsys, str(tmp_path / "bare"), *FEW)
    assert code == 1
    assert "No transcripts there: give files or folders" in shown


REFUSED = {
    "a policy that is unknown": ("--policy best\x1b[2J", "unknown policy best"),
    "a policy that is unknown, with the known ones": ("replay {one} --policy nonsense", f"Known: {', '.join(POLICIES)}"),
    "a name that is none of a policy": ("--policy {own}:Nobody\x1b[2J", "is not the name of a policy"),
    "no processes": ("--jobs 0", "--jobs takes a whole number from 1"),
    "a table that cannot be written, before the run": ("--policy auto --parquet {here}/nowhere/out.parquet", "cannot be written"),
    "a page": ("--html {here}/report.html", "is made by benchmarks/lab/tables.py"),
    "decisions that cannot be written": (
        "replay {one} --out {here}/nowhere/out.jsonl",
        "{here}/nowhere/out.jsonl: cannot be written: No such file or directory",
    ),
    "a session that is not there": ("replay {here}/none.jsonl", "{here}/none.jsonl: cannot be read: No such file"),
    "a session that is empty": ("replay {empty}", "{empty}: is empty"),
    "what cannot be said once": ("replay {one} --say-once all", 'not "all"'),
    "what is no shape": ("replay {one} --shape all", "--shape takes off, "),
    "a user for whom the client never ran": ("--policy auto", "{here}/nowhere/projects does not exist. Name a folder or a file"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_arguments_are_refused_with_what_to_do(environ, capsys, tmp_path, what: str) -> None:
    projects = tmp_path / "claude" / "projects"
    sessions = {"one": projects / "-shop" / "one.jsonl", "empty": projects / "-forum" / "empty.jsonl"}
    places = {"own": written(tmp_path / "own"), "here": tmp_path, **sessions}
    words, why = (given.format(**places) for given in REFUSED[what])
    if "never ran" in what:
        environ = {**environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "nowhere")}
    code, shown, err = lab(environ, capsys, *words.split())
    assert (code, shown) == (1, "")
    assert _unwrapped(why) in _unwrapped(err)
    assert "\x1b" not in err


def test_a_users_own_policy_is_listed_with_the_others_and_its_errors_are_shown(environ, capsys, tmp_path) -> None:
    path = written(tmp_path)
    code, shown, _ = lab(environ, capsys, "--policy", f"{path}:OldReads", f"{path}:Sometimes", "spec", "--jobs", "1")
    assert code == 0
    assert {"mine.py:OldReads", "mine.py:Sometimes"} <= set(re.findall(r"^  (\S+) +\d\.\d{3} ", shown, re.MULTILINE))
    output = " ".join(shown.split())
    assert "mine.py:Sometimes failed in 1 session. It counts there as if it had cleared nothing: 1 decide raised KeyError" in output
    assert all(len(line) <= 76 for line in shown.splitlines())


def test_the_card_is_the_same_on_every_machine_and_says_what_differs(environ, capsys, tmp_path) -> None:
    def card(home: dict, path: str, *words: str) -> dict:
        return json.loads(lab(home, capsys, "--policy", f"{path}:OldReads", "spec", "--json", *words)[1])["card"]

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


def test_the_door_is_in_the_table_and_misses_nothing(environ, capsys, tmp_path) -> None:
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


def test_nothing_is_drawn_where_there_is_no_terminal_and_a_bar_where_there_is_one(environ, repo_root) -> None:
    words = [str(repo_root / "bin" / "popkit"), "lab", "--policy", "spec"]
    done = subprocess.run(words, env={**os.environ, **environ}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    master, slave = os.openpty()
    with os.fdopen(master, "rb", buffering=0) as terminal:
        subprocess.run(words, env={**os.environ, **environ, "TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=slave, check=True)
        os.close(slave)
        assert b"100 % of" in terminal.read(4_096)


def _transcript() -> Transcript:
    transcript = Transcript()
    transcript.prompt(filled(100))
    transcript.first("a", visible=100)
    transcript.result("a", filled(500))
    transcript.call("b")
    transcript.result("b", filled(400))
    transcript.answer(filled(10), "m-3")
    return transcript


NO_MODEL = (
    "an unknown model, whose price is not known: decided as with the most cautious ones (read 0.025, write 1.25, output 5, thinking bound)"
)
PAUSE_S = 4_000.0  # longer than any cache lives


def _long(folder: Path) -> Written:
    """Files that are read and edited at once, again and again: every rule finds something to clear."""
    written = Written(folder)
    written.say("go")
    for number in range(60):
        if number % 20 == 19:
            written.now += PAUSE_S
            written.say("go on")
        written.call("Read", {"file_path": f"{written.project}/src/{number}.ts"}, f"1\tfile {number}\n" * 900)
        written.edit(f"src/{number}.ts")
    return written


def _replay(*words: str, capsys) -> tuple[int, str, str]:
    code = main(["lab", "replay", *words], {})
    return code, *capsys.readouterr()


def _unwrapped(error: str) -> str:
    """An error without its blanks: it is folded where a path is long."""
    return "".join(error.split())


def test_a_line_says_what_is_cleared_before_which_message(tmp_path) -> None:
    session = sent_requests.read(_transcript().write(tmp_path / "session.jsonl"))
    policy = Script({2: {"a": "[gone]"}, 3: {"b": "[gone too] …"}})
    with (tmp_path / "out.jsonl").open("w+") as file:
        summary = replay_command.replay(session, policy, prices(), file)
        file.seek(0)
        lines = [json.loads(line) for line in file]
    assert lines == [
        {"before_message_id": "m-a", "request": 1, "clear": []},
        {"before_message_id": "m-b", "request": 2, "clear": [{"id": "a", "placeholder": "[gone]", "reasons": ["as told"]}]},
        {"before_message_id": "m-3", "request": 3, "clear": [{"id": "b", "placeholder": "[gone too] …", "reasons": ["as told"]}]},
    ]
    assert summary.startswith("3 requests, 2 of 2 results cleared (900 tokens), 0 missed; against clearing nothing cost 0.9")


def test_decisions_are_written_to_a_private_file_and_the_sum_to_standard_error(tmp_path, capsys) -> None:
    out = tmp_path / "out.jsonl"
    written = _long(tmp_path)
    code, shown, summary = _replay(str(written.path), "--policy", "auto", "--ttl", "1h", "--out", str(out), capsys=capsys)
    assert (code, shown) == (0, "")
    assert summary.startswith("auto, 1h cache, claude-opus-4-8 (read 0.1, write 2, output 5): 120 requests, ")
    assert out.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 120
    assert any(line["clear"] for line in lines)
    assert all(list(line) == ["before_message_id", "request", "clear"] for line in lines)
    numbers = [line["request"] for line in lines]
    assert numbers == sorted(set(numbers))
    assert [line["before_message_id"] for line in lines] == [f"msg_{number}" for number in numbers]


def test_the_prices_of_another_model_can_be_used_and_are_named(tmp_path, capsys) -> None:
    code, _, summary = _replay(str(_long(tmp_path).path), "--policy", "spec", "--model", "of-nobody", capsys=capsys)
    assert code == 0
    unpriced = "whose price is not known: decided as with the most cautious ones (read 0.025, write 1.25, output 5, thinking bound)"
    assert summary.startswith(f"spec, 5m cache, of-nobody, {unpriced}: 120 requests, ")
    assert "cost" not in summary.partition(" requests, ")[2]


def test_a_users_own_policy_decides_and_its_output_stays_out_of_the_results(tmp_path, capsys) -> None:
    path = written(tmp_path / "own")
    code, shown, summary = _replay(str(_long(tmp_path).path), "--policy", f"{path}:OldReads", capsys=capsys)
    assert code == 0
    lines = [json.loads(line) for line in shown.splitlines()]
    assert len(lines) == 120
    assert lines[50]["clear"][0]["reasons"] == ["old"]
    assert "decides" in summary
    code, _, summary = _replay(str(_long(tmp_path).path), "--policy", f"{path}:Sometimes", capsys=capsys)
    assert code == 1
    assert "Sometimesfailed:decideraisedKeyError" in _unwrapped(summary)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_is_reported(tmp_path, capsys) -> None:
    code, _, error = _replay(str(_long(tmp_path).path), "--policy", "spec", "--out", "/dev/full", capsys=capsys)
    assert code == 1
    assert error == "popkit lab: /dev/full: cannot be written: No space left on device\n"


def test_a_line_says_which_inputs_leave_and_what_is_whole_again(tmp_path) -> None:
    class Stubs(Script):
        def decide(self, view) -> list:
            whole = [(block, block.text, ["whole again"]) for block in view.context if block in view.cleared and block.id]
            calls = [(block, "{}", ["stubbed"]) for block in view.context if block.asks == "a" and view.number == 2]
            return [*super().decide(view), *calls, *whole]

    session = sent_requests.read(_transcript().write(tmp_path / "session.jsonl"))
    with (tmp_path / "out.jsonl").open("w+") as file:
        replay_command.replay(session, Stubs({2: {"a": "[gone]"}}), prices(), file)
        file.seek(0)
        lines = [json.loads(line) for line in file]
    assert lines[1]["inputs"] == [{"id": "a", "input": "{}", "reasons": ["stubbed"]}]
    assert lines[2] == {"before_message_id": "m-3", "request": 3, "clear": [], "whole": [{"id": "a", "reasons": ["whole again"]}]}


def test_where_nothing_is_cleared_the_requests_are_counted_too(tmp_path, capsys) -> None:
    code, shown, summary = _replay(str(_long(tmp_path).path), "--policy", "nothing", capsys=capsys)
    lines = [json.loads(line) for line in shown.splitlines()]
    assert code == 0
    assert lines == [{"before_message_id": f"msg_{number}", "request": number, "clear": []} for number in range(1, 121)]
    assert "120 requests, 0 of 120 results cleared (0 tokens), 0 missed; against clearing nothing cost 1.000, carried 1.000" in summary


def test_the_transcript_itself_is_never_written_over(tmp_path, capsys) -> None:
    path = _long(tmp_path).path
    before = path.read_bytes()
    code, _, error = _replay(str(path), "--out", str(path), capsys=capsys)
    assert code == 1
    assert "isthetranscriptitself" in _unwrapped(error)
    assert path.read_bytes() == before


def test_a_session_without_requests_has_nothing_to_compare(tmp_path, capsys) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    code, shown, summary = _replay(transcript.write(tmp_path / "session.jsonl"), capsys=capsys)
    assert (code, shown, summary) == (0, "", f"auto, 5m cache, {NO_MODEL}: 0 requests, 0 of 0 results cleared (0 tokens)\n")


def _read_twice(folder: Path) -> tuple[Written, str]:
    written = Written(folder)
    text = "\n".join(f"{at:>6}→    value_{at} = configure('the shop', step={at})" for at in range(1, 41))
    written.say("go")
    for limit in (40, 41):
        written.call("Read", {"file_path": f"{written.project}/src/a.ts", "limit": limit}, text)
    written.call("Bash", {"command": "./wait"}, "\n".join(["Waiting for the server"] * 40))
    written.say("and?")
    written.call("Bash", {"command": "./done"}, "done")
    return written, text


def _once(shown: str) -> dict[int, list[dict]]:
    """request -> what enters before it."""
    return {line["request"]: line["once"] for line in map(json.loads, shown.splitlines()) if "once" in line}


def test_say_once_shows_at_which_request_what_enters_and_its_content(tmp_path, capsys) -> None:
    written, text = _read_twice(tmp_path)
    code, shown, summary = _replay(str(written.path), "--policy", "nothing", "--say-once", "reads", capsys=capsys)
    assert code == 0
    lines = text.split("\n")
    [line] = [line for line in map(json.loads, shown.splitlines()) if "once" in line]
    assert list(line) == ["before_message_id", "request", "clear", "once"]
    assert (line["request"], line["clear"]) == (3, [])
    [entered] = line["once"]
    assert list(entered) == ["id", "content"]
    first, reference, last = entered["content"].split("\n")
    assert (first, last) == (lines[0], lines[-1])
    assert reference.startswith("[lines 2–39 as in your Read of ")
    assert ": from «value_2 = configure('the shop',» to «value_39 = configure('the»; to see all: popkit restore " in reference
    assert "0 of 4 results cleared (0 tokens), " in summary
    assert " tokens of 1 result kept out, 0 missed; " in summary


def test_shape_says_the_same_line_once_with_its_count(tmp_path, capsys) -> None:
    written, _ = _read_twice(tmp_path)
    code, shown, _ = _replay(str(written.path), "--policy", "nothing", "--shape", "safe", capsys=capsys)
    assert code == 0
    [[entered]] = _once(shown).values()
    assert entered["content"] == "Waiting for the server\n[the line above stands 40 times in a row]"


def test_both_together_enter_under_any_policy_and_off_changes_nothing(tmp_path, capsys) -> None:
    written, _ = _read_twice(tmp_path)
    for policy in ("nothing", "auto", "spec"):
        _, shown, _ = _replay(str(written.path), "--policy", policy, "--say-once", "any", "--shape", "safe", capsys=capsys)
        assert sum(map(len, _once(shown).values())) == 2
        _, shown, _ = _replay(str(written.path), "--policy", policy, "--say-once", "off", "--shape", "off", capsys=capsys)
        assert _once(shown) == {}
    _, shown, summary = _replay(str(written.path), "--policy", "door", capsys=capsys)
    assert sum(map(len, _once(shown).values())) == 2
    assert summary.startswith("door, 5m cache, ")


def test_flags_may_stand_before_the_word_and_the_first_policy_is_the_default(tmp_path, capsys) -> None:
    path = str(_long(tmp_path).path)
    shown = [
        (main(["lab", *words], {}), *capsys.readouterr())
        for words in (("--policy", "spec", "--ttl", "1h", "replay", path), ("replay", path))
    ]
    assert [summary.partition(",")[0] for _, _, summary in shown] == ["spec", "auto"]
    assert {code for code, *_ in shown} == {0}


@pytest.mark.parametrize("given", [("--decisions", "{out}"), ("--decisions={out}",), ("--out", "{out}")])
def test_popkit_replay_goes_on_working_and_says_its_new_name(tmp_path, capsys, given: tuple[str, ...]) -> None:
    path, out = str(_long(tmp_path).path), tmp_path / "out.jsonl"
    code = main(["replay", "--policy", "nothing", path, *(word.format(out=out) for word in given)], {})
    shown, errors = capsys.readouterr()
    assert (code, shown) == (0, "")
    assert " ".join(errors.split()).startswith(
        "popkit: `popkit replay` is now `popkit lab replay`. The old name works until the next version."
    )
    assert "nothing, 5m cache, " in errors
    assert len(out.read_text().splitlines()) == 120
