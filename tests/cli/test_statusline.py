"""`popkit statusline`: one line for whatever comes in, and settings.json changed on the user's word alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.cli import json_text, statusline_command
from popkit_retention.cli.claude_settings import value
from popkit_retention.core.policy.ruleset import THRESHOLDS
from popkit_retention.core.state import status_line
from popkit_retention.core.version import VERSION
from tests.cli.played import ROOT, SESSION, Played

OTHER = '{"type": "command",\t"command": "echo mine"}'
SETTINGS = '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)", "Read"]},\n\n    "env": {}\n}\n'


@pytest.fixture
def worked(played: Played) -> Played:
    """A session in which a search has expired, and nothing else."""
    played.start()
    played.bash("rg -n add src", "src/app.js:1:add\n" * 200)
    for number in range(5):
        played.read(f"file{number}.py", f"x = {number}\n" * 10)
    return played


LINES = [
    ({}, "context –"),
    ({"ratio": 0.4321}, "context 43%"),
    ({"ratio": 0.5, "now": 0, "cold": 0}, "context 50% · nothing reclaimable"),
    ({"ratio": 0.5, "now": 31_234, "cold": 40_000}, "context 50% · ~31k reclaimable"),
    ({"ratio": 0.5, "now": 0, "cold": 40_000}, "context 50% · ~40k reclaimable when cold"),
    ({"ratio": 0.5, "expired": {"items": 0, "tokens": 0}}, "context 50% · nothing expired"),
    ({"ratio": 0.5, "expired": {"items": 4, "tokens": 820}, "cache_seconds_left": 0}, "context 50% · 4 expired, ~820 · cache cold"),
    ({"ratio": 0.5, "cache_seconds_left": 241.7}, "context 50% · cache warm 4 min"),
    ({"ratio": 0.5, "cache_seconds_left": 50}, "context 50% · cache warm 1 min"),
    ({"ratio": 0.5, "cache_seconds_left": 3}, "context 50% · cache warm <1 min"),
    ({"ratio": 0.5, "limits": "5 h 62% · 7 d 31%"}, "context 50% · 5 h 62% · 7 d 31%"),
    ({"ratio": 0.5, "cache_seconds_left": 0, "limits": ""}, "context 50% · cache cold"),
]


@pytest.mark.parametrize(("facts", "expected"), LINES)
def test_the_line_says_what_is_known(facts: dict, expected: str) -> None:
    assert statusline_command.line(facts, THRESHOLDS, coloured=False) == expected


@pytest.mark.parametrize(("ratio", "colour"), [(0.79, ""), (0.80, "33"), (0.89, "33"), (0.90, "31"), (1.2, "31")])
def test_the_context_is_yellow_from_warning_and_red_from_critical_on(ratio: float, colour: str) -> None:
    plain = statusline_command.line({"ratio": ratio}, THRESHOLDS, coloured=False)
    expected = f"\033[{colour}m{plain}\033[0m" if colour else plain
    assert statusline_command.line({"ratio": ratio}, THRESHOLDS, coloured=True) == expected


def test_until_a_clear_is_planned_it_shows_expired_results_and_the_cache_time_left(worked: Played) -> None:
    worked.now += 100
    answer = worked.run("statusline", stdin=worked.status())
    state = json.loads((worked.home / "sessions" / SESSION / "main.expired.jsonl").read_text().splitlines()[-1])
    assert state[4] == 1, "the search is what expired"
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("context 75% · 1 expired, ~")
    assert answer.stdout.endswith(" · cache warm 3 min\n")


def test_it_ends_with_the_plan_s_limits_while_they_were_read_within_the_hour(worked: Played) -> None:
    resets_at = worked.now + 9_000
    (worked.home / "limits.json").write_text(json.dumps([["five_hour", worked.now - 1_800, 62, resets_at]]))
    assert worked.run("statusline", stdin=worked.status()).stdout.endswith(" · 5 h 62%\n")
    worked.now += 1_801
    assert "5 h" not in worked.run("statusline", stdin=worked.status()).stdout


def test_it_agrees_with_the_panel(worked: Played) -> None:
    report = json.loads(worked.run("context", "retention", "--json").stdout)
    now, cold = report["reclaimable"]["now"]["tokens"], report["reclaimable"]["cold"]["tokens"]
    for later_s, reclaimable in ((0, now), (301, cold)):
        worked.now += later_s
        shown = worked.run("statusline", stdin=worked.status()).stdout
        assert statusline_command.line({"ratio": 0.746, "now": reclaimable, "cold": cold}, THRESHOLDS, coloured=False) in shown


def test_after_another_call_the_plan_no_longer_holds(worked: Played) -> None:
    worked.run("context", "retention")
    assert "reclaimable" in worked.run("statusline", stdin=worked.status()).stdout
    worked.bash("true", "")
    assert "reclaimable" not in worked.run("statusline", stdin=worked.status()).stdout


def test_the_cache_is_cold_after_its_lifetime(worked: Played) -> None:
    worked.now += 301
    assert worked.run("statusline", stdin=worked.status()).stdout.endswith("cache cold\n")


def test_it_remembers_the_window_that_only_the_client_knows(worked: Played) -> None:
    facts = worked.home / "sessions" / SESSION / "session.json"
    worked.run("statusline", stdin=worked.status())
    assert json.loads(facts.read_text())["window_tokens"] == 100_000
    written = facts.stat().st_mtime_ns
    worked.run("statusline", stdin=worked.status())
    assert facts.stat().st_mtime_ns == written, "what has not changed is not written"


def context(window: int, tokens: int) -> dict:
    """As the client gives it, with the percentage that it makes of the two."""
    used = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"context_window_size": window, "current_usage": used, "used_percentage": round(100 * tokens / window)}


def test_a_window_that_is_smaller_than_what_is_in_it_is_not_shown(worked: Played) -> None:
    wrong = worked.status(context_window=context(200_000, 220_000), model={"id": "claude-opus-5"})
    assert worked.run("statusline", stdin=wrong).stdout.startswith("context 23% · ")
    assert "window_tokens" not in json.loads((worked.home / "sessions" / SESSION / "session.json").read_text())
    assert worked.run("statusline", stdin=wrong, POPKIT_OFF="1").stdout == "context –\n"


def test_the_share_is_of_where_the_client_compacts(worked: Played) -> None:
    facts = worked.home / "sessions" / SESSION / "session.json"
    told = {"window": 100_000, "percent": None, "off": False}
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "compaction": told}))
    for window in (context(1_000_000, 60_300), {"context_window_size": 1_000_000, "used_percentage": 6.03}):
        shown = worked.run("statusline", stdin=worked.status(context_window=window), NO_COLOR="1").stdout
        assert shown.startswith("context 90% · ")
        panel = json.loads(worked.run("context", "--session", SESSION, "retention", "--json").stdout)["context"]
        assert (panel["window"], panel["window_source"]) == (67_000, "compaction")
    past = worked.status(context_window=context(1_000_000, 110_000))
    assert worked.run("statusline", stdin=past).stdout.startswith("context 11% · ")


def test_it_leaves_no_trace_of_a_session_that_no_hook_has_seen(played: Played) -> None:
    assert played.run("statusline", stdin=played.status()).stdout == "context 50%\n"
    assert not played.home.exists()


@pytest.mark.parametrize("off", [{"POPKIT_OFF": "1"}, {}], ids=["POPKIT_OFF", "enabled: false"])
def test_switched_off_it_shows_only_what_the_client_says(worked: Played, off: dict) -> None:
    if not off:
        (worked.home / "retention-config.json").write_text('{"retention": {"enabled": false}}')
    assert worked.run("statusline", stdin=worked.status(), **off).stdout == "context 50%\n"


def test_colour_is_used_only_where_it_is_wanted(played: Played) -> None:
    full = played.status(context_window={"used_percentage": 93})
    assert played.run("statusline", stdin=full).stdout == "\033[31mcontext 93%\033[0m\n"
    assert played.run("statusline", stdin=full, NO_COLOR="1").stdout == "context 93%\n"


HOSTILE = [
    b"", b"null", b"[]", b"{", b"\xff\xfe", b'"' * 1000, b"[" * 100_000, b"NaN",
    b'{"session_id": 7, "transcript_path": [], "workspace": 1}',
    b'{"context_window": {"used_percentage": "50", "context_window_size": -1, "current_usage": {"input_tokens": true}}}',
    b'{"context_window": {"used_percentage": 1e308}}', b'{"session_id": "../../x", "transcript_path": "/"}', b'{"session_id": "\\ud800"}',
    b'{"session_id": "\\u0000", "transcript_path": "\\u0000", "cwd": "\\u0000", "workspace": {"project_dir": "\\ud800"}}',
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_any_input_gives_one_short_line(played: Played, data: bytes) -> None:
    answer = played.run("statusline", stdin=data)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout in ("popkit\n", "context –\n")
    assert [path.name for path in played.user.rglob("*") if path.is_file()] in ([], ["hooks.log"])


def test_unreadable_files_do_not_suppress_the_line(worked: Played) -> None:
    folder = worked.home / "sessions" / SESSION
    (folder / "main.state.json").write_text("{broken")
    assert worked.run("statusline", stdin=worked.status()).stdout == "context 75% · cache warm 5 min\n"
    (folder / "main.state.json").unlink()
    (folder / "main.state.json").mkdir()
    answer = worked.run("statusline", stdin=worked.status())
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "context 75%\n", "")
    assert "statusline OSError" in (worked.home / "hooks.log").read_text()


def test_at_a_terminal_it_says_what_it_is_for_instead_of_waiting(played: Played) -> None:
    child = played.at_terminal("statusline")
    child.expect("popkit statusline install")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def of_user(played: Played) -> dict:
    return value("user", str(played.home))


def test_install_shows_the_change_and_waits_for_a_yes(played: Played) -> None:
    played.settings.write_text(SETTINGS)
    answer = played.run("statusline", "install")
    assert answer.returncode == 1
    assert '+    "statusLine": {' in answer.stdout
    assert "Nothing was changed" in answer.stdout
    assert played.settings.read_text() == SETTINGS
    assert played.run("statusline", "install", stdin="n\n").returncode == 1
    assert played.settings.read_text() == SETTINGS
    assert not played.home.exists()
    assert played.run("statusline", "install", stdin="y\n").returncode == 0
    assert json.loads(played.settings.read_text()) == {**json.loads(SETTINGS), "statusLine": of_user(played)}


def test_install_changes_nothing_else_and_uninstall_brings_the_file_back(played: Played) -> None:
    played.settings.write_text(SETTINGS)
    played.settings.chmod(0o640)
    played.run("statusline", "install", "--yes")
    installed = played.settings.read_text()
    assert installed.startswith(SETTINGS[: SETTINGS.index("\n}")] + ',\n    "statusLine": {\n        "type": "command",\n')
    assert stat.S_IMODE(played.settings.stat().st_mode) == 0o640
    again = played.run("statusline", "install", "--yes")
    assert (again.returncode, again.stdout.splitlines()[0][:35]) == (0, "The status line is already installe")
    assert played.settings.read_text() == installed
    assert played.run("statusline", "uninstall", "--yes").returncode == 0
    assert played.settings.read_text() == SETTINGS
    assert played.run("statusline", "uninstall", "--yes").returncode == 0
    assert sorted(path.name for path in played.claude.iterdir()) == ["popkit", "projects", "settings.json"]


def test_another_status_line_is_refused_and_with_replace_put_aside(played: Played) -> None:
    text = SETTINGS.replace('"env"', f'"statusLine": {OTHER},\n    "env"')
    played.settings.write_text(text)
    refused = played.run("statusline", "install", "--yes")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "echo mine" in refused.stderr
    assert "--replace" in refused.stderr
    assert played.settings.read_text() == text
    assert played.run("statusline", "install", "--yes", "--replace").returncode == 0
    assert json.loads(played.settings.read_text())["statusLine"] == of_user(played)
    kept = played.home / "statusline.previous.json"
    assert json.loads(kept.read_text()) == {str(played.settings.resolve()): OTHER}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    played.run("statusline", "install", "--yes")
    assert "The previous status line is back." in " ".join(played.run("statusline", "uninstall", "--yes").stdout.split())
    assert played.settings.read_text() == text


@pytest.mark.parametrize("folder", ["~/popkit state", "~"])
def test_the_installed_command_finds_a_folder_of_ours_that_begins_with_a_tilde(played: Played, folder: str) -> None:
    assert played.run("statusline", "install", "--yes", POPKIT_HOME=folder).returncode == 0
    command = json.loads(played.settings.read_text())["statusLine"]["command"]
    env = {**played.env, "POPKIT_HOME": folder}
    done = subprocess.run(["/bin/sh", "-c", command], input=played.status(), capture_output=True, text=True, env=env, check=True)
    assert (done.stdout.startswith("context 50%"), done.stderr) == (True, "")


def test_an_earlier_command_of_ours_is_brought_up_to_date_and_not_put_aside(played: Played) -> None:
    earlier = 'sh "${POPKIT_HOME:-${CLAUDE_CONFIG_DIR:-$HOME/.claude}/popkit}/statusline.sh"'
    played.settings.write_text(json.dumps({"statusLine": {"type": "command", "command": earlier, "padding": 1}}))
    assert played.run("statusline", "install", "--yes").returncode == 0
    assert json.loads(played.settings.read_text())["statusLine"] == {**of_user(played), "padding": 1}
    assert not (played.home / "statusline.previous.json").exists()
    played.run("statusline", "uninstall", "--yes")
    assert json.loads(played.settings.read_text()) == {}


def test_uninstall_leaves_a_status_line_that_is_not_ours(played: Played) -> None:
    played.run("statusline", "install", "--yes")
    text = f'{{"statusLine": {OTHER}}}'
    played.settings.write_text(text)
    answer = played.run("statusline", "uninstall", "--yes")
    assert (answer.returncode, played.settings.read_text()) == (0, text)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1} x', '{"statusLine": 1, "statusLine": 2}', "// no\n{}", '{"a": "\\ud83d'])
def test_settings_that_are_not_understood_are_left_alone(played: Played, text: str) -> None:
    played.settings.write_text(text)
    answer = played.run("statusline", "install", "--yes", "--replace")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert f"{played.settings.resolve()}isleftalone" in "".join(answer.stderr.split())
    assert played.settings.read_text() == text


def test_a_linked_settings_file_stays_a_link(played: Played, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text(SETTINGS)
    played.settings.symlink_to(target)
    played.run("statusline", "install", "--yes")
    assert played.settings.is_symlink()
    assert json.loads(target.read_text())["statusLine"] == of_user(played)
    assert [path.name for path in target.parent.iterdir()] == ["claude.json"]


def test_a_missing_file_is_created_and_a_projects_file_holds_no_local_path(played: Played) -> None:
    assert played.run("statusline", "install", "--yes", "--scope", "project").returncode == 0
    settings = played.project / ".claude" / "settings.json"
    assert json.loads(settings.read_text()) == {"statusLine": value("project", str(played.home))}
    assert str(played.user.parent) not in settings.read_text()
    assert not played.settings.exists()


def test_the_installed_command_gives_the_line_also_after_an_update_moved_the_plugin(worked: Played) -> None:
    worked.run("statusline", "install", "--yes")
    wanted = worked.run("statusline", stdin=worked.status()).stdout
    env = {**worked.env, "POPKIT_CLOCK": str(worked.now)}

    def shown() -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", of_user(worked)["command"]], input=worked.status(), capture_output=True, text=True, env=env, check=True
        )
        return done.stdout

    assert shown() == wanted
    script = worked.home / "statusline.sh"
    script.write_text(script.read_text().replace(str(ROOT), "/nowhere"))
    assert shown() == ""
    moved = worked.claude / "plugins" / "cache" / "popkit" / "popkit" / "0.2.0" / "bin"
    moved.mkdir(parents=True)
    (moved / "popkit").symlink_to(ROOT / "bin" / "popkit")
    assert shown() == wanted


def test_no_variable_that_a_project_sets_chooses_what_the_status_line_runs(played: Played) -> None:
    played.run("statusline", "install", "--yes")
    script = played.home / "statusline.sh"
    script.write_text(script.read_text().replace(str(ROOT), "/nowhere"))
    for chosen in (played.project / "statusline.sh", played.project / ".cc/plugins/cache/x/popkit/1/bin/popkit"):
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.write_text("echo evil\n")
        chosen.chmod(0o755)
    env = {**played.env, "POPKIT_HOME": "/proc/self/cwd", "CLAUDE_CONFIG_DIR": "/proc/self/cwd/.cc", "HOME": str(played.project)}
    command = json.loads(played.settings.read_text())["statusLine"]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], cwd=played.project, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_a_file_that_changes_while_the_user_thinks_is_not_overwritten(played: Played) -> None:
    played.settings.write_text(SETTINGS)
    child = played.at_terminal("statusline", "install")
    child.expect(r"\[y/N\]")
    played.settings.write_text("{}")
    child.sendline("y")
    child.expect("has changed in the meantime")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, played.settings.read_text()) == (1, "{}")


VALUE = value("user", "/home/dev/.claude/popkit")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = [{}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"indent": 0}, {"separators": (",", ":")}, {"ensure_ascii": False}]


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.sampled_from(LAYOUTS), st.sampled_from(["", "\n", "\r\n"]))
def test_a_member_that_is_set_and_taken_out_again_leaves_the_text_as_it_was(values: dict, layout: dict, end: str) -> None:
    values.pop("new", None)
    text = json.dumps(values, **layout).replace("\n", end or "\n") + end
    changed = json_text.with_value(text, "new", json_text.formatted(text, VALUE))
    assert json.loads(changed) == {**values, "new": VALUE}
    assert list(json.loads(changed))[-1] == "new"
    back = json_text.without(changed, "new")
    assert back == text if values else json.loads(back) == {}


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4), st.sampled_from(LAYOUTS), st.data())
def test_a_value_that_is_replaced_and_put_back_leaves_the_text_as_it_was(values: dict, layout: dict, data: st.DataObject) -> None:
    text = json.dumps(values, **layout)
    name = data.draw(st.sampled_from(sorted(values)))
    before = json_text.value_text(text, name)
    changed = json_text.with_value(text, name, json_text.formatted(text, VALUE))
    assert json.loads(changed) == {**values, name: VALUE}
    assert json_text.with_value(changed, name, before) == text
    assert json.loads(json_text.without(text, name)) == {other: value for other, value in values.items() if other != name}


def test_the_clients_own_example_gives_a_line(played: Played) -> None:
    example = ROOT.parent / "shared" / "payloads" / "statusLine.json"
    if not example.exists():
        pytest.skip(f"no example at {example}")
    assert played.run("statusline", stdin=example.read_bytes()).stdout == "context 3%\n"


def test_the_command_works_through_a_link_and_from_any_folder(played: Played, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    (elsewhere / "one").symlink_to(ROOT / "bin" / "popkit")
    (elsewhere / "popkit").symlink_to("one")
    for command in ([elsewhere / "popkit"], ["popkit"], ["./popkit"]):
        env = {**played.env, "PATH": f"{elsewhere}:{played.env['PATH']}"}
        done = subprocess.run([*command, "--version"], cwd=elsewhere, env=env, capture_output=True, text=True, check=True)
        assert done.stdout == "popkit " + VERSION + "\n"


def test_without_a_python_the_command_says_what_is_missing(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "dirname", "readlink"):
        found = next(Path(folder) / tool for folder in (*os.defpath.split(":"), "/usr/bin") if (Path(folder) / tool).exists())
        (tools / tool).symlink_to(found)
    (tools / "python3").write_text("#!/bin/sh\necho\n")  # a Python 2, or one that is too old
    (tools / "python3").chmod(0o755)
    env = {"PATH": str(tools), "HOME": str(tmp_path)}
    done = subprocess.run(["/bin/sh", ROOT / "bin" / "popkit", "--version"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (127, "")
    assert "Python of version 3.9 or later" in done.stderr


def test_the_command_uses_the_interpreter_that_the_hooks_found(played: Played) -> None:
    played.home.mkdir(parents=True)
    (played.home / "interpreter").write_text(os.path.realpath(sys.executable) + "\n")
    (played.bin / "python3").unlink()
    env = {**played.env, "PATH": "/usr/bin:/bin", "POPKIT_HOME": str(played.home)}
    script = "import sys; print(sys.executable)"
    done = subprocess.run([ROOT / "bin" / "popkit", "--version"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("popkit "), script


def test_where_a_client_draws_the_line_itself_no_settings_change(played: Played) -> None:
    settings = played.home.parent / "settings.json"
    before = settings.read_text() if settings.exists() else None
    status_line.note_site(str(played.home))
    assert "No settings were changed" in played.run("statusline", "install").stdout
    assert status_line.is_on(str(played.home))
    assert (settings.read_text() if settings.exists() else None) == before
    assert "no longer shows" in played.run("statusline", "uninstall").stdout
    assert not status_line.is_on(str(played.home))
    assert (settings.read_text() if settings.exists() else None) == before


@pytest.mark.parametrize("flag", ["--replace", "--scope=project"])
def test_settings_are_changed_there_too_where_the_person_names_them(played: Played, flag: str) -> None:
    status_line.note_site(str(played.home))
    assert "+++ " in played.run("statusline", "install", *flag.split("="), "--yes").stdout
    assert not status_line.is_on(str(played.home))
