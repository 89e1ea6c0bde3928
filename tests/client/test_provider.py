"""What the stand-in of the provider refuses, by the provider's documented rules of thinking and of its own tools."""

from __future__ import annotations

from typing import Any

import pytest

from .provider import ADAPTIVE, MANUAL, Answer, Mode, faults, mode_of, name_of, open_loop, sealed
from .scripted_api import ScriptedApi, call, say, thought

MANUALLY = Mode(MANUAL)
BETWEEN = Mode(MANUAL, is_interleaved=True)
GO = {"role": "user", "content": "go"}
LATE = {"type": "text", "text": "and mind the gap"}


def called(id: str, *before: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [*before, {"type": "tool_use", "id": id, "name": "Bash", "input": {}}]}


def showed(id: str, *behind: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "so"}, *behind]}


def looped(*thinks: bool, closed: bool = False) -> list[dict[str, Any]]:
    """A turn of so many calls; those that think begin with it. It is over if it is `closed`."""
    messages: list[dict[str, Any]] = [GO]
    for number, has in enumerate(thinks):
        thinking = [{"type": "thinking", "thinking": "hm", "signature": sealed(messages)}] if has else []
        messages += [called(f"t{number}", *thinking), showed(f"t{number}", LATE)]
    return [*messages, {"role": "assistant", "content": "so"}, {"role": "user", "content": "on"}] if closed else messages


def given(*began: bool) -> dict[str, Answer]:
    """What the provider gave in a turn of these calls."""
    return {f"t{number}": Answer(each, any(began[: number + 1])) for number, each in enumerate(began)}


@pytest.mark.parametrize(("mode", "gave", "sends", "refused"), [
    (MANUALLY, (True, False), (True, False), 0), (MANUALLY, (True, False), (False, False), 1), (MANUALLY, (True,), (False,), 1),
    (MANUALLY, (False, False), (False, False), 0), (MANUALLY, (True, True), (True, False), 0), (BETWEEN, (True, True), (True, False), 1),
    (BETWEEN, (True, False), (True, False), 0), (ADAPTIVE, (True, True), (False, False), 0), (ADAPTIVE, (True, True), (False, True), 0),
    (ADAPTIVE, (True, True), (True, False), 0), (ADAPTIVE, (True, True, True), (True, False, True), 1),
    (Mode("disabled"), (True,), (False,), 0),
])  # fmt: skip
def test_an_open_loop_has_the_thinking_that_its_mode_asks_for(mode: Mode, gave: tuple, sends: tuple, refused: int):
    found = faults(looped(*sends), mode, given(*gave))
    assert len(found) == refused
    assert faults(looped(*sends, closed=True), mode, given(*gave)) == [], "once it has answered nothing is asked"


def test_a_loop_whose_beginning_has_left_begins_with_thinking_too():
    rest = [GO, *looped(True, False)[3:]]
    lacks = "expected thinking, but found tool_use: a tool loop begins with thinking"
    assert faults(rest, MANUALLY, given(True, False)) == [f"message 1: {lacks}"]
    assert faults(rest, BETWEEN, given(True, False)) == faults(rest, ADAPTIVE, given(True, False)) == []
    assert faults(rest, BETWEEN, given(True, True)) == [f"message 1: {lacks}"]


def test_only_thinking_of_newer_models_is_bound_to_what_was_said_before():
    edited = [{"role": "user", "content": "go elsewhere"}, *looped(True)[1:]]
    assert faults(edited, ADAPTIVE) == ["message 1: thinking that is bound to a different conversation"]
    assert faults(edited, MANUALLY) == []


def test_a_loop_is_all_that_was_called_since_the_user_had_the_word():
    assert [name_of(message) for message in open_loop([*looped(True, True, closed=True), called("t9"), showed("t9", LATE)])] == ["t9"]
    assert open_loop(looped(True, closed=True)) == []


@pytest.mark.parametrize(("headers", "is_interleaved"), [
    ({"anthropic-beta": "a,interleaved-thinking-2025-05-14"}, True), ({"Anthropic-Beta": "a"}, False), ({}, False),
])  # fmt: skip
def test_the_mode_is_what_body_and_header_say(headers: dict[str, str], is_interleaved: bool):
    assert mode_of({"thinking": {"type": "enabled", "budget_tokens": 9}}, headers) == Mode("enabled", is_interleaved)
    assert mode_of({}, headers).thinking == ""


def test_a_call_of_the_servers_is_never_without_its_result():
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    whole = [GO, {"role": "assistant", "content": [use, found]}, GO]
    assert faults(whole) == []
    assert [len(faults([GO, {"role": "assistant", "content": [only]}, GO])) for only in (use, found)] == [1, 1]


def test_a_strict_api_refuses_what_the_provider_would_and_fails_the_test():
    scripts = {"go": [call(("Bash", {}), thinking=(thought("hm"),)), say("done")]}
    with pytest.raises(AssertionError, match="a tool loop begins with thinking"), ScriptedApi(scripts) as api:  # noqa: PT012  it is closed there
        api.strict = True
        asked = {"thinking": {"type": "enabled"}, "messages": [{"role": "user", "content": "[[SCRIPT:go]]"}], "tools": [{}]}
        first = api.checked("/v1/messages", {}, asked, "turn")
        answer = api.answer(asked, "turn")
        whole = {**asked, "messages": [*asked["messages"], answer, showed(answer["content"][1]["id"])]}
        assert api.checked("/v1/messages", {}, whole, "turn").faults == first.faults == ()
        lacking = {**answer, "content": answer["content"][1:]}
        api.checked("/v1/messages", {}, {**whole, "messages": [asked["messages"][0], lacking, whole["messages"][2]]}, "turn")
