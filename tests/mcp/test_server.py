"""One connection: handshakes of all revisions, requests that speak for themselves, batches, cancellation, progress."""

from __future__ import annotations

import json

import pytest

from popkit_retention.mcp import dialects, rpc
from popkit_retention.mcp.server import Server
from tests.patience import until

from .talking import NEWEST, STATELESS, Session, enveloped, hello, notice, request, tool_call

VERSIONS = {**{version: version for version in dialects.HANDSHAKES}, "2026-07-28": NEWEST, "1999-01-01": NEWEST, "": NEWEST}


@pytest.mark.parametrize(("asked", "given"), VERSIONS.items())
def test_a_handshake_agrees_on_the_clients_version_or_the_newest(asked: str, given: str) -> None:
    found = Session(version=None).result(hello(asked))
    assert found["protocolVersion"] == given
    assert found["capabilities"] == {"tools": {}}
    assert found["serverInfo"]["name"] == "popkit"
    assert ("title" in found["serverInfo"]) == (given >= "2025-06-18")


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, {"protocolVersion": None}])
def test_a_handshake_without_a_version_is_refused_and_can_be_tried_again(params: dict) -> None:
    session = Session(version=None)
    assert session.error(request("initialize", params))[0] == rpc.INVALID_PARAMS
    assert session.result(hello())["protocolVersion"] == NEWEST


def test_nothing_but_ping_is_answered_before_the_handshake() -> None:
    session = Session(version=None)
    assert session.result(request("ping")) == {}
    code, said = session.error(request("tools/list"))
    assert (code, said) == (rpc.INVALID_REQUEST, 'send initialize before "tools/list"')
    assert session.error(request("server/discover"))[0] == rpc.INVALID_REQUEST


def test_a_second_handshake_is_refused() -> None:
    assert Session().error(hello())[0] == rpc.INVALID_REQUEST


@pytest.mark.parametrize("id", [0, -1, 1.5, "", "a", "null", 2**60])
def test_an_answer_has_the_id_of_its_request(id: object) -> None:
    assert Session().answer(request("ping", id=id)) == {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.parametrize("method", ["nonsense", "resources/list", "", "server/discover", "notifications/initialized"])
def test_a_method_that_is_unknown_says_which_are_known(method: str) -> None:
    code, said = Session().error(request(method))
    assert code == rpc.METHOD_NOT_FOUND
    assert "Known: initialize, ping" in said


@pytest.mark.parametrize(
    "message",
    [
        notice("notifications/initialized"),
        notice("notifications/cancelled"),
        notice("notifications/cancelled", {"requestId": [1]}),
        notice("notifications/nonsense", [1, 2]),
        notice("ping"),
        notice("tools/call", {"name": "echo"}),
        {"jsonrpc": "2.0", "id": 5, "result": {}},
    ],
)
def test_notifications_and_answers_are_never_answered(message: dict) -> None:
    assert Session().answers(message) == []


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "params.name must be a tool's name"),
        ({"name": 1}, "params.name must be a tool's name"),
        ({"name": "nonsense"}, 'unknown tool "nonsense"'),
        ({"name": "echo\n" * 100}, "unknown tool"),
        ({"name": "echo", "arguments": [1]}, "params.arguments must be an object"),
    ],
)
def test_a_call_that_is_none_is_a_protocol_error(params: dict, said: str) -> None:
    code, message = Session().error(request("tools/call", params))
    assert code == rpc.INVALID_PARAMS
    assert said in message
    assert message.isprintable()


def test_a_cursor_is_refused_for_all_tools_are_on_one_page() -> None:
    assert Session().error(request("tools/list", {"cursor": "x"}))[0] == rpc.INVALID_PARAMS


# --- requests that speak for themselves ---------------------------------------------------------------------------------------------------


def test_a_request_of_the_stateless_revision_needs_no_handshake() -> None:
    session = Session(version=None)
    found = session.result(enveloped(request("server/discover")))
    assert found["supportedVersions"] == [STATELESS]
    assert (found["resultType"], found["capabilities"], found["cacheScope"]) == ("complete", {"tools": {}}, "private")
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "popkit"
    called = session.result(enveloped(tool_call("echo", {"a": 1})))
    assert called["resultType"] == "complete"
    assert "ttlMs" not in called
    assert session.result(enveloped(request("tools/list")))["ttlMs"] > 0


def test_a_request_of_an_unknown_revision_is_told_which_there_are() -> None:
    error = Session(version=None).answer(enveloped(request("server/discover"), "2031-01-01"))["error"]
    assert error["code"] == dialects.UNSUPPORTED_VERSION
    assert error["data"] == {"supported": [STATELESS], "requested": "2031-01-01"}


@pytest.mark.parametrize("more", [{"io.modelcontextprotocol/clientCapabilities": 1}, {"io.modelcontextprotocol/protocolVersion": 5}])
def test_a_request_that_half_says_its_revision_is_told_what_is_missing(more: dict) -> None:
    code, said = Session(version=None).error(enveloped(request("tools/list"), STATELESS, **more))
    assert code == rpc.INVALID_PARAMS
    assert "clientCapabilities" in said


