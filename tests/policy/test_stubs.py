"""What stands for what a compaction left out: still valid, known again, and the way back from it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.list_text import folded, handle_of_fold
from popkit_retention.core.policy.messages import ASSISTANT, USER, Message, ShownResult, Use, paired
from popkit_retention.core.policy.placeholder import placeholder, with_outline
from popkit_retention.core.policy.returning import put_back
from popkit_retention.core.policy.stubs import LEAST_STUBBED, handle_of_stub, long_fields, replaced_fields, stub, stub_with_names
from tests.policy.compactable import plain
from tests.policy.test_placeholder import HANDLES

LONG = "const total = items.reduce((sum, item) => sum + item.price, 0);\n" * 20
OTHER = "let total = 0;\n" * 60
CALLS = {
    "Write": {"file_path": "/p/a.ts", "content": LONG},
    "Edit": {"file_path": "/p/a.ts", "old_string": LONG, "new_string": OTHER, "replace_all": True},
    "NotebookEdit": {"notebook_path": "/p/a.ipynb", "cell_id": "c1", "cell_type": "code", "edit_mode": "replace", "new_source": LONG},
}
# What each tool asks of its input, all of it text.
ASKED = {
    "Write": ("file_path", "content"),
    "Edit": ("file_path", "old_string", "new_string"),
    "NotebookEdit": ("notebook_path", "new_source"),
}
LONG_FIELDS = {tool: TOOLS.of(tool).on_disk for tool in CALLS}
CALL = pytest.mark.parametrize("tool", sorted(CALLS))
TEXTS = st.text(max_size=60) | st.sampled_from([LONG, OTHER, "", "語" * 500, "\x00\x1b[31m" * 200, "]" * 600])
HOSTILE = st.one_of(
    st.text(max_size=300),
    st.text(st.sampled_from("[]();:\n\r\t\x00\x1b\u2028 popkit restore"), max_size=120),
    st.sampled_from(["x" * 10_000, "[PopKit left out ", "]: popkit restore aaaaaaaa]", "", "語" * 200, "\ud800", "a\u202eb"]),
)


def call(id: str = "T1", tool: str = "Bash", given: dict | None = None, text: str = "ok") -> list[Message]:
    return [Message(ASSISTANT, "", [Use(id, TOOLS.of(tool), given or {"command": id})]), Message(USER, "", (), [ShownResult(id, text)])]


# --- of a call ----------------------------------------------------------------------------------------------------------------------


def is_valid(tool: str, given: dict) -> bool:
    """Whether a tool would take this input."""
    filled = all(isinstance(given.get(name), str) and given[name] for name in ASKED[tool])
    return filled and (tool != "Edit" or given["old_string"] != given["new_string"])


@CALL
def test_a_stub_is_an_input_that_its_tool_takes(tool: str):
    short = stub(Use("T1", TOOLS.of(tool), CALLS[tool]), "abcd2345")
    assert is_valid(tool, short)
    assert set(short) == set(CALLS[tool])
    assert {name: value for name, value in short.items() if name not in LONG_FIELDS[tool]} == {
        name: value for name, value in CALLS[tool].items() if name not in LONG_FIELDS[tool]
    }, "paths and settings stand as they were"
    assert len(json.dumps(short)) < len(json.dumps(CALLS[tool])) / 2


@CALL
def test_it_says_in_the_field_what_is_left_out_and_how_it_comes_back(tool: str):
    text = stub(Use("T1", TOOLS.of(tool), CALLS[tool]), "abcd2345")[LONG_FIELDS[tool][0]]
    assert LONG_FIELDS[tool][0] in text
    assert "disk" in text
    assert "popkit restore abcd2345" in text


@given(st.sampled_from(sorted(CALLS)), TEXTS, TEXTS, HANDLES)
def test_whatever_its_fields_hold_a_stub_is_valid_shorter_and_names_its_handle(tool: str, one: str, other: str, handle: str):
    fields = dict(zip(LONG_FIELDS[tool], (one, other)))
    use = Use("T1", TOOLS.of(tool), {**CALLS[tool], **fields})
    if long_fields(use):
        short = stub(use, handle)
        assert is_valid(tool, short)
        assert handle_of_stub(Use("T1", TOOLS.of(tool), short)) == handle
        assert sum(len(short[name]) for name in fields) < sum(map(len, fields.values()))
        assert long_fields(Use("T1", TOOLS.of(tool), short)) == [], "a stub is not left out once more"
    else:
        assert sum(map(len, fields.values())) < LEAST_STUBBED


def test_of_an_edit_what_it_has_replaced_can_leave_alone_and_all_of_it_comes_back():
    edit = Use("T1", TOOLS.of("Edit"), CALLS["Edit"])
    short = stub(edit, "abcd2345", replaced_fields(edit))
    assert replaced_fields(edit) == ["old_string"]
    assert {name for name in short if short[name] != CALLS["Edit"][name]} == {"old_string"}
    assert is_valid("Edit", short)
    whole = call("T1", "Edit", CALLS["Edit"])
    assert plain(put_back(call("T1", "Edit", short), {"abcd2345": CALLS["Edit"]}.get, TOOLS)) == plain(whole)


def test_what_has_left_in_part_leaves_no_second_time():
    edit = Use("T1", TOOLS.of("Edit"), CALLS["Edit"])
    short = Use("T1", TOOLS.of("Edit"), stub(edit, "abcd2345", replaced_fields(edit)))
    assert (long_fields(short), replaced_fields(short)) == ([], [])


@pytest.mark.parametrize("tool", ["Write", "NotebookEdit"])
def test_what_is_written_whole_has_replaced_nothing_that_it_holds(tool: str):
    assert replaced_fields(Use("T1", TOOLS.of(tool), CALLS[tool])) == []


@CALL
@given(HANDLES, st.lists(st.from_regex(r"[a-z][a-z0-9_./:@-]{10,40}[a-z]", fullmatch=True), min_size=1, max_size=5), st.integers(1, 12))
def test_a_stub_with_names_behind_it_is_known_and_comes_back(tool: str, handle: str, names: list[str], times: int):
    names = names * times
    whole = Use("T1", TOOLS.of(tool), CALLS[tool])
    short = Use("T1", TOOLS.of(tool), stub_with_names(Use("T1", TOOLS.of(tool), stub(whole, handle)), names))
    assert is_valid(tool, short.input)
    assert handle_of_stub(short) == handle
    assert short.input[LONG_FIELDS[tool][-1]].endswith("\n" + " ".join(names))
    assert long_fields(short) == []
    assert plain(put_back(call("T1", tool, short.input), {handle: CALLS[tool]}.get, TOOLS)) == plain(call("T1", tool, CALLS[tool]))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": LONG}),
        ("Task", {"prompt": LONG}),
        ("Write", {"file_path": "/p/a", "content": "x" * (LEAST_STUBBED - 1)}),
        ("Edit", {"file_path": "/p/a", "old_string": "x" * 200, "new_string": "y" * 199}),
        ("Write", {"file_path": "/p/a"}),
        ("Write", {"file_path": "/p/a", "content": None}),
        ("Write", {"file_path": "/p/a", "content": [LONG]}),
        ("MultiEdit", {"file_path": "/p/a", "edits": [{"old_string": LONG, "new_string": OTHER}]}),
    ],
)
def test_what_has_no_effect_on_disk_is_short_or_is_no_text_stays(tool: str, given: dict):
    assert long_fields(Use("T1", TOOLS.of(tool), given)) == []


@CALL
def test_an_input_that_is_whole_names_no_handle(tool: str):
    assert handle_of_stub(Use("T1", TOOLS.of(tool), CALLS[tool])) == ""
    assert handle_of_stub(Use("T1", TOOLS.of("Bash"), stub(Use("T1", TOOLS.of(tool), CALLS[tool]), "abcd2345"))) == "", (
        "nor does one of another tool"
    )


def test_a_stub_leaves_the_call_as_it_was():
    before = json.dumps(CALLS["Edit"])
    stub(Use("T1", TOOLS.of("Edit"), CALLS["Edit"]), "abcd2345")
    assert json.dumps(CALLS["Edit"]) == before


# --- of whole calls ---------------------------------------------------------------------------------------------------------------


def test_one_line_replaces_whole_calls_and_says_what_they_were():
    line = folded(["Read a.ts", "Bash npm test"], "abcd2345")
    assert (line.role, line.text) == (USER, "[PopKit left out Read a.ts; Bash npm test: popkit restore abcd2345]")


def test_what_was_called_several_times_is_named_once():
    line = folded(["Edit a.ts", "Bash npm test", "Edit a.ts", "Edit a.ts"], "abcd2345").text
    assert line == "[PopKit left out Edit a.ts (3 times); Bash npm test: popkit restore abcd2345]"


def test_names_stand_behind_the_calls_that_they_were_in():
    line = folded(["Bash npm test"], "abcd2345", ["cartTotalsOf", "src/a:12"])
    assert line.text == "[PopKit left out Bash npm test; in them: cartTotalsOf src/a:12: popkit restore abcd2345]"
    assert handle_of_fold(line.text) == "abcd2345"


def test_calls_that_a_list_does_not_name_are_counted():
    text = folded(["Read a.ts"], "abcd2345", unnamed=28).text
    assert text == "[PopKit left out Read a.ts; and 28 more: popkit restore abcd2345]"
    assert folded([], "abcd2345", unnamed=28).text == "[PopKit left out 28 calls: popkit restore abcd2345]"
    assert folded([], "abcd2345", unnamed=1).text == "[PopKit left out 1 call: popkit restore abcd2345]"


@given(st.lists(HOSTILE, max_size=20), HANDLES)
def test_whatever_the_labels_hold_it_is_one_line_that_names_its_handle(labels: list[str], handle: str):
    message = folded(labels, handle)
    assert handle_of_fold(message.text) == handle
    assert message.text.isprintable()
    assert len(message.text) < 20 * (92 + len(" (20 times)")) + 120
    assert paired([message])[0].to_json() == message.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "", "go", "[PopKit left out Read a.ts]",
        "see [PopKit left out Read a.ts: popkit restore abcd2345]",
        "[PopKit left out Read a.ts: popkit restore abcd2345] and more",
        "[PopKit left out Read a.ts: popkit restore abc]",
        "[PopKit left out Read a.ts: popkit restore ABCD2345]",
        "[PopKit left out Read a.ts: popkit restore abcd2345; rm x]",
        placeholder("Read a.ts", "old", "abcd2345"),
    ],
)  # fmt: skip
def test_a_text_that_quotes_one_is_none(text: str):
    assert handle_of_fold(text) == ""


# --- back ---------------------------------------------------------------------------------------------------------------------------


@CALL
@given(TEXTS, HANDLES)
def test_a_call_comes_back_as_it_was(tool: str, text: str, handle: str):
    given = {**CALLS[tool], LONG_FIELDS[tool][0]: LONG + text}
    whole = call("T1", tool, given)
    short = [Message(ASSISTANT, "", [Use("T1", TOOLS.of(tool), stub(whole[0].uses[0], handle))]), whole[1]]
    assert plain(put_back(short, {handle: given}.get, TOOLS)) == plain(whole)
    assert plain(put_back(short, {}.get, TOOLS)) == plain(short)


@given(TEXTS, HANDLES, st.sampled_from(["", "src/auth/session.ts handleCheckout7"]), st.booleans())
def test_a_result_comes_back_as_it_was(text: str, handle: str, outline: str, error: bool):
    short = call(text=with_outline(placeholder("Bash T1", "old", handle), outline))
    short[1].results[0].error = error
    whole = call(text=text)
    whole[1].results[0].error = error
    assert plain(put_back(short, {handle: text}.get, TOOLS)) == plain(whole)
    assert plain(put_back(short, {}.get, TOOLS)) == plain(short)


def test_whole_calls_come_back_in_place_with_what_had_left_of_them_earlier():
    write = {"file_path": "/p/a.ts", "content": LONG}
    whole = [
        Message(USER, "go"), *call("T1", text=LONG), *call("T2", "Write", write, LONG), Message(ASSISTANT, "done"), *call("T3"),
    ]  # fmt: skip
    away = [
        *call("T1", text=placeholder("Bash T1", "old", "bbbb2345")),
        *call("T2", "Write", stub(Use("T2", TOOLS.of("Write"), write), "cccc2345"), placeholder("Write a.ts", "old", "dddd2345")),
    ]
    standing = [whole[0], folded(["Bash T1", "Write a.ts"], "aaaa2345"), *whole[5:]]
    archive = {"aaaa2345": plain(away), "bbbb2345": LONG, "cccc2345": write, "dddd2345": LONG}
    assert plain(put_back(standing, archive.get, TOOLS)) == plain(whole)
    only_the_calls = put_back(standing, {"aaaa2345": plain(away)}.get, TOOLS)
    assert plain(only_the_calls) == plain([whole[0], *away, *whole[5:]]), "what left of them before stays out until it is asked for"
    assert plain(put_back(only_the_calls, archive.get, TOOLS)) == plain(whole)


def test_words_and_everything_else_stay_letter_for_letter():
    messages = [Message(USER, " a\n"), Message(ASSISTANT, "\x1b[1m語"), *call(given={"command": "ls", "n": [1, None]}, text="")]
    assert plain(put_back(messages, lambda handle: "never asked for", TOOLS)) == plain(messages)


LOOKS_LIKE_ONE = placeholder("Read a.ts", "old", "abcd2345")


def test_what_merely_looks_like_one_stays_when_its_handle_is_not_asked_for():
    messages = [
        Message(USER, folded(["Read a.ts"], "abcd2345").text),
        *call("T1", text=LOOKS_LIKE_ONE),
        *call("T2", "Write", {"file_path": "/p/a", "content": LOOKS_LIKE_ONE}),
    ]
    asked: list[str] = []
    assert plain(put_back(messages, asked.append, TOOLS)) == plain(messages)
    assert set(asked) == {"abcd2345"}


@pytest.mark.parametrize("content", ["the text of a result", {"command": "ls"}, [{"role": "user", "text": "go"}]])
def test_only_what_can_stand_in_a_place_comes_back_there(content: object):
    """The content of a file that a call wrote may be the placeholder of a result."""
    messages = [
        *call("T1", text=LOOKS_LIKE_ONE),
        *call("T2", "Write", {"file_path": "/p/a", "content": LOOKS_LIKE_ONE}),
        Message(USER, folded(["Read a.ts"], "abcd2345").text),
    ]
    back = put_back(messages, {"abcd2345": content}.get, TOOLS)
    assert isinstance(back[1].results[0].text, str)
    assert isinstance(back[2].uses[0].input, dict)
    came = [plain(back)[at] != plain(messages)[at] for at in (1, 2, 4)]
    assert came == [isinstance(content, kind) for kind in (str, dict, list)]


def test_what_was_taken_from_one_call_never_comes_back_in_another():
    write = {"file_path": "/p/a", "content": LONG}
    forged = stub(Use("T2", TOOLS.of("Write"), write), "cccc2345")
    messages = [
        *call("T1", text=LOOKS_LIKE_ONE), *call("T2", "Write", forged, LOOKS_LIKE_ONE),
        *call("T3", "Write", forged, LOOKS_LIKE_ONE), Message(USER, folded(["Read a.ts"], "eeee2345").text),
    ]  # fmt: skip
    archive = {"abcd2345": LONG, "cccc2345": write, "eeee2345": plain(call("T4"))}
    ids = {"abcd2345": "T1", "cccc2345": "T3", "eeee2345": "T4"}
    back = put_back(messages, archive.get, TOOLS, lambda handle, call: ids[handle] == call)
    whole = [*call("T1", text=LONG), *messages[2:4], *call("T3", "Write", write, LOOKS_LIKE_ONE), messages[-1]]
    assert plain(back) == plain(whole)


def test_a_user_who_quotes_the_line_brings_no_call_back_twice():
    line = folded(["Bash T1"], "abcd2345").text
    messages = [Message(USER, line), Message(ASSISTANT, line), Message(USER, line)]
    back = put_back(messages, {"abcd2345": plain(call())}.get, TOOLS)
    assert plain(back) == plain([*call(), *messages[1:]])
    assert plain(paired(back)) == plain(back)


def test_what_is_put_back_into_is_left_as_it_was():
    short = call(text=LOOKS_LIKE_ONE)
    put_back(short, {"abcd2345": "x"}.get, TOOLS)
    assert short[1].results[0].text == LOOKS_LIKE_ONE
