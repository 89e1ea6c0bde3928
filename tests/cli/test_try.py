"""`popkit try`: what PopKit would say, without being installed and without writing anything."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from hooks.utils import text
from hooks.utils.state import store
from popkit_retention.cli import try_command
from popkit_retention.cli.main import main
from tests.cli.test_context_command import Nowhere
from tests.hosts.rollouts import worked
from tests.views.written import Written, spec_session

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "power-mode" / "popkit_retention" / "cli" / "sample-session.jsonl"
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


def test_its_answer_is_the_sessions_as_it_stood_at_its_last_call(tmp_path, capsys, golden) -> None:
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
    block = output[output.index("With PopKit from the start") : output.index("Install PopKit")]
    assert f"in {got['cleared_results']} results, at {got['moments']} moment" in block
    assert f"Net       {1 - got['cost_share']:.1%} of the cost of its prompts is saved" in block


def test_the_configuration_of_the_sessions_project_holds(tmp_path, capsys) -> None:
    written = Written(tmp_path, session="shop", project=str(tmp_path / "shop"))
    (tmp_path / "shop" / ".claude").mkdir(parents=True)
    (tmp_path / "shop" / ".claude" / "retention-config.json").write_text('{"retention": {"profile": "aggressive"}}')
    written.say("go")
    written.grep("login")
    assert "Profile   aggressive" in _try(tmp_path, capsys, str(written.path))[1]


def test_a_file_that_is_no_transcript_is_refused(tmp_path, capsys) -> None:
    path = tmp_path / "x.jsonl"
    code, shown, error = _try(tmp_path, capsys, str(path))
    assert (code, shown, "cannot be read: No such file or directory" in " ".join(error.split())) == (1, "", True)
    path.write_bytes(b"\x00\xff\n" * 9)
    code, shown, error = _try(tmp_path, capsys, str(path))
    assert (code, shown, "is not a Claude Code transcript" in " ".join(error.split())) == (1, "", True)


@pytest.mark.skipif(not SAMPLE.exists(), reason="no sample session yet")
def test_where_there_is_no_session_a_recorded_one_is_shown(tmp_path, capsys) -> None:
    code, shown, _ = _try(tmp_path, capsys)
    assert code == 0
    assert shown.startswith("PopKit on a recorded sample session\n")
    assert "Session   " not in shown.partition("Retention status")[0]


@pytest.mark.skipif(not SAMPLE.exists(), reason="no sample session yet")
def test_it_needs_no_home(capsys) -> None:
    assert main(["try"], Nowhere()) == 0
    assert "recorded sample session" in capsys.readouterr().out


def test_the_install_lines_can_be_pasted_however_long_the_path_is(tmp_path) -> None:
    root = tmp_path / ("a folder with a long name " * 4)
    (root / ".claude-plugin").mkdir(parents=True)
    shutil.copy(ROOT / ".claude-plugin" / "marketplace.json", root / ".claude-plugin")
    lines = text.laid_out(try_command._install(str(root)))
    assert lines[-3:-1] == ["  claude plugin marketplace add \\", f"    '{root}'"]


def _reclaimable(capsys: pytest.CaptureFixture, environ: dict, *words: str) -> dict:
    assert main([*words, "--json"], environ) == 0
    answer = json.loads(capsys.readouterr().out)
    return {row["label"]: row["state"] for row in answer["results"]}


@pytest.mark.parametrize("noted", [None, ["/p/shop/b.ts"], []], ids=["without hooks", "b.ts", "nothing of ours"])
def test_what_a_commit_ended_is_the_same_for_it_as_for_context(tmp_path, capsys, noted) -> None:
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
