"""`popkit try`: what PopKit would say, without being installed and without writing anything."""

from __future__ import annotations

import bz2
import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from popkit_retention.cli.commands import every
from popkit_retention.cli.main import main
from popkit_retention.core import text
from popkit_retention.core.state import store
from popkit_retention.lab import operations as tables
from popkit_retention.lab import past_sessions, try_command
from tests.cli import made_up_afternoon
from tests.cli.test_context_command import Nowhere
from tests.hosts.rollouts import worked
from tests.operations.test_past_sessions import cleared
from tests.views.written import Written, spec_session

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = made_up_afternoon.SAMPLE
AFTERNOON = bz2.decompress(SAMPLE.read_bytes()).decode()
GOLDENS = Path(__file__).parent / "goldens"


def _tree(folder: Path) -> dict:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def _try(folder: Path, capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str, str]:
    before = _tree(folder)
    code = main(["try", *words], {"CLAUDE_CONFIG_DIR": str(folder / "claude")})
    assert _tree(folder) == before, "it wrote something"
    return code, *capsys.readouterr()


def _session(folder: Path, id: str, project: str, changed: float) -> Written:
    written = spec_session(folder / "claude" / "projects" / project, session=id)
    os.utime(written.path, (changed, changed))
    return written


def test_it_shows_the_newest_session_of_any_project(tmp_path, capsys) -> None:
    _session(tmp_path, "older", "-home-dev-shop", 1_000.0)
    _session(tmp_path, "newer", "-home-dev-other", 2_000.0)
    code, shown, _ = _try(tmp_path, capsys)
    assert code == 0
    assert "Session   newer" in shown
    for part in ("Retention status", "Tool call timeline", "What a clear would take", "claude plugin marketplace add", "install popkit@"):
        assert part in shown
    assert all(len(line) <= 70 for line in shown.splitlines())


def test_a_session_without_tool_calls_is_passed_over(tmp_path, capsys) -> None:
    _session(tmp_path, "worked", "-home-dev-shop", 1_000.0)
    talk = Written(tmp_path / "claude" / "projects" / "-home-dev-shop", session="talk")
    talk.say("hello")
    os.utime(talk.path, (2_000.0, 2_000.0))
    assert "Session   worked" in _try(tmp_path, capsys)[1]


def test_where_popkit_has_run_it_does_not_say_how_to_install_it(tmp_path, capsys) -> None:
    _session(tmp_path, "worked", "-home-dev-shop", 1_000.0)
    state = tmp_path / "claude" / "popkit" / "sessions" / "worked" / "main.state.json"
    state.parent.mkdir(parents=True)
    state.write_text("{}")
    assert "Install PopKit" not in _try(tmp_path, capsys)[1]


def test_its_answer_shows_the_session_as_of_its_last_call(tmp_path, capsys, golden) -> None:
    written = spec_session(tmp_path, session="shop")
    shown = _try(tmp_path, capsys, str(written.path))[1]
    install = shown.index("Install PopKit")
    golden(GOLDENS / "try.txt", shown[:install])
    assert "Cache" not in shown


@pytest.mark.parametrize("form", ["records", "counts", "items"])
def test_a_rollout_of_codex_is_shown_like_a_session(tmp_path, capsys, golden, form: str) -> None:
    path = worked(form).write(tmp_path)
    code, shown, _ = _try(tmp_path, capsys, str(path))
    assert code == 0
    assert "install" not in shown
    golden(GOLDENS / f"try-codex-{form}.txt", shown)


def test_codex_is_asked_for_by_its_name(tmp_path, capsys) -> None:
    environ = {"CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert main(["try", "--host", "codex"], environ) == 1
    assert "there are no sessions of Codex with a tool call" in " ".join(capsys.readouterr().err.split())
    worked().write(tmp_path / "sessions" / "2026" / "09" / "21")
    assert main(["try", "--host", "codex", "--json"], environ) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["host"], answer["calls"], answer["installed"]["requests"]) == ("Codex", 8, 10)


