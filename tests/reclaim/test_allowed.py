"""The model runs `popkit restore HANDLE`: that alone is allowed without a question, whatever the host's own filter lets through, for what
this session or one that it continues has cleared, and only as a command that can be no program but ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popkit_retention.core import archive
from popkit_retention.core.handlers import coming_calls
from popkit_retention.core.hosts.claude_code.calls import call_of
from tests.examples import examples
from tests.hooks import payloads, processes
from tests.kit.forks import Hook
from tests.reclaim.shops import SESSION, Shop, code, numbered

OTHER = "5e551019-0000-4000-8000-000000000002"
OLD = numbered(code(120))  # what `read-old` showed
HANDLE = "abcd2345"  # in the lists below it stands for a handle that would be allowed
BAD = [
    "", " ", "popkit", "popkit restore", "popkit restore ", "popkit  restore abcd2345", " popkit restore abcd2345",
    "popkit restore abcd2345 ", "popkit\trestore abcd2345", "popkit restore\tabcd2345", "popkit restore abcd2345\n",
    "\npopkit restore abcd2345", "popkit restore abcd2345\r", "popkit restore abcd2345; rm -rf /", "popkit restore abcd2345;id",
    "popkit restore abcd2345 && id", "popkit restore abcd2345 | cat", "popkit restore abcd2345 > x", "popkit restore abcd2345 2>&1",
    "popkit restore abcd2345 &", "popkit restore $(id)", "popkit restore `id`", "popkit restore ${HOME}", "popkit restore $HOME",
    "popkit restore <(id)", "popkit restore abcd2345 # c", "( popkit restore abcd2345 )", "FOO=1 popkit restore abcd2345",
    "cd a && popkit restore abcd2345", "popkit restore abcd2345\nid", "popkit restore 'abcd2345'", '"popkit" restore abcd2345',
    "./popkit restore abcd2345", "/bin/popkit restore abcd2345", "popkit restore abcd2345 abcd2346", "popkit restore abcd2345 --in-place",
    "popkit restore --since 2h", "popkit restore abcd234", "popkit restore " + "a" * 52, "popkit restore ABCD2345",
    "popkit restore abcd2349", "popkit restore abcd234é", "popkit restore *", "popkit restore ~", "popkit restore old.ts",
    "popkit restore T12", "popkit restore prune --older-than 1s", "popkit context clear --now", "popkit restorе abcd2345",
    "POPKIT restore abcd2345", "popkit restore abcd2345\u2028id", "popkit restore abcd2345\u00a0x", "popkit restore abcd2345\0",
]  # fmt: skip


def _asked(command: object, **more: object) -> dict:
    common = {"session_id": SESSION, "cwd": "/shop", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return {**common, "tool_input": {"command": command}, **more}


def _good(shop: Shop) -> str:
    """The command of a placeholder."""
    return "popkit restore " + shop.cleared()["read-old"]


def _ran(command: str, shop: Shop, shell: str = "sh", path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess:
    """A command line as the host's Bash tool runs it."""
    env = {**shop.environ(), "PATH": path, "CLAUDE_CODE_SESSION_ID": shop.session_id}
    return subprocess.run([shutil.which(shell), "-c", command], env=env, cwd=shop.project, capture_output=True, text=True, check=False)


# --- what is allowed --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"description": "print it again"}, {"timeout": 5_000, "description": "again"}])
def test_what_a_placeholder_says_is_allowed_and_nothing_of_the_call_gets_lost(cleared: Shop, more: dict):
    ran = processes.run("pre-tool-use", _asked("", tool_input={"command": _good(cleared), **more}), cleared.environ())
    assert ran.failed_open
    answer = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "allow")
    assert {**answer["updatedInput"], "command": ""} == {"command": "", **more}
    done = _ran(answer["updatedInput"]["command"], cleared)
    assert (done.stdout, done.stderr) == (OLD + "\n", "")


def _allowed(shop: Shop, command: object = "", **more: object) -> str:
    """The command that is run unasked, "" where nothing is said."""
    answer = coming_calls.answer(_asked(command or _good(shop), **more), shop.environ())
    return answer["hookSpecificOutput"]["updatedInput"]["command"] if answer else ""


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_no_program_that_a_project_puts_on_the_path_runs_unasked(cleared: Shop, shell: str):
    evil, ran = cleared.project / ".venv" / "bin", cleared.folder / "ran"
    evil.mkdir(parents=True)
    for name in ("popkit", "python3", "python", "dirname", "readlink", "git", "sh", "env", "cat"):
        (evil / name).write_text(f'#!/bin/sh\necho "{name}" >> "{ran}"\n')
        (evil / name).chmod(0o755)
    (evil.parent / "pyvenv.cfg").write_text(f"home = {evil}\n")
    for remembered in (f"{evil}/python3\n", ""):
        (cleared.home / "interpreter").write_text(remembered)
        done = _ran(_allowed(cleared), cleared, shell, f"{evil}:/usr/bin:/bin")
        assert not ran.exists(), ran.read_text()
        assert done.stdout in ("", OLD + "\n"), "the content, or nothing where the system has no Python of its own"