def test_a_client_that_has_asked_what_there_is_may_still_shake_hands() -> None:
    session = Session(version=None)
    session.result(enveloped(request("server/discover")))
    assert session.result(hello())["protocolVersion"] == NEWEST


# --- batches ------------------------------------------------------------------------------------------------------------------------------


def test_a_batch_is_answered_at_once_and_in_full() -> None:
    batch = [request("ping", id=1), notice("notifications/x"), tool_call("echo", {"a": 2}, id="two"), 5, request("nonsense", id=3)]
    (answers,) = Session(version="2025-03-26").answers(batch)
    found = {answer["id"]: answer for answer in answers}
    assert len(answers) == 4
    assert found[1]["result"] == {}
    assert found["two"]["result"]["content"][0]["text"] == '{"a": 2}'
    assert found[3]["error"]["code"] == rpc.METHOD_NOT_FOUND
    assert found[None]["error"]["code"] == rpc.INVALID_REQUEST


def test_a_batch_of_notifications_is_not_answered() -> None:
    assert Session(version="2025-03-26").answers([notice("a"), notice("b")]) == []


def test_an_empty_batch_and_a_handshake_in_one_are_refused() -> None:
    session = Session(version="2025-03-26")
    assert session.answer([])["error"]["code"] == rpc.INVALID_REQUEST
    assert session.answer([hello()])[0]["error"]["code"] == rpc.INVALID_REQUEST


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", None])
def test_other_revisions_know_no_batches(version: str | None) -> None:
    code, said = Session(version=version).error([request("ping")])
    assert code == rpc.INVALID_REQUEST
    assert "one message in a line" in said


# --- while a tool runs --------------------------------------------------------------------------------------------------------------------


def test_a_ping_is_answered_while_a_tool_runs() -> None:
    session = Session()
    session.feed(tool_call("wait", id=8))
    session.toolbox.started.wait()
    session.feed(request("ping", id=9))
    assert session.sent[-1] == {"jsonrpc": "2.0", "id": 9, "result": {}}
    session.toolbox.go_on.set()
    assert session.server.finish(60)
    assert session.sent[-1]["id"] == 8


@pytest.mark.parametrize("id", [8, "8"])
def test_a_call_that_is_cancelled_ends_and_is_not_answered(id: object) -> None:
    session = Session()
    session.feed(tool_call("wait", id=id), tool_call("echo", id="waits"))
    session.toolbox.started.wait()
    session.feed(notice("notifications/cancelled", {"requestId": "waits"}), notice("notifications/cancelled", {"requestId": id}))
    assert session.server.finish(60)
    assert len(session.sent) == 1  # the handshake's
    assert session.result(tool_call("echo", {"on": "and on"}))["content"]


def test_a_cancellation_of_another_id_cancels_nothing() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1))
    session.toolbox.started.wait()
    for id in ("1", 2, True, None, [1]):
        session.feed(notice("notifications/cancelled", {"requestId": id}))
    session.toolbox.go_on.set()
    assert session.server.finish(60)
    assert session.sent[-1]["id"] == 1


def test_a_cancelled_call_of_a_batch_keeps_the_others_from_nobody() -> None:
    session = Session(version="2025-03-26")
    session.feed([tool_call("wait", id=1), tool_call("echo", id=2)])
    session.toolbox.started.wait()
    session.feed(notice("notifications/cancelled", {"requestId": 1}))
    assert session.server.finish(60)
    assert [answer["id"] for answer in session.sent[-1]] == [2]


def test_an_id_that_is_in_use_is_refused() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1))
    session.toolbox.started.wait()
    session.feed(tool_call("echo", id=1))
    assert session.sent[-1]["error"]["code"] == rpc.INVALID_REQUEST
    session.toolbox.go_on.set()
    assert session.server.finish(60)


def test_an_id_can_be_used_again_as_soon_as_its_answer_is_there() -> None:
    session = Session(version=None)
    told: list[dict] = []

    def send(answer: dict) -> None:
        told.append(answer)
        if 0 < len(told) < 50:  # from the thread of the tool itself: sooner nobody can
            session.server.take(json.dumps(tool_call("echo", id=1)).encode())

    session.server = Server(session.toolbox, send, "1")
    session.feed(hello())
    until(lambda: len(told) == 50, "50 answers")
    assert all("result" in answer for answer in told)


def test_progress_is_told_where_it_is_asked_for_and_rises() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1, progressToken="t"))
    until(lambda: len(session.sent) > 4, "progress")
    session.toolbox.go_on.set()
    assert session.server.finish(60)
    told = [message["params"] for message in session.sent if message.get("method") == "notifications/progress"]
    assert {each["progressToken"] for each in told} == {"t"}
    steps = [each["progress"] for each in told]
    assert steps == sorted(set(steps))
    assert session.sent[-1]["id"] == 1


def test_progress_that_nobody_asked_for_is_not_told() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1))
    until(lambda: session.toolbox.steps > 3, "steps")
    session.toolbox.go_on.set()
    assert session.server.finish(60)
    assert len(session.sent) == 2


def test_a_server_that_is_ended_cancels_what_runs() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1))
    session.toolbox.started.wait()
    assert session.server.finish(0) or session.server.finish(60)
    assert len(session.sent) == 1