def test_json_is_the_report(tmp_path, capsys) -> None:
    written = spec_session(tmp_path, session="shop")
    answer = json.loads(_try(tmp_path, capsys, str(written.path), "--json")[1])
    assert (answer["session"], answer["calls"], answer["expired"]["items"]) == ("shop", 14, 7)
    assert answer["installed"]["requests"] == 14


def _wandered_and_came_back(folder: Path) -> Written:
    """Much is read, some of it twice; then the cache goes cold, and the work goes on."""
    written = Written(folder, session="shop")
    written.say("look at everything")
    for number in range(30):
        text = "\n".join(f"{at:>6}→export const value_{at} = configure('part {number % 20}', {at * number})" for at in range(1, 120))
        written.call("Read", {"file_path": f"{written.project}/src/{number % 20}.ts"}, text)
    written.ends()
    written.now += 4_000
    written.say("and the words?")
    for number in range(30):
        written.grep(f"word{number}")
    return written


def test_it_ends_in_what_the_session_would_have_got_as_the_lab_counts_it(tmp_path, capsys) -> None:
    path = str(_wandered_and_came_back(tmp_path / "claude" / "projects" / "-home-dev-shop").path)
    got = json.loads(_try(tmp_path, capsys, path, "--json")[1])["installed"]
    code, shown, summary = main(["lab", "replay", path, "--say-once", "reads", "--shape", "safe"], {}), *capsys.readouterr()
    lines = [json.loads(line) for line in shown.splitlines()]
    assert code == 0
    assert got["requests"] == len(lines) == 61
    assert got["cleared_results"] == sum(len(line["clear"]) for line in lines) > 0
    assert got["moments"] == sum(bool(line["clear"]) for line in lines) > 0
    assert got["kept_out_results"] == sum(len(line.get("once", ())) for line in lines)
    assert f"({got['cleared_tokens']:,} tokens)" in summary
    assert f"cost {got['cost_share']:.3f}" in summary
    output = _try(tmp_path, capsys, path)[1]
    block = output[output.index("This session, with a clear whenever it paid") : output.index("Install PopKit")]
    assert f"in {got['cleared_results']} results, at {got['moments']} moment" in block
    assert f"Net       {1 - got['cost_share']:.1%} of the cost of its prompts is saved" in block


def test_the_configuration_of_the_sessions_project_holds(tmp_path, capsys) -> None:
    written = Written(tmp_path, session="shop", project=str(tmp_path / "shop"))
    (tmp_path / "shop" / ".claude").mkdir(parents=True)
    (tmp_path / "shop" / ".claude" / "retention-config.json").write_text('{"retention": {"profile": "aggressive"}}')
    written.say("go")
    written.grep("login")
    assert "Profile   aggressive" in _try(tmp_path, capsys, str(written.path))[1]


@pytest.mark.parametrize("form", ["records", "counts", "items"])
def test_it_reads_a_rollout_as_context_does_and_offers_no_more(tmp_path, capsys, form: str) -> None:
    path, environ = str(worked(form).write(tmp_path)), {"POPKIT_HOME": str(tmp_path / "home")}
    read = []
    for words in (["try", path], ["context", "--transcript", path]):
        assert main([*words, "--json"], environ) == 0
        answer = json.loads(capsys.readouterr().out)
        read.append({name: answer[name] for name in ("tiers", "expired", "reclaimable", "results")} | {"takes": answer["verdict"]["kind"]})
    assert read[0] == read[1]
    assert read[0]["tiers"]["preserved"]["live"]["items"] == 1, "the task list"
    assert (read[0]["reclaimable"]["cold"]["items"], read[0]["takes"]) == (0, "nothing")


