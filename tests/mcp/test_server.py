"""One connection: handshakes of all revisions, requests that speak for themselves, batches, cancellation, progress; and JSON-RPC in lines:
what a message is, and what is said of one that is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.mcp import json_rpc
from popkit_retention.mcp.json_rpc import Lines, ProtocolFault
from popkit_retention.mcp.revisions import HANDSHAKES, UNSUPPORTED_VERSION
from popkit_retention.mcp.server import Server
from tests.mcp.talking import NEWEST, STATELESS, Session, enveloped, hello, notice, request, tool_call
from tests.patience import until

VERSIONS = {**{version: version for version in HANDSHAKES}, "2026-07-28": NEWEST, "1999-01-01": NEWEST, "": NEWEST}


@pytest.mark.parametrize(("asked", "given"), VERSIONS.items())
def test_a_handshake_agrees_on_the_clients_version_or_the_newest(asked: str, given: str) -> None:
    result = Session(version=None).result(hello(asked))
    assert result["protocolVersion"] == given
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "popkit"
    assert ("title" in result["serverInfo"]) == (given >= "2025-06-18")


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, {"protocolVersion": None}])
def test_a_handshake_without_a_version_is_refused_and_can_be_tried_again(params: dict) -> None:
    session = Session(version=None)
    assert session.error(request("initialize", params))[0] == json_rpc.INVALID_PARAMS
    assert session.result(hello())["protocolVersion"] == NEWEST


def test_nothing_but_ping_is_answered_before_the_handshake() -> None:
    session = Session(version=None)
    assert session.result(request("ping")) == {}
    code, message = session.error(request("tools/list"))
    assert (code, message) == (json_rpc.INVALID_REQUEST, 'send initialize before "tools/list"')
    assert session.error(request("server/discover"))[0] == json_rpc.INVALID_REQUEST


def test_a_second_handshake_is_refused() -> None:
    assert Session().error(hello())[0] == json_rpc.INVALID_REQUEST


@pytest.mark.parametrize("id", [0, -1, 1.5, "", "a", "null", 2**60])
def test_an_answer_has_the_id_of_its_request(id: object) -> None:
    assert Session().answer(request("ping", id=id)) == {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.parametrize("method", ["nonsense", "resources/list", "", "server/discover", "notifications/initialized"])
def test_a_method_that_is_unknown_says_which_are_known(method: str) -> None:
    code, message = Session().error(request(method))
    assert code == json_rpc.METHOD_NOT_FOUND
    assert "Known: initialize, ping" in message


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
    ("params", "expected"),
    [
        ({}, "params.name must be a tool's name"),
        ({"name": 1}, "params.name must be a tool's name"),
        ({"name": "nonsense"}, 'unknown tool "nonsense"'),
        ({"name": "echo\n" * 100}, "unknown tool"),
        ({"name": "echo", "arguments": [1]}, "params.arguments must be an object"),
    ],
)
def test_a_call_that_is_none_is_a_protocol_error(params: dict, expected: str) -> None:
    code, message = Session().error(request("tools/call", params))
    assert code == json_rpc.INVALID_PARAMS
    assert expected in message
    assert message.isprintable()


def test_a_cursor_is_refused_for_all_tools_are_on_one_page() -> None:
    assert Session().error(request("tools/list", {"cursor": "x"}))[0] == json_rpc.INVALID_PARAMS


# --- requests that speak for themselves ---------------------------------------------------------------------------------------------------


def test_a_request_of_the_stateless_revision_needs_no_handshake() -> None:
    session = Session(version=None)
    result = session.result(enveloped(request("server/discover")))
    assert result["supportedVersions"] == [STATELESS]
    assert (result["resultType"], result["capabilities"], result["cacheScope"]) == ("complete", {"tools": {}}, "private")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "popkit"
    called = session.result(enveloped(tool_call("echo", {"a": 1})))
    assert called["resultType"] == "complete"
    assert "ttlMs" not in called
    assert session.result(enveloped(request("tools/list")))["ttlMs"] > 0


def test_a_request_of_an_unknown_revision_is_told_which_there_are() -> None:
    error = Session(version=None).answer(enveloped(request("server/discover"), "2031-01-01"))["error"]
    assert error["code"] == UNSUPPORTED_VERSION
    assert error["data"] == {"supported": [STATELESS], "requested": "2031-01-01"}


@pytest.mark.parametrize("more", [{"io.modelcontextprotocol/clientCapabilities": 1}, {"io.modelcontextprotocol/protocolVersion": 5}])
def test_a_request_that_half_says_its_revision_is_told_what_is_missing(more: dict) -> None:
    code, message = Session(version=None).error(enveloped(request("tools/list"), STATELESS, **more))
    assert code == json_rpc.INVALID_PARAMS
    assert "clientCapabilities" in message


def test_a_client_that_has_asked_what_there_is_may_still_shake_hands() -> None:
    session = Session(version=None)
    session.result(enveloped(request("server/discover")))
    assert session.result(hello())["protocolVersion"] == NEWEST


# --- batches ------------------------------------------------------------------------------------------------------------------------------


def test_a_batch_is_answered_at_once_and_in_full() -> None:
    batch = [request("ping", id=1), notice("notifications/x"), tool_call("echo", {"a": 2}, id="two"), 5, request("nonsense", id=3)]
    (answers,) = Session(version="2025-03-26").answers(batch)
    by_id = {answer["id"]: answer for answer in answers}
    assert len(answers) == 4
    assert by_id[1]["result"] == {}
    assert by_id["two"]["result"]["content"][0]["text"] == '{"a": 2}'
    assert by_id[3]["error"]["code"] == json_rpc.METHOD_NOT_FOUND
    assert by_id[None]["error"]["code"] == json_rpc.INVALID_REQUEST


def test_a_batch_of_notifications_is_not_answered() -> None:
    assert Session(version="2025-03-26").answers([notice("a"), notice("b")]) == []


def test_an_empty_batch_and_a_handshake_in_one_are_refused() -> None:
    session = Session(version="2025-03-26")
    assert session.answer([])["error"]["code"] == json_rpc.INVALID_REQUEST
    assert session.answer([hello()])[0]["error"]["code"] == json_rpc.INVALID_REQUEST


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", None])
def test_other_revisions_know_no_batches(version: str | None) -> None:
    code, message = Session(version=version).error([request("ping")])
    assert code == json_rpc.INVALID_REQUEST
    assert "one message in a line" in message


# --- while a tool runs --------------------------------------------------------------------------------------------------------------------


def test_a_ping_is_answered_while_a_tool_runs() -> None:
    session = Session()
    session.begin(8)
    session.feed(request("ping", id=9))
    assert session.sent[-1] == {"jsonrpc": "2.0", "id": 9, "result": {}}
    session.let_end()
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
    session.begin()
    for id in ("1", 2, True, None, [1]):
        session.feed(notice("notifications/cancelled", {"requestId": id}))
    session.let_end()
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
    session.begin()
    session.feed(tool_call("echo", id=1))
    assert session.sent[-1]["error"]["code"] == json_rpc.INVALID_REQUEST
    session.let_end()


def test_an_id_can_be_used_again_as_soon_as_its_answer_is_there() -> None:
    session = Session(version=None)
    answers: list[dict] = []

    def send(answer: dict) -> None:
        answers.append(answer)
        if 0 < len(answers) < 50:  # from the thread of the tool itself: sooner nobody can
            session.server.take(json.dumps(tool_call("echo", id=1)).encode())

    session.server = Server(session.toolbox, send, "1")
    session.feed(hello())
    until(lambda: len(answers) == 50, "50 answers")
    assert all("result" in answer for answer in answers)


def test_progress_is_reported_where_it_is_asked_for_and_rises() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1, progressToken="t"))
    until(lambda: len(session.sent) > 4, "progress")
    session.let_end()
    notifications = [message["params"] for message in session.sent if message.get("method") == "notifications/progress"]
    assert {notification["progressToken"] for notification in notifications} == {"t"}
    steps = [notification["progress"] for notification in notifications]
    assert steps == sorted(set(steps))
    assert session.sent[-1]["id"] == 1


def test_progress_that_nobody_asked_for_is_not_reported() -> None:
    session = Session()
    session.feed(tool_call("wait", id=1))
    until(lambda: session.toolbox.steps > 3, "steps")
    session.let_end()
    assert len(session.sent) == 2


def test_a_server_that_is_ended_cancels_what_runs() -> None:
    session = Session()
    session.begin()
    assert session.server.finish(0) or session.server.finish(60)
    assert len(session.sent) == 1


# --- messages ----------------------------------------------------------------------------------------------------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
NO_JSON = {
    b"{": "not JSON",
    b"{} {}": "not JSON",
    b"nonsense": "not JSON",
    b"\xff\xfe": "not UTF-8",
    b"\xef\xbb\xbf{}": "not JSON",
    b'{"id": NaN}': "NaN is not a number",
    b"[Infinity]": "Infinity is not a number",
    b"[-Infinity]": "-Infinity is not a number",
    b"[1e999]": "too large",
    b'{"id": 1, "id": 2}': 'the key "id" occurs twice',
    b"[" * 200_000: "nested too deeply",
    b"[" + b"9" * 10_000 + b"]": "not JSON",
    b'"\x01"': "not JSON",
}


@pytest.mark.parametrize(("line", "reason"), NO_JSON.items(), ids=lambda value: str(value)[:24])
def test_what_is_no_json_is_a_parse_error_that_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(ProtocolFault) as raised:
        json_rpc.read(line)
    assert (raised.value.code, raised.value.id) == (json_rpc.PARSE_ERROR, None)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 200


NO_MESSAGE = [
    (1, "an object, not a number", None),
    ("x", "an object, not a text", None),
    (None, "an object, not null", None),
    ({}, 'jsonrpc must be "2.0"', None),
    ({"jsonrpc": "1.0", "id": 7, "method": "ping"}, 'jsonrpc must be "2.0"', 7),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, "id must be a text or a number, not null", None),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, "not true or false", None),
    ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, "not an object", None),
    ({"jsonrpc": "2.0", "id": "a"}, "method must be a text, not null", "a"),
    ({"jsonrpc": "2.0", "method": 1, "params": "bar"}, "method must be a text, not a number", None),
]


@pytest.mark.parametrize(("value", "reason", "id"), NO_MESSAGE)
def test_what_is_no_message_is_an_invalid_request_under_the_id_that_it_has(value: object, reason: str, id: object) -> None:
    with pytest.raises(ProtocolFault, match=reason) as raised:
        json_rpc.message_of(value)
    assert raised.value.answer()["error"]["code"] == json_rpc.INVALID_REQUEST
    assert raised.value.answer()["id"] == id


def test_params_of_a_request_are_an_object() -> None:
    with pytest.raises(ProtocolFault, match="params must be an object, not a list") as raised:
        json_rpc.message_of({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]})
    assert (raised.value.code, raised.value.id) == (json_rpc.INVALID_PARAMS, 3)
    assert json_rpc.message_of({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}) is None


@pytest.mark.parametrize("answer", [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": None, "error": {"code": 1}}])
def test_an_answer_that_nobody_asked_for_is_no_message(answer: dict) -> None:
    assert json_rpc.message_of(answer) is None


@given(JSON)
def test_what_is_sent_is_one_line_that_reads_as_the_same(value: object) -> None:
    line = json_rpc.encoded(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json_rpc.read(line) == value


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20), max_size=8), st.data())
def test_lines_are_the_same_however_the_bytes_are_cut(texts: list[str], data: st.DataObject) -> None:
    stream = "".join(text + "\n" for text in texts).encode()
    lines, read = Lines(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        read += lines.feed(stream[:size])
        stream = stream[size:]
    assert [line.decode().strip() for line in read] == [text.strip() for text in texts if text.encode().strip()]
    assert lines.rest() == b""


@given(st.integers(1, 40))
def test_a_line_that_is_too_long_is_reported_once_and_passed_over(size: int) -> None:
    stream = b"ab\n" + b"x" * 100 + b"\ncd\nrest"
    lines, read = Lines(longest=20), []
    for at in range(0, len(stream), size):
        read += lines.feed(stream[at : at + size])
    first, fault, last = read
    assert (first, last, lines.rest()) == (b"ab", b"cd", b"rest")
    assert fault.code == json_rpc.INVALID_REQUEST
    assert "longer than 20 bytes and was skipped" in str(fault)


def test_a_line_of_the_longest_size_is_read() -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * 1_000_000}}).encode()
    assert [len(line) for line in Lines().feed(message + b"\n")] == [len(message)]
    assert Lines(len(message)).feed(message + b"\n") == [message]
