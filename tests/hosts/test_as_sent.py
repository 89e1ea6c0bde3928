"""A conversation as the client sends it: what is carried as whose words, what is not said twice, and what is not understood."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts.as_sent import MOST_MESSAGES, SentConversation, read, text_of
from popkit_retention.core.hosts.transcripts.attachments import SAID_AGAIN, Attachments
from popkit_retention.core.policy.messages import ASSISTANT, USER, MessagesNotUnderstood

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
IMAGE, DOCUMENT = {"type": "image", "source": PIXEL}, {"type": "document", "source": {**PIXEL, "media_type": "application/pdf"}}
REFERENCE = {"type": "tool_reference", "tool_name": "WebFetch"}
QUEUED = "The user sent a new message while you were working:\nnever touch secret.cfg\n\nThis is how Claude Code surfaces messages."


def reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


def said(text: str) -> dict:
    return {"type": "text", "text": text}


def user(*blocks: dict) -> dict:
    return {"role": USER, "content": list(blocks)}


def assistant(*blocks: dict) -> dict:
    return {"role": ASSISTANT, "content": list(blocks)}


def call(id: str, tool: str = "Bash", **tool_input: object) -> dict:
    return {"type": "tool_use", "id": id, "name": tool, "input": tool_input}


def result(id: str, content: object, error: bool = False) -> dict:
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error}


def row(role: str, text: str = "", uses: tuple = (), results: tuple = ()) -> dict:
    """What the client hands over of one entry; `uses`: (id, input), `results`: (id, text)."""
    return {
        "role": role, "text": text, "handle": "h",
        "toolUses": [{"tool_use_id": id, "tool": "Bash", "input": tool_input} for id, tool_input in uses],
        "toolResults": [{"tool_use_id": id, "text": text, "isError": False} for id, text in results],
    }  # fmt: skip


ROWS = [row(USER, "go"), row(ASSISTANT, "", (("t1", {"command": "ls"}),)), row(USER, "", (), (("t1", "two\t"),)), row(ASSISTANT, "done")]


def sent_with(*behind: dict, result_text: object = "two\t", before: tuple = ()) -> list[dict]:
    """ROWS as they are sent, with blocks behind the result, and before the prompt."""
    return [
        user(*before, said("go")), assistant(call("t1", command="ls")), user(result("t1", result_text), *behind), assistant(said("done"))
    ]  # fmt: skip


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text("")
    return path


def attach(path: Path, type: str, *rendered: str, **attachment: object) -> None:
    """Write an attachment, as the client does."""
    entry = {
        "parentUuid": "u1",
        "attachment": {"type": type, **attachment},
        "type": "attachment",
        "rendered": [{"content": text} for text in rendered],
    }
    with path.open("a") as file:
        file.write(json.dumps(entry, separators=(",", ":")) + "\n")


def reading(sent: object, rows: object = ROWS, transcript: Path | None = None) -> SentConversation:
    attachments = Attachments(str(transcript or "/nowhere"))
    attachments.thinking = "adaptive"
    if transcript:
        attachments.look()
        attachments.thinking = attachments.thinking or "adaptive"
    return read(sent, rows, TOOLS, attachments, lambda block: f"[{block['type']}]")


def words(conversation: SentConversation) -> list[str]:
    return [message.text for message in conversation.messages if message.text]


def test_a_conversation_of_words_calls_and_results_alone_is_its_rows():
    conversation = reading(sent_with())
    assert words(conversation) == ["go", "done"]
    assert [use.input for message in conversation.messages for use in message.uses] == [{"command": "ls"}]
    assert [(shown.id, shown.text) for message in conversation.messages for shown in message.results] == [("t1", "two\t")]
    assert (conversation.contents, conversation.lost, conversation.loaded) == ({}, set(), [])


def test_what_its_row_has_too_need_not_be_handed_over_twice():
    bare = [{"type": "tool_use", "id": "t1", "name": "Bash", "as_row": True}, {"type": "tool_result", "tool_use_id": "t1", "as_row": True}]
    conversation = reading([sent_with()[0], assistant(bare[0]), user(bare[1]), sent_with()[3]])
    assert [use.input for message in conversation.messages for use in message.uses] == [{"command": "ls"}]
    assert [(shown.id, shown.text) for message in conversation.messages for shown in message.results] == [("t1", "two\t")]
    for missing in ("tool_use", "tool_result"):
        unknown = [
            {**block, ("id" if missing == "tool_use" else "tool_use_id"): "t9"} if block["type"] == missing else block for block in bare
        ]
        with pytest.raises(MessagesNotUnderstood):
            reading([sent_with()[0], assistant(unknown[0]), user(unknown[1]), sent_with()[3]])


# --- what the client has added ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merged", [True, False])
def test_what_was_typed_in_mid_turn_stands_behind_its_result_as_the_persons_words(transcript: Path, merged: bool):
    attach(transcript, "queued_command", reminder(QUEUED), prompt=[said("never touch secret.cfg")], commandMode="prompt")
    sent = sent_with(result_text=f"two\n\n{reminder(QUEUED)}") if merged else sent_with(said(reminder(QUEUED)))
    conversation = reading(sent, transcript=transcript)
    assert words(conversation) == ["go", "never touch secret.cfg", "done"]
    assert conversation.messages[2].results[0].text == "two\t"


def test_before_it_is_in_the_transcript_typed_text_stands_in_the_client_s_words():
    assert words(reading(sent_with(result_text=f"two\n\n{reminder(QUEUED)}"))) == ["go", reminder(QUEUED), "done"]


@pytest.mark.parametrize(
    "delivery",
    [{"commandMode": "task-notification"}, {"commandMode": "prompt", "origin": {"kind": "plugin", "name": "other"}},
     {"commandMode": "prompt", "isMeta": True}, {"commandMode": "prompt", "origin": {}}],
)  # fmt: skip
def test_what_somebody_else_delivered_is_no_word_of_the_persons(transcript: Path, delivery: dict):
    report = reminder("[SYSTEM NOTIFICATION] Agent found: 42")
    attach(transcript, "queued_command", report, prompt="Agent found: 42", **delivery)
    assert words(reading(sent_with(said(report)), transcript=transcript)) == ["go", report, "done"]


@pytest.mark.parametrize("type", sorted(SAID_AGAIN))
def test_what_the_client_says_again_by_itself_is_not_carried(transcript: Path, type: str):
    attach(transcript, type, reminder("Always answer in Frisian."))
    sent = sent_with(before=(said(reminder("Always answer in Frisian.")),))
    assert words(reading(sent, transcript=transcript)) == ["go", "done"]


def test_everything_else_is_carried_where_it_stood(transcript: Path):
    attach(transcript, "file", reminder("Called the Read tool with a.py"), reminder("Result of calling the Read tool: x = 1"))
    attach(transcript, "nested_memory", reminder("Contents of sub/CLAUDE.md: whistle"))
    attach(transcript, "a_type_that_nobody_knows", reminder("beware"))
    sent = sent_with(
        said(reminder("beware")),
        result_text=f"two\n\n{reminder('Contents of sub/CLAUDE.md: whistle')}\n\n{reminder('by another plugin')}",
        before=(said(reminder("Called the Read tool with a.py")), said(reminder("Result of calling the Read tool: x = 1"))),
    )
    assert words(reading(sent, transcript=transcript)) == [
        reminder("Called the Read tool with a.py"), reminder("Result of calling the Read tool: x = 1"), "go",
        reminder("Contents of sub/CLAUDE.md: whistle"), reminder("by another plugin"), reminder("beware"), "done",
    ]  # fmt: skip


def test_of_what_the_client_recounts_only_the_newest_stands_and_the_rest_is_known(transcript: Path):
    counts = [reminder(f"{number} tokens left") for number in (300, 200, 100)]
    for count in counts:
        attach(transcript, "total_tokens_reminder", count)
    conversation = reading(sent_with(*map(said, counts)), transcript=transcript)
    assert words(conversation) == ["go", counts[-1], "done"]
    assert conversation.renewed == counts[:-1]


def test_what_is_carried_already_is_not_carried_twice():
    rules = reminder("Contents of sub/CLAUDE.md: whistle")
    rows = [ROWS[0], row(USER, rules), *ROWS[1:]]
    sent = sent_with(result_text=f"two\n\n{rules}", before=(said(rules),))
    assert words(reading(sent, rows)) == ["go", rules, "done"], "where it was said last"


def test_what_a_person_says_twice_stands_twice():
    rows = [*ROWS, row(USER, "go"), row(ASSISTANT, "yes")]
    assert words(reading([*sent_with(), user(said("go")), assistant(said("yes"))], rows)) == ["go", "done", "go", "yes"]


def test_the_text_of_a_skill_is_no_word_of_the_persons():
    sent = sent_with(before=(said("Base directory for this skill: /s\n\nSay hello."),))
    assert words(reading(sent)) == [reminder("Base directory for this skill: /s\n\nSay hello."), "go", "done"]


@pytest.mark.parametrize("times", [1, 3])
def test_a_prompt_of_several_blocks_is_the_persons_in_each_however_often(times: int):
    rows = [*[row(USER, "one\ntwo")] * times, *ROWS[1:]]
    sent = [*[user(said("one"), IMAGE, said("two\n"))] * times, *sent_with()[1:]]
    assert words(reading(sent, rows)) == [*["one", "[image]", "two"] * times, "done"]


def test_how_far_the_first_line_of_a_prompt_is_indented_stays():
    rows = [row(USER, "    go\n    on"), *ROWS[1:]]
    assert words(reading([user(said("    go\n    on\n")), *sent_with()[1:]], rows)) == ["    go\n    on", "done"]


# --- results that are more than text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("content", "text"), [([IMAGE], ""), ([DOCUMENT], ""), ([said("seen"), IMAGE], "seen")])
def test_a_result_with_a_picture_is_more_than_its_text_and_is_known_whole(content: list, text: str):
    rows = [*ROWS[:2], row(USER, "", (), (("t1", text),)), ROWS[3]]
    conversation = reading(sent_with(result_text=content), rows)
    assert conversation.lost == {"t1"}
    assert json.loads(conversation.contents["t1"]) == content


def test_a_reminder_behind_a_picture_is_no_part_of_its_content():
    rows = [*ROWS[:2], row(USER, "", (), (("t1", ""),)), ROWS[3]]
    conversation = reading(sent_with(result_text=[IMAGE, said(reminder("beware"))]), rows)
    assert json.loads(conversation.contents["t1"]) == [IMAGE]
    assert words(conversation) == ["go", reminder("beware"), "done"]


def test_tools_that_were_loaded_are_known_and_the_text_names_them():
    rows = [*ROWS[:2], row(USER, "", (), (("t1", ""),)), ROWS[3]]
    conversation = reading(sent_with(result_text=[REFERENCE]), rows)
    assert conversation.loaded == ["WebFetch"]
    assert conversation.lost == set()
    assert conversation.messages[2].results[0].text == text_of([REFERENCE]) == "Loaded the tool WebFetch"


def test_what_the_person_showed_is_named_where_it_stood():
    rows = [row(USER, "look at this"), *ROWS[1:]]
    assert words(reading([user(IMAGE, said("look at this"), DOCUMENT), *sent_with()[1:]], rows)) == [
        "[image]",
        "look at this",
        "[document]",
        "done",
    ]


@pytest.mark.parametrize("content", [[IMAGE], [said("a"), DOCUMENT], [{"type": "search_result"}]])
def test_content_that_shows_more_than_text_has_no_text(content: list):
    assert text_of(content) is None


# --- what is not understood ---------------------------------------------------------------------------------------------------------

SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


@pytest.mark.parametrize(
    "sent",
    [
        None, {}, "text", [7], [{"role": "system", "content": []}], [{"role": USER}], [{"role": USER, "content": "go"}],
        sent_with()[:2], sent_with()[:1], sent_with()[1:], [], sent_with(result_text="three"), sent_with(result_text="two and more"),
        sent_with({"type": "text"}), sent_with({"type": "a_kind_that_nobody_knows"}), sent_with({**said("x"), "more": 1}),
        sent_with(result_text=[{"type": "search_result"}]), sent_with(result_text=[{"text": "two"}]), sent_with(result_text=7),
        sent_with(result_text=f"two\n\n{reminder('a')}"[:-3]),
        [*sent_with()[:3], assistant(SERVER, FOUND, said("done"))],
        [*sent_with()[:3], assistant({**said("done"), "citations": [{"url": "u"}]})],
        [sent_with()[0], assistant({**call("t1"), "caller": {"type": "code_execution", "tool_id": "c"}}), *sent_with()[2:]],
        [sent_with()[0], assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": "ls"}), *sent_with()[2:]],
        [*sent_with(), *[user(said("go"))] * MOST_MESSAGES],
    ],
)  # fmt: skip
def test_what_cannot_be_matched_or_carried_is_not_understood(sent: object):
    with pytest.raises(MessagesNotUnderstood):
        reading(sent)


@pytest.mark.parametrize("rows", [None, [], "rows", [7], [{"role": "system", "text": ""}]])
def test_without_rows_nobody_can_say_who_said_what(rows: object):
    with pytest.raises(MessagesNotUnderstood):
        reading(sent_with(), rows)


THOUGHT = {"type": "thinking"}
OPEN = [user(said("go")), assistant(THOUGHT, call("t1", command="ls")), user(result("t1", "two\t"))]


@pytest.mark.parametrize(
    ("sent", "thinking", "is_left"),
    [
        (OPEN, "enabled", True), (OPEN, "", True), (OPEN, "adaptive", False),
        ([*OPEN[:2], user(result("t1", "two\t"), said(reminder("beware")))], "enabled", True),
        ([OPEN[0], assistant(call("t1", command="ls")), OPEN[2]], "enabled", False),
        ([*OPEN, assistant(said("done"))], "enabled", False),
    ],
)  # fmt: skip
def test_a_turn_that_needs_its_thinking_is_left_alone_while_it_is_open(sent: list, thinking: str, is_left: bool):
    attachments = Attachments()
    attachments.thinking = thinking
    rows = ROWS if sent[-1]["role"] == ASSISTANT else ROWS[:-1]
    try:
        read(sent, rows, TOOLS, attachments, str)
    except MessagesNotUnderstood:
        assert is_left
    else:
        assert not is_left


@pytest.mark.parametrize(("host", "agent"), [("Claude Code", "Claude"), ("pi", "pi")])
def test_a_refusal_names_the_host_at_hand(host: str, agent: str):
    def refused(sent: object) -> str:
        with pytest.raises(MessagesNotUnderstood) as refusal:
            read(sent, ROWS[:-1], TOOLS, Attachments(), str, host)
        return str(refusal.value)

    assert refused(None) == f"this version of {host} does not say what it sends"
    assert refused(OPEN).startswith(f"{agent} is in the middle of a turn")
    assert host in refused(OPEN[:1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["role", "text", "content", "type", "tool_use_id", "id", "name", "input", "source", "citations", "caller"])
KINDS = st.sampled_from([USER, ASSISTANT, "text", "tool_use", "tool_result", "image", "thinking", "tool_reference", "t1"])
BLOCKS = st.lists(JSON | st.dictionaries(NAMES, JSON | KINDS), max_size=4)
MESSAGES = st.lists(JSON | st.fixed_dictionaries({"role": KINDS, "content": BLOCKS | JSON}), max_size=4)


@given(MESSAGES, BLOCKS)
def test_whatever_a_host_hands_over_is_understood_or_not_and_nobody_fails(sent: list, rows: list):
    with suppress(MessagesNotUnderstood):
        reading(sent, rows)
    with suppress(MessagesNotUnderstood):
        reading(sent)


def test_the_last_word_on_a_thing_stays_the_last(transcript: Path):
    attach(transcript, "todo_reminder", reminder("do a"))
    attach(transcript, "todo_reminder", reminder("do b"))
    sent = sent_with(*[said(reminder(text)) for text in ("3 errors", "do a", "do b", "fine", "3 errors", "do a")])
    conversation = reading(sent, transcript=transcript)
    assert words(conversation) == ["go", reminder("fine"), reminder("3 errors"), reminder("do a"), "done"]
    assert conversation.renewed == [reminder("do a"), reminder("do b")]


def test_a_picture_of_the_turn_that_is_under_way_is_left_where_it_is():
    rows = [*ROWS[:2], row(USER, "", (), (("t1", ""),))]
    for sent in ([user(said("go")), OPEN[1], user(result("t1", [IMAGE]))], [user(IMAGE, said("go")), OPEN[1], user(result("t1", ""))]):
        with pytest.raises(MessagesNotUnderstood, match="picture"):
            reading(sent, rows)


@pytest.mark.parametrize(
    ("request_line", "thinking"),
    [
        ({"querySource": "prompt_suggestion", "params": {"thinking": {"type": "adaptive"}}}, "enabled"),
        ({"querySource": "sdk", "agentId": "a1", "params": {"thinking": {"type": "adaptive"}}}, "enabled"),
        ({"querySource": "generate_session_title", "params": {}}, "enabled"),
        ({"querySource": "repl_main_thread", "params": {"thinking": {"type": "adaptive"}}}, "adaptive"),
        ({"querySource": "sdk", "params": []}, ""),
    ],
)
def test_only_requests_of_the_conversation_itself_tell_how_the_model_thinks(transcript: Path, request_line: dict, thinking: str):
    first = {"type": "api-request", "querySource": "sdk", "params": {"thinking": {"type": "enabled"}}}
    lines = [first, {"type": "api-request", **request_line}]
    transcript.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    attachments = Attachments(str(transcript))
    attachments.look()
    assert attachments.thinking == thinking


def test_a_session_without_a_transcript_says_so():
    with pytest.raises(OSError, match="keeps no transcript"):
        Attachments().look()


# --- a transcript that grows --------------------------------------------------------------------------------------------------------


def test_a_transcript_is_read_on_as_it_grows_and_from_the_start_once_rewritten(transcript: Path):
    attach(transcript, "date", reminder("first"))
    attachments = Attachments(str(transcript))
    attachments.look()
    with transcript.open("a") as file:
        file.write(
            '{"type":"api-request","sessionId":"s","querySource":"sdk","params":{"model":"m","thinking":{"type":"enabled","budget_tokens":1024}}}\n'
        )
        file.write('{"type":"attachment","attachment":{"type":"da')
    attachments.look()
    assert attachments.thinking == "enabled"
    assert attachments.of(reminder("first") + "\n").type == "date"
    transcript.write_text("")
    attach(transcript, "file", reminder("second"))
    attachments.look()
    assert attachments.of(reminder("first")) is None
    assert attachments.of(reminder("second")).type == "file"
    assert attachments.thinking == ""


@pytest.mark.parametrize(
    "line",
    ['{"attachment":{},"rendered":[{"content":"x"}]}', '{"attachment":{"type":"x"},"rendered":[7]}',
     '{"attachment":{"type":7},"rendered":[{}',
     '{"attachment":{"type":"queued_command","commandMode":"prompt","prompt":7},"rendered":[{"content":[{"type":"image"}]}]}'],
)  # fmt: skip
def test_lines_that_are_none_of_the_clients_are_passed_over(transcript: Path, line: str):
    transcript.write_text(line + "\n")
    Attachments(str(transcript)).look()