def test_a_file_that_is_no_transcript_is_refused(tmp_path, capsys) -> None:
    path = tmp_path / "x.jsonl"
    code, shown, error = _try(tmp_path, capsys, str(path))
    assert (code, shown, "cannot be read: No such file or directory" in " ".join(error.split())) == (1, "", True)
    path.write_bytes(b"\x00\xff\n" * 9)
    code, shown, error = _try(tmp_path, capsys, str(path))
    assert (code, shown, "is not a Claude Code transcript" in " ".join(error.split())) == (1, "", True)


# --- all sessions of the last days -------------------------------------------------------------------------------------------------------


def _afternoon(folder: Path, id: str, days_ago: float = 1.0) -> Path:
    """The made-up afternoon as a session of one's own."""
    path = folder / "claude" / "projects" / "-home-dev-shop" / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AFTERNOON.replace('"id": "msg_', f'"id": "msg_{id}_'))
    os.utime(path, (time.time() - days_ago * past_sessions.DAY_S,) * 2)
    return path


def _past(folder: Path, capsys: pytest.CaptureFixture, *words: str) -> dict:
    return json.loads(_try(folder, capsys, *words, "--json")[1])["past"]


def test_it_begins_with_all_sessions_of_the_last_30_days(tmp_path, capsys) -> None:
    for id, days_ago in (("one", 2), ("two", 29), ("old", 31)):
        _afternoon(tmp_path, id, days_ago)
    shown = _try(tmp_path, capsys)[1]
    sentence = " ".join(shown.partition("\n\n")[0].splitlines()[2:])
    assert sentence.startswith("In 2 sessions of the last 30 days, PopKit by itself would have kept ~")
    for part in ("tokens word for word instead of ~", "less (", "its own cost taken off; with /popkit auto on, ~$"):
        assert part in sentence
    assert shown.index("last 30 days") < shown.index("Session   one")
    assert all(len(line) <= 70 for line in shown.splitlines())


def test_each_session_counts_with_its_subagents(tmp_path, capsys) -> None:
    path = _afternoon(tmp_path, "one")
    alone = _past(tmp_path, capsys)
    agent = path.parent / "one" / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text(AFTERNOON.replace('"isSidechain": false', '"isSidechain": true').replace('"id": "msg_', '"id": "msg_a1_'))
    both = _past(tmp_path, capsys)
    assert (both["sessions"], both["subagents"], both["requests"]) == (1, 1, 2 * alone["requests"])
    assert both["usd"] == pytest.approx(2 * alone["usd"])


def test_a_session_that_is_named_is_the_only_one_that_counts(tmp_path, capsys) -> None:
    _afternoon(tmp_path, "one")
    path = _afternoon(tmp_path, "two")
    assert _past(tmp_path, capsys, str(path))["sessions"] == 1
    assert _try(tmp_path, capsys, str(path))[1].splitlines()[2].startswith("In this session, PopKit by itself would have")


def test_what_popkit_has_changed_is_no_past_without_it(tmp_path, capsys) -> None:
    afternoon, project = _afternoon(tmp_path, "one", 2), tmp_path / "claude" / "projects" / "-home-dev-shop"
    path = cleared(project, "two")
    os.utime(path, (time.time(),) * 2)
    shown = " ".join(_try(tmp_path, capsys)[1].split())
    assert "In 1 session of the last 30 days" in shown
    assert "Not among them: 1 session that PopKit has changed; `popkit stats` has what that saved." in shown
    assert "Session two" in shown
    assert "This session, with" not in shown
    afternoon.unlink()
    for words, where in (((), "In 1 session of the last 30 days"), ((path,), "In this session")):
        said = " ".join(_try(tmp_path, capsys, *words)[1].split())
        assert f"{where} PopKit was at work already: `popkit stats` has what that saved." in said
    assert "~-" not in said


def test_sessions_that_are_older_leave_the_newest_of_them(tmp_path, capsys) -> None:
    _afternoon(tmp_path, "one", 40)
    _afternoon(tmp_path, "two", 50)
    code, shown, _ = _try(tmp_path, capsys)
    assert (code, shown.count("In this session"), shown.count("Session   one")) == (0, 1, 1)


