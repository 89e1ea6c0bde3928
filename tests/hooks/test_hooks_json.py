"""hooks.json is what the oldest supported client understands, and both switches turn every hook off."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.policy import own_lines
from tests.hooks import payloads, processes

# What 2.1.100 knows. One unknown name disables every hook of a plugin without a word.
KNOWN_EVENTS = frozenset(
    "PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit Stop StopFailure SessionStart SessionEnd PreCompact PostCompact"
    " SubagentStart SubagentStop Notification PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation"
    " ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged".split()
)
# event -> the tools for which it starts a process.
MATCHERS = {"PreToolUse": "Bash|PowerShell|Write|Edit|MultiEdit|NotebookEdit", "PostToolUse": "*", "PostToolUseFailure": "*"}
DOCUMENT = json.loads((processes.HOOKS / "hooks.json").read_text())
EVENTS = DOCUMENT["hooks"]
# Nobody is shown their commands, which start with each call: the host's shell starts the interpreter itself.
AFTER_A_CALL = ("PostToolUse", "PostToolUseFailure")


def test_only_events_that_the_oldest_client_knows_are_named():
    assert set(DOCUMENT) <= {"description", "hooks", "modules"}  # the oldest passes modules over: tests/client/test_mod.py
    assert set(EVENTS) <= KNOWN_EVENTS


def test_the_events_are_those_that_the_tracker_needs():
    assert set(EVENTS) == set(processes.SCRIPTS)


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_starts_one_process(event: str):
    (group,) = EVENTS[event]
    assert len(group["hooks"]) == 1
    assert group.get("matcher") == MATCHERS.get(event)


@pytest.mark.parametrize("event", EVENTS)
def test_a_command_has_no_arguments_beside_it(event: str):
    # Under 2.1.100 a shell or an interpreter as `command` with `args` beside it executes the payload.
    (hook,) = EVENTS[event][0]["hooks"]
    assert set(hook) == {"type", "command", "timeout", "statusMessage"}
    assert hook["type"] == "command"


@pytest.mark.parametrize("event", EVENTS)
def test_where_the_host_shows_a_hook_people_read_a_name(event: str):
    # Its command's text behind a compaction and behind a turn, its message while it runs and in the list of hooks.
    (hook,) = EVENTS[event][0]["hooks"]
    assert re.fullmatch(r'"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/popkit" [a-z-]+( stop)?', hook["command"]) or event in AFTER_A_CALL
    assert hook["statusMessage"] == "PopKit"


@pytest.mark.parametrize("event", EVENTS)
def test_timeouts_are_seconds_and_short(event: str):
    (hook,) = EVENTS[event][0]["hooks"]
    assert isinstance(hook["timeout"], int)
    assert 1 <= hook["timeout"] <= 30


@pytest.mark.parametrize("event", EVENTS)
def test_every_entry_script_exists(event: str):
    script = processes.SCRIPTS[event]
    command = processes.command_of(event)
    named = re.search(r"POPKIT_HOOK=([a-z-]+);" if event in AFTER_A_CALL else r'" ([a-z-]+)', command)
    assert named is not None
    assert named[1] == script
    assert (processes.HOOKS / f"{script}.py").is_file()


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("event", EVENTS)
def test_the_registered_line_runs_its_hook(tmp_path: Path, event: str, shell: str, which):
    which(shell)
    home = processes.Home(tmp_path)
    for payload in [payloads.bash("mkdir a"), *(one for one in payloads.one_of_each() if one["hook_event_name"] == event)]:
        ran = processes.run_registered(payload, home.env(), shell)
        assert ran.silent, ran
    assert home.failures() == []
    assert home.state(payloads.SESSION).index >= 1


def test_before_a_call_an_interpreter_starts_only_where_the_call_has_a_word_of_ours(tmp_path: Path):
    launcher = processes.HOOKS / "popkit"
    assert re.findall(r"-e '([^']*)'", launcher.read_text()) == list(own_lines.SIGNS)
    home = processes.Home(tmp_path)
    started = tmp_path / "started"
    for words, starts in (("ls -la", False), ("echo '\x1b\udc80 é'", False), ("cat <<E\n[PopKit x: popkit restore y]\nE", True)):
        payload = payloads.pre_tool_use(words)
        env = {**home.env(), "CLAUDE_PLUGIN_ROOT": str(tmp_path / "plugin")}
        (tmp_path / "plugin" / "hooks").mkdir(parents=True, exist_ok=True)
        shutil.copy(launcher, tmp_path / "plugin" / "hooks")
        (tmp_path / "plugin" / "hooks" / "launch.sh").write_text(f'printf "%s" "$popkit_payload" > "{started}"\n')
        processes.run_argv(["sh", "-c", processes.command_of("PreToolUse")], payload, env)
        assert (json.loads(started.read_text()) if started.exists() else None) == (payload if starts else None)


def test_a_command_of_ours_is_answered_through_the_registered_line(tmp_path: Path):
    home = processes.Home(tmp_path)
    ran = processes.run_registered(payloads.prompt("/popkit:context help"), home.env())
    assert ran.failed_open
    answer = json.loads(ran.stdout)
    assert answer["decision"] == "block"
    assert answer["hookSpecificOutput"] == {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}


def test_the_model_may_restore_without_a_question_through_the_registered_line(tmp_path: Path):
    home = processes.Home(tmp_path)
    assert processes.run_registered(payloads.pre_tool_use("popkit restore abcd2345"), home.env()).silent, "nothing was cleared"
    db = archive.open_archive(str(home.path / "archive.sqlite"))
    record = archive.NewRecord("toolu_1", "read", "Read a.py", '"x = 1"')
    (handle,) = archive.add_records(db, archive.Chain(payloads.SESSION, payloads.SESSION), [record])
    db.close()
    ran = processes.run_registered(payloads.pre_tool_use("popkit restore " + handle), home.env())
    assert ran.failed_open
    assert json.loads(ran.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert processes.run_registered(payloads.pre_tool_use(f"popkit restore {handle}; ls"), home.env()).silent


# --- off -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("through", ["scripts", "registered lines"])
@pytest.mark.parametrize("value", ["1", "yes", "0"])
def test_popkit_off_makes_every_hook_a_no_op(tmp_path: Path, through: str, value: str):
    home = processes.Home(tmp_path)
    run = processes.run_event if through == "scripts" else processes.run_registered
    for payload in [*payloads.one_of_each_event(), payloads.prompt("/popkit:context retention")]:
        ran = run(payload, home.env(POPKIT_OFF=value))
        assert ran.silent, ran
    assert list(tmp_path.iterdir()) == []


def _switched_off(home: processes.Home, where: str) -> dict[str, str]:
    """Writes `enabled: false` where the user or the project keeps it; the environment that the hooks get."""
    project = home.parent / "project"
    file = home.path / "retention-config.json" if where == "user" else project / ".claude" / "retention-config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"retention": {"enabled": false}}\n')
    return home.env(CLAUDE_PROJECT_DIR=str(project))


@pytest.mark.parametrize("where", ["user", "project"])
def test_enabled_false_makes_every_hook_a_no_op(tmp_path: Path, where: str):
    home = processes.Home(tmp_path)
    env = _switched_off(home, where)
    before = processes.listing(tmp_path)
    for payload in payloads.one_of_each():
        assert processes.run_event(payload, env).silent
    assert processes.listing(tmp_path) == before


def test_a_command_is_not_answered_while_the_plugin_is_switched_off(tmp_path: Path):
    home = processes.Home(tmp_path)
    env = _switched_off(home, "user")
    assert processes.run_event(payloads.prompt("/popkit:context retention"), env).silent
