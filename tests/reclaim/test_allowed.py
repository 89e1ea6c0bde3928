"""The model runs `popkit restore HANDLE`: that alone is allowed without a question, whatever the host's own filter lets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.utils.handlers import pre_tool_use
from tests.hooks import processes
from tests.reclaim.shops import Shop

GOOD = "popkit restore abcd2345"
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
    "popkit restore T12", "popkit archive prune --older-than 1s", "popkit context clear --now", "popkit restorе abcd2345",
    "POPKIT restore abcd2345", "popkit restore abcd2345\u2028id", "popkit restore abcd2345\u00a0x", "popkit restore abcd2345\0",
]  # fmt: skip


def _asked(command: object, **more: object) -> dict:
    common = {"session_id": "5e551019-0000-4000-8000-000000000001", "cwd": "/shop", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return {**common, "tool_input": {"command": command}, **more}


@pytest.mark.parametrize("input_", [{}, {"description": "print it again"}, {"timeout": 5_000}])
def test_exactly_this_is_allowed(shop: Shop, input_: dict):
    ran = processes.run("pre-tool-use", _asked("", tool_input={"command": GOOD, **input_}), shop.environ())
    assert ran.failed_open
    told = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (told["hookEventName"], told["permissionDecision"]) == ("PreToolUse", "allow")


@pytest.mark.parametrize("command", BAD)
def test_of_anything_else_nothing_is_said(shop: Shop, command: str):
    ran = shop.errands.run_hook("pre-tool-use", _asked(command), shop.environ())
    assert (ran.code, ran.out, ran.err) == (0, "", "")


_pieces = st.sampled_from(
    ["popkit", "restore", "abcd2345", " ", "  ", ";", "&", "|", "\n", "$(", ")", "`", "'", '"', ">", "<", "#", "\\", "*", "~"]
)
_commands = st.one_of(st.text(), st.lists(_pieces, max_size=8).map("".join), st.builds((GOOD + "{}").format, st.text(min_size=1)),
                      st.builds(("{}" + GOOD).format, st.text(min_size=1)), st.builds("popkit restore {}".format, st.text()))  # fmt: skip
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz234567")


@given(command=_commands)
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_no_other_string_is_ever_allowed(shop: Shop, command: str):
    head, handle = command[:15], command[15:]
    is_it = head == "popkit restore " and 8 <= len(handle) <= 51 and _ALPHABET.issuperset(handle)
    assert bool(pre_tool_use.handle(_asked(command), shop.environ())) is is_it


@given(handle=st.text(sorted(_ALPHABET), min_size=8, max_size=51))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_every_handle_is(shop: Shop, handle: str):
    assert pre_tool_use.handle(_asked("popkit restore " + handle), shop.environ()) is not None


OTHERS = {
    "another tool": _asked(GOOD, tool_name="PowerShell"),
    "an MCP tool": _asked(GOOD, tool_name="mcp__demo__Bash"),
    "no tool": _asked(GOOD, tool_name=None),
    "in the background": _asked("", tool_input={"command": GOOD, "run_in_background": True}),
    "without its sandbox": _asked("", tool_input={"command": GOOD, "dangerouslyDisableSandbox": True}),
    "with something unknown": _asked("", tool_input={"command": GOOD, "env": {"PATH": "here"}}),
    "a list of words": _asked(["popkit", "restore", "abcd2345"]),
    "no input": _asked("", tool_input=GOOD),
    "no command": _asked("", tool_input={"description": GOOD}),
    "no session": _asked(GOOD, session_id=""),
}


@pytest.mark.parametrize("payload", OTHERS.values(), ids=OTHERS)
def test_of_another_call_nothing_is_said(shop: Shop, payload: dict):
    ran = shop.errands.run_hook("pre-tool-use", payload, shop.environ())
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_where_popkit_is_switched_off_nothing_is_said(shop: Shop):
    shop.configure(enabled=False)
    assert pre_tool_use.handle(_asked(GOOD), shop.environ()) is None