def test_sessions_that_did_not_fit_into_the_time_are_counted(tmp_path) -> None:
    paths = [str(_afternoon(tmp_path, "newer")), str(_afternoon(tmp_path, "older", 3))]
    done = try_command._past_sums(paths, {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}, seconds=0.0)
    shown = " ".join(text.laid_out(try_command._past_lines(done, True, False)))
    assert "In 1 session of the last 30 days" in shown
    assert "The newest are counted: 1 transcript did not fit into 0 s." in shown


def test_a_session_without_a_known_price_has_no_dollars(tmp_path, capsys) -> None:
    path = _afternoon(tmp_path, "one")
    path.write_text(path.read_text().replace(made_up_afternoon.MODEL, "somebodys-model-9"))
    shown = _try(tmp_path, capsys)[1].partition("PopKit on your session")[0]
    assert "word for word" in shown
    assert "of 85 requests not known: no usage, or a model without a price" in " ".join(shown.split())
    assert "less" not in shown


def test_a_request_without_recorded_usage_is_told_and_is_none_of_the_bills(tmp_path, capsys) -> None:
    path = _afternoon(tmp_path, "one")
    entries = list(map(json.loads, path.read_text().splitlines()))
    newest = [entry["message"]["id"] for entry in entries if entry["type"] == "assistant"][-1]
    for entry in entries:
        if entry["type"] == "assistant" and entry["message"]["id"] == newest:
            del entry["message"]["usage"]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    past = _past(tmp_path, capsys, str(path))
    assert past["unrecorded"] == 1
    assert "for 85 requests, 1 of them without recorded usage" in " ".join(_try(tmp_path, capsys, str(path))[1].split())
    main(["bill", str(path), "--json"], {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "popkit")})
    assert json.loads(capsys.readouterr()[0])["whole"]["requests"] == past["requests"] - 1


# --- what an answer suggests -------------------------------------------------------------------------------------------------------------


def test_last_and_all_choose_the_calls_of_the_timeline(tmp_path, capsys) -> None:
    path = str(_session(tmp_path, "shop", "-home-dev-shop", 2_000.0).path)

    def calls(*words: str) -> list[str]:
        shown = _try(tmp_path, capsys, path, *words)[1]
        return re.findall(r"^(T\d+) ", shown[shown.index("Tool call timeline") : shown.index("What a clear would take")], re.MULTILINE)

    assert calls("--last", "5") == [f"T{number}" for number in range(10, 15)]
    assert len(calls("--all")) == len(calls()) == 14


@pytest.mark.parametrize("words", [[], ["--last", "3"]])
def test_every_flag_and_command_that_it_names_works(tmp_path, capsys, words: list[str]) -> None:
    _afternoon(tmp_path, "one")
    shown = " ".join(_try(tmp_path, capsys, *words)[1].split())
    own = {"--" + flag.name.lstrip("-") for flag in (*tables.TRY.by_name[""].flags, *tables.TRY.common)}
    of_others = {flag for command in re.findall(r"`popkit ([^`]+)`", shown) for flag in command.split() if flag.startswith("--")}
    assert set(re.findall(r"--[a-z-]+", shown)) - of_others <= own
    assert not words or {"--all", "--last"} <= set(re.findall(r"--[a-z-]+", shown))
    assert {command.split()[0] for command in re.findall(r"`popkit ([^`]+)`", shown)} <= {*every()}


@pytest.mark.parametrize(
    ("has_cleared", "takes_now", "words"),
    [
        (False, True, "A clear now takes something: the cache is cold"),
        (True, True, "A clear now is what would leave before the next request"),
        (True, False, "A clear now would take nothing"),
        (False, False, "A clear now has too little as well"),
    ],
)
def test_what_a_clear_takes_now_and_what_it_would_have_taken_explain_each_other(has_cleared: bool, takes_now: bool, words: str) -> None:
    assert words in try_command._difference_in_words(has_cleared, takes_now, "an hour")