def test_the_words_of_the_model_stay_in_the_command_for_the_rules_of_the_user(cleared: Shop):
    assert _allowed(cleared).rpartition(" && ")[2] == _good(cleared)


def test_hooks_take_the_command_that_ran_for_the_one_that_the_transcript_has(cleared: Shop):
    payload = payloads.bash(_allowed(cleared), stdout=OLD)
    assert call_of(payload, 0.0).tool_input["command"] == _good(cleared)
    assert call_of(payloads.bash("PATH='/usr/bin' && make"), 0.0).tool_input["command"] == "PATH='/usr/bin' && make"


def _hook_of(root: Path, shop: Shop) -> processes.Done:
    """The hook of a plugin that lies in this folder."""
    processes.copy_hooks(root / "hooks")
    shutil.copytree(processes.ROOT / "bin", root / "bin")
    (root / "power-mode").symlink_to(processes.ROOT / "power-mode")
    shutil.copy(processes.ROOT / "retention-config.json", root)
    argv = [*processes.argv("pre-tool-use")[:3], str(root / "hooks" / "pre-tool-use.py")]
    return processes.run_argv(argv, _asked(_good(shop)), shop.environ())


@pytest.mark.parametrize("name", ["with spaces and quo'te", "$HOME `true`", "日本"])
def test_odd_names_of_the_plugins_folder_are_no_problem(cleared: Shop, name: str):
    answer = json.loads(_hook_of(cleared.folder / name, cleared).stdout)["hookSpecificOutput"]
    assert name in answer["updatedInput"]["command"].replace("'\\''", "'")
    assert _ran(answer["updatedInput"]["command"], cleared, path="").stdout == OLD + "\n"


@pytest.mark.parametrize("name", ["with:colon", "with\nline"])
def test_where_the_plugins_folder_cannot_stand_on_a_path_nothing_is_said(cleared: Shop, name: str):
    assert _hook_of(cleared.folder / name, cleared).silent


# --- of whom --------------------------------------------------------------------------------------------------------------------


def _archived(shop: Shop, session_id: str, tool_use_id: str, label: str, agent_id: str = "") -> str:
    """The handle of a record of some session."""
    db = archive.open_archive(str(shop.home / "archive.sqlite"))
    chain = archive.Chain(session_id + ("/" + agent_id if agent_id else ""), session_id, agent_id, "/elsewhere", "/elsewhere/t.jsonl")
    record = archive.NewRecord(tool_use_id, "read", label, '"the key of another project"', subjects=["/elsewhere/" + label])
    (handle,) = archive.add_records(db, chain, [record], now=shop.at)
    db.close()
    return handle


def test_what_another_session_cleared_is_asked_for(cleared: Shop):
    handle = _archived(cleared, OTHER, "elsewhere", "Read credentials")
    assert _allowed(cleared, "popkit restore " + handle, transcript_path=str(cleared.transcript)) == ""


def test_what_a_subagent_of_this_session_lost_is_not(cleared: Shop):
    assert _allowed(cleared, "popkit restore " + _archived(cleared, SESSION, "of-agent", "Read lib.ts", "a1"))


@pytest.mark.parametrize("word", ["credentials", "abcdefgh", "a" * 51])
def test_a_word_that_is_no_handle_of_anything_is_asked_for(cleared: Shop, word: str):
    _archived(cleared, OTHER, "elsewhere", word)
    assert _allowed(cleared, "popkit restore " + word) == ""


def test_the_beginning_of_a_handle_is_asked_for(cleared: Shop):
    handle = _archived(cleared, SESSION, "longer", "Read lib.ts")
    db = archive.open_archive(str(cleared.home / "archive.sqlite"))
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("UPDATE thought_records SET id = ? WHERE id = ?", (handle + "aaaa", handle))
    db.close()
    assert _allowed(cleared, "popkit restore " + handle + "aaaa")
    assert _allowed(cleared, "popkit restore " + handle) == ""