# --- without a session -------------------------------------------------------------------------------------------------------------------


def test_where_there_is_no_session_a_made_up_one_is_shown(tmp_path, capsys) -> None:
    code, shown, _ = _try(tmp_path, capsys)
    assert code == 0
    assert shown.startswith("A made-up afternoon with PopKit\n")
    assert "so a working afternoon was made up" in " ".join(shown.split())
    assert "Session   " not in shown.partition("Retention status")[0]


def test_in_the_made_up_one_everything_happens_that_popkit_does(tmp_path, capsys) -> None:
    answer = json.loads(_try(tmp_path, capsys, "--json")[1])
    done, with_clears = answer["past"], answer["installed"]
    assert all(done[name] > 0 for name in ("kept_out_tokens", "kept_out_usd", "compactions", "kept_tokens", "auto_usd"))
    assert done["kept_tokens"] > done["summary_tokens"] > 0
    assert done["kept_out_usd"] + done["compactions_usd"] > 0.01 * done["usd"]
    assert with_clears["cleared_tokens"] > 0
    assert with_clears["cost_share"] < 1
    assert answer["verdict"]["kind"] == "clear"


def test_the_made_up_one_is_what_its_maker_writes_and_as_long_as_it_says() -> None:
    assert AFTERNOON.splitlines() == made_up_afternoon.lines()
    before = next(json.loads(line)["compactMetadata"]["preTokens"] for line in AFTERNOON.splitlines() if "compactMetadata" in line)
    assert 130_000 < before < 170_000
    assert SAMPLE.stat().st_size < 100_000


def test_it_needs_no_home(capsys) -> None:
    assert main(["try"], Nowhere()) == 0
    assert "A made-up afternoon" in capsys.readouterr().out


def test_the_install_lines_can_be_pasted_however_long_the_path_is(tmp_path) -> None:
    root = tmp_path / ("a folder with a long name " * 4)
    (root / ".claude-plugin").mkdir(parents=True)
    shutil.copy(ROOT / ".claude-plugin" / "marketplace.json", root / ".claude-plugin")
    lines = text.laid_out(try_command._install_lines(str(root)))
    assert lines[lines.index("  claude plugin marketplace add \\") + 1] == f"    '{root}'"


def _reclaimable(capsys: pytest.CaptureFixture, environ: dict, *words: str) -> dict:
    assert main([*words, "--json"], environ) == 0
    answer = json.loads(capsys.readouterr().out)
    return {row["label"]: row["state"] for row in answer["results"]}


@pytest.mark.parametrize("noted", [None, ["/p/shop/b.ts"], []], ids=["without hooks", "b.ts", "nothing of ours"])
def test_a_commit_ends_the_same_results_in_try_as_in_context(tmp_path, capsys, noted) -> None:
    written = Written(tmp_path / "claude" / "projects" / "-p-shop", session="shop", project="/p/shop")
    written.say("go")
    for name in ("a.ts", "b.ts"):
        written.read(name)
    written.edit("a.ts")
    written.read("a.ts")
    id = written.bash("git commit -qam 'Fix it'", "")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "home")}
    if noted is not None:
        journal = Path(store.ContextFiles(environ["POPKIT_HOME"], "shop").journal)
        journal.parent.mkdir(parents=True, mode=0o700)
        journal.write_text(json.dumps({"event": "commit", "call": id, "at": 0, "files": noted}) + "\n")
    tried = _reclaimable(capsys, environ, "try", str(written.path))
    assert tried == _reclaimable(capsys, environ, "context", "--transcript", str(written.path))
    assert tried["Read b.ts"] == ("expired" if noted == ["/p/shop/b.ts"] else "live"), "nobody said that the commit holds it"