def test_a_fork_may_have_what_the_session_had_that_it_continues(cleared: Shop):
    fork = cleared.transcript.with_name(OTHER + ".jsonl")
    fork.write_text(cleared.transcript.read_text().replace(SESSION, OTHER))
    assert _allowed(cleared, session_id=OTHER, transcript_path=str(fork))
    fresh = cleared.transcript.with_name("fresh.jsonl")
    fresh.write_text("")
    for path in (str(fresh), str(fresh) + "x", "", str(cleared.project)):
        assert _allowed(cleared, session_id=OTHER, transcript_path=path) == ""


def test_a_transcript_that_only_talks_of_a_call_does_not_hold_it(cleared: Shop):
    handle = _archived(cleared, OTHER, "toolu_elsewhere", "Read credentials")
    quotation = f'"tool_use_id":"toolu_elsewhere" [PopKit cleared x (y). To see it: popkit restore {handle}]'
    block = {"type": "tool_result", "tool_use_id": "mine", "content": [{"type": "tool_result", "tool_use_id": "toolu_elsewhere"}]}
    lines = [
        {"type": "user", "message": {"role": "user", "content": quotation}, "tool_use_id": "toolu_elsewhere"},
        {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": {"tool_use_id": "toolu_elsewhere"}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": quotation, "tool_use_id": "toolu_elsewhere"}]}},
    ]
    cleared.transcript.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) + '"toolu_elsewhere"\n')
    assert _allowed(cleared, "popkit restore " + handle, transcript_path=str(cleared.transcript)) == ""


def test_where_the_archive_cannot_be_asked_nothing_is_said(cleared: Shop):
    path, command = cleared.home / "archive.sqlite", _good(cleared)
    holder = archive.open_archive(str(path))
    holder.execute("BEGIN EXCLUSIVE")
    assert _allowed(cleared, command) == ""
    holder.close()
    assert _allowed(cleared, command)
    path.write_bytes(b"no database at all" * 100)
    assert _allowed(cleared, command) == ""
    path.unlink()
    assert _allowed(cleared, command) == ""
    assert not path.exists(), "asking makes none"


# --- of anything else nothing is said ----------------------------------------------------------------------------------------------


def test_of_any_other_line_nothing_is_said(cleared: Shop):
    handle = cleared.cleared()["read-old"]
    assert [line for line in BAD if coming_calls.answer(_asked(line.replace(HANDLE, handle)), cleared.environ())] == []
    ran = cleared.forks.run(Hook("pre-tool-use", _asked("popkit restore")), cleared.environ())
    assert (ran.code, ran.out, ran.err) == (0, "", "")


_pieces = st.sampled_from(
    ["popkit", "restore", HANDLE, " ", "  ", ";", "&", "|", "\n", "$(", ")", "`", "'", '"', ">", "<", "#", "\\", "*", "~"]
)
GOOD = "popkit restore " + HANDLE
_commands = st.one_of(st.text(), st.lists(_pieces, max_size=8).map("".join), st.builds((GOOD + "{}").format, st.text(min_size=1)),
                      st.builds(("{}" + GOOD).format, st.text(min_size=1)), st.builds("popkit restore {}".format, st.text()))  # fmt: skip


@given(command=_commands)
@settings(
    max_examples=examples(40, 1_000), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
def test_no_other_string_is_ever_allowed(cleared: Shop, command: str):
    good = _good(cleared)
    command = command.replace(HANDLE, good[15:])
    assert bool(coming_calls.answer(_asked(command), cleared.environ())) is (command == good)


OTHERS = {
    "another tool": {"tool_name": "PowerShell"},
    "an MCP tool": {"tool_name": "mcp__demo__Bash"},
    "no tool": {"tool_name": None},
    "in the background": {"tool_input": {"command": GOOD, "run_in_background": True}},
    "without its sandbox": {"tool_input": {"command": GOOD, "dangerouslyDisableSandbox": True}},
    "with something unknown": {"tool_input": {"command": GOOD, "env": {"PATH": "here"}}},
    "a list of words": {"tool_input": {"command": ["popkit", "restore", HANDLE]}},
    "no input": {"tool_input": GOOD},
    "no command": {"tool_input": {"description": GOOD}},
    "no session": {"session_id": ""},
}


def test_of_another_call_nothing_is_said(cleared: Shop):
    handle = cleared.cleared()["read-old"]
    for name, change in OTHERS.items():
        payload = json.dumps({**_asked(GOOD), **change}).replace(HANDLE, handle)
        assert not coming_calls.answer(json.loads(payload), cleared.environ()), name


def test_where_popkit_is_switched_off_nothing_is_said(cleared: Shop):
    cleared.configure(enabled=False)
    assert _allowed(cleared) == ""
