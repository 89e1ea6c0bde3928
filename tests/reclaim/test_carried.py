"""What of a host's messages can be handed back: what cannot is named where it stood, and what says nothing to the model goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.hosts.claude_code import TOOLS
from hooks.utils.policy.messages import ASSISTANT, USER, Message, NotUnderstood, Shown, Use, paired
from hooks.utils.reclaim.in_place import without_commands
from hooks.utils.reclaim.places import Marked, Pictures, pictures, readable
from tests.hosts.lines import Lines

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
IMAGE, DOCUMENT = {"type": "image", "source": PIXEL}, {"type": "document", "source": {**PIXEL, "media_type": "application/pdf"}}
TEXT = {"type": "text", "text": "look at this"}


class Transcript(Lines):
    """A transcript as the client writes it, and the messages that it hands over of it."""

    def shown(self, *blocks: dict) -> str:
        return self.add("user", message={"role": "user", "content": list(blocks)})

    def write(self, path: Path) -> str:
        path.write_text("".join(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n" for entry in self.entries))
        return str(path)

    def rows(self) -> list[dict]:
        return [row_of(entry) for entry in self.entries if entry["type"] in (USER, ASSISTANT)]


def row_of(entry: dict) -> dict:
    content = entry["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "role": entry["type"],
        "handle": entry["uuid"],
        "text": "\n".join(block["text"] for block in blocks if block["type"] == "text"),
        "toolUses": [{"tool_use_id": b["id"], "tool": b["name"], "input": b["input"]} for b in blocks if b["type"] == "tool_use"],
        "toolResults": [
            {"tool_use_id": b["tool_use_id"], "text": text_of(b["content"]), "isError": b.get("is_error", False)}
            for b in blocks
            if b["type"] == "tool_result"
        ],
    }


def text_of(content) -> str:
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content if block["type"] == "text")


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


def found_in(transcript: Transcript, tmp_path: Path, rows: list | None = None) -> Pictures:
    return pictures(Marked(transcript.write(tmp_path / "t.jsonl")), transcript.rows() if rows is None else rows)


def carried(transcript: Transcript, tmp_path: Path) -> list[Message]:
    return readable(transcript.rows(), found_in(transcript, tmp_path), TOOLS)


# --- what the user showed -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block", "name"), [(IMAGE, "An image"), (DOCUMENT, "A document")])
@pytest.mark.parametrize("beside", [(), (TEXT,)])
def test_what_the_user_showed_is_named_where_it_stood(transcript, tmp_path, block, name, beside):
    transcript.shown(*beside, block)
    transcript.say("I see")
    messages = carried(transcript, tmp_path)
    assert messages[0].text.splitlines()[:-1] == [each["text"] for each in beside]
    assert messages[0].text.splitlines()[-1].startswith(f"[{name} was here.")
    assert "ask for it again" in messages[0].text
    assert messages[1].text == "I see"
    assert len(paired(messages)) == 2


def test_each_of_several_is_named(transcript, tmp_path):
    transcript.shown(IMAGE, TEXT, DOCUMENT, IMAGE)
    lines = carried(transcript, tmp_path)[0].text.splitlines()
    assert [line.split(" was")[0] for line in lines] == ["look at this", "[An image", "[A document", "[An image"]


def test_in_the_next_compaction_it_is_still_named_once(transcript, tmp_path):
    transcript.shown(TEXT, IMAGE)
    named = carried(transcript, tmp_path)[0].text
    transcript.prompt(named)
    assert [each.text for each in carried(transcript, tmp_path)] == [named, named]


def test_a_picture_of_a_message_that_does_not_stand_any_more_is_not_spoken_of(transcript, tmp_path):
    transcript.shown(IMAGE)
    transcript.prompt("go on")
    found = found_in(transcript, tmp_path, transcript.rows()[1:])
    assert (found.beside, found.lost, found.contents) == ({}, set(), {})


# --- what a result showed ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [[IMAGE], [DOCUMENT], [TEXT, IMAGE], [{"type": "tool_reference", "tool_name": "WebFetch"}], [TEXT, {"type": "search_result"}]],
)
def test_a_result_that_is_more_than_text_is_one_that_its_text_would_lose_and_its_whole_content_is_known(transcript, tmp_path, content):
    transcript.use("t1", "Read", {"file_path": "/shop/pic.png"})
    transcript.result("t1", content)
    rows = [{**row_of(transcript.entries[0])}, {"role": "user", "text": "", "handle": "u2", "toolResults": []}]
    found = found_in(transcript, tmp_path, rows)
    assert found.lost == {"t1"}
    assert json.loads(found.contents["t1"]) == content
    assert found.beside == {}


def test_a_result_of_several_texts_loses_nothing_but_its_whole_content_is_known(transcript, tmp_path):
    transcript.use("t1", "Task", {"prompt": "look"})
    transcript.result("t1", [TEXT, {"type": "text", "text": "é"}])
    found = found_in(transcript, tmp_path)
    assert found.lost == set()
    assert json.loads(found.contents["t1"]) == [TEXT, {"type": "text", "text": "é"}]


def test_of_results_in_one_line_only_those_with_a_picture_lose_it(transcript, tmp_path):
    transcript.shown(
        {"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "text"},
        {"type": "tool_result", "tool_use_id": "t3"},
    )
    found = found_in(transcript, tmp_path, [{"role": "user", "text": "", "handle": "u1"}])
    assert found.lost == {"t1"}
    assert set(found.contents) == {"t1", "t2"}


@pytest.mark.parametrize("text", ['{"type":"image"}', '"image"', '{"a": {"type": "document", "content":[{}],"content":[{}]}}'])
def test_a_text_that_speaks_of_pictures_is_none(transcript, tmp_path, text):
    transcript.prompt(text)
    transcript.bash("t1", "cat a.json", text)
    found = found_in(transcript, tmp_path)
    assert (found.beside, found.lost) == ({}, set())
    assert [each.text for each in carried(transcript, tmp_path) if each.text] == [text]


def test_a_picture_is_found_however_the_line_is_spaced(transcript, tmp_path):
    transcript.shown(IMAGE)
    Lines.write(transcript, tmp_path / "t.jsonl")
    assert pictures(Marked(str(tmp_path / "t.jsonl")), transcript.rows()).beside == {"u1": ["image"]}


# --- commands of ours ---------------------------------------------------------------------------------------------------------------------

CAVEAT = "<local-command-caveat>The command below was run directly in Claude Code.</local-command-caveat>"
COMPACT = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>"
POPKIT = "<command-name>/popkit</command-name>\n            <command-message>popkit</command-message>\n<command-args>clear</command-args>"
COMPACTED = "<local-command-stdout>Compacted </local-command-stdout>"
DIM = "<local-command-stdout>\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m</local-command-stdout>"
PRINTED = "<local-command-stdout>94 results left</local-command-stdout>"
MODEL = "<command-name>/model</command-name>\n            <command-message>model</command-message>"
SET = "<local-command-stdout>Set model to opus</local-command-stdout>"


def kept(*texts: str) -> list[str]:
    return [message.text for message in without_commands([Message(USER, text) for text in texts])]


@pytest.mark.parametrize(
    "ours",
    [
        [CAVEAT, COMPACT, COMPACTED], [COMPACT, COMPACTED], [CAVEAT, COMPACT, DIM], [COMPACTED], [DIM], [CAVEAT, POPKIT, PRINTED],
        [POPKIT, PRINTED], [CAVEAT, POPKIT], [CAVEAT, COMPACT, COMPACTED, CAVEAT, POPKIT, PRINTED],
    ],
)  # fmt: skip
def test_commands_of_ours_and_compactions_leave_no_rows(ours: list[str]):
    assert kept("go", *ours, "on") == ["go", "on"]
    assert kept(*ours * 3) == []


@pytest.mark.parametrize(
    "theirs",
    [
        [CAVEAT, MODEL, SET], [CAVEAT], [SET], ["Compacted"], ["why does " + COMPACT + " stand here?"], ["run /popkit clear"],
        ["<command-message>popkit:context</command-message>\n<command-name>/popkit:context</command-name>", "Show the context."],
        ["<local-command-stdout>42 files were read, then Compacted</local-command-stdout>"],
    ],
)  # fmt: skip
def test_everything_else_that_was_typed_and_printed_stays(theirs: list[str]):
    assert kept("go", *theirs, "on") == ["go", *theirs, "on"]


def test_a_caveat_of_another_command_stays_with_it():
    assert kept(CAVEAT, MODEL, SET, CAVEAT, COMPACT, COMPACTED) == [CAVEAT, MODEL, SET]
    assert kept(CAVEAT, MODEL, SET, COMPACT, COMPACTED) == [CAVEAT, MODEL, SET]


def test_what_the_assistant_says_and_results_stand_whatever_they_quote():
    messages = [
        Message(ASSISTANT, COMPACT), Message(ASSISTANT, COMPACTED), Message(ASSISTANT, "", [Use("t1", TOOLS.of("Bash"), {})]),
        Message(USER, COMPACT, (), [Shown("t1", COMPACTED)]), Message(ASSISTANT, CAVEAT), Message(USER, COMPACT),
    ]  # fmt: skip
    assert without_commands(messages) == messages[:-1]


# --- hostile ------------------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["role", "text", "handle", "toolUses", "toolResults", "tool_use_id"])
ROWS = st.lists(JSON | st.dictionaries(NAMES, JSON | st.sampled_from([USER, ASSISTANT, "u1", "u2"])), max_size=4)


@given(ROWS)
def test_whatever_a_host_hands_over_is_understood_or_not_and_nobody_fails(tmp_path_factory, rows: list):
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    if not path.exists():
        transcript = Transcript()
        transcript.shown(TEXT, IMAGE)
        transcript.prompt("go")
        transcript.write(path)
    found = pictures(Marked(str(path)), rows)
    try:
        messages = readable(rows, found, TOOLS)
    except NotUnderstood:
        return
    assert len(messages) == len(rows)
    without_commands(messages)


@pytest.mark.parametrize("handle", [None, 1, [], {}, ["u1"], {"u1": 1}, "", "u9"])
def test_a_row_whose_handle_names_no_entry_says_what_it_says(transcript, tmp_path, handle):
    transcript.shown(TEXT, IMAGE)
    rows = [{"role": "user", "text": "look at this", "handle": handle}]
    assert [each.text for each in readable(rows, found_in(transcript, tmp_path, rows), TOOLS)] == ["look at this"]


@pytest.mark.parametrize(
    "line",
    [b"\n", b"null\n", b'{"type":"image"}\n', b"[]\n", b'{"type":"user","uuid":"u1"\n', b'"image"\n',
     b'{"type":"user","uuid":"u1","message":{"content":["image"]}}\n',
     b'{"type":"user","uuid":["u1"],"message":{"content":[{"type":"image"}]}}\n', b'{"type":"user","uuid":"u1","message":5,"x":"image"}\n',
     b'\xff\xfe"image"\n'],
)  # fmt: skip
def test_lines_that_are_none_of_the_hosts_are_passed_over(tmp_path, line: bytes):
    path = tmp_path / "t.jsonl"
    path.write_bytes(line)
    found = pictures(Marked(str(path)), [{"role": "user", "text": "", "handle": "u1"}])
    assert (found.beside, found.lost) == ({}, set())


@pytest.mark.parametrize(
    "blocks",
    [
        [
            {"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE]},
            {"type": "tool_result", "tool_use_id": "t1", "content": [IMAGE]},
        ],
        [{"type": "tool_result", "content": [IMAGE]}],
        [{"type": "tool_result", "tool_use_id": 5, "content": [IMAGE]}],
    ],
)
def test_a_line_that_is_not_clear_about_whose_picture_it_holds_is_not_understood(transcript, tmp_path, blocks):
    transcript.shown(*blocks)
    with pytest.raises(NotUnderstood):
        found_in(transcript, tmp_path, [{"role": "user", "text": "", "handle": "u1"}])


def test_a_transcript_that_cannot_be_read_is_reported_as_an_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        pictures(Marked(str(tmp_path / "nowhere.jsonl")), [])


# --- a transcript that grows ------------------------------------------------------------------------------------------------------------


def test_what_was_read_before_the_transcript_grew_is_known_and_what_came_since_is_read(transcript, tmp_path):
    transcript.shown(IMAGE)
    transcript.prompt("go on")
    marked = Marked(transcript.write(tmp_path / "t.jsonl"))
    marked.look()
    transcript.shown(TEXT, DOCUMENT)
    transcript.write(tmp_path / "t.jsonl")
    found = pictures(marked, transcript.rows())
    assert found.beside == {"u1": ["image"], "u3": ["document"]}
    assert found.beside == found_in(transcript, tmp_path).beside


def test_a_line_that_is_being_written_is_read_once_it_is_whole(transcript, tmp_path):
    transcript.shown(IMAGE)
    path = Path(transcript.write(tmp_path / "t.jsonl"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    marked = Marked(str(path))
    marked.look()
    assert marked.places == []
    path.write_bytes(whole)
    assert pictures(marked, transcript.rows()).beside == {"u1": ["image"]}


@pytest.mark.parametrize("how", ["shorter", "another"])
def test_a_transcript_that_was_rewritten_is_read_from_its_beginning(transcript, tmp_path, how):
    transcript.shown(IMAGE)
    path = Path(transcript.write(tmp_path / "t.jsonl"))
    marked = Marked(str(path))
    marked.look()
    other = Transcript()
    other.prompt("x" * (0 if how == "shorter" else 2_000))
    other.shown(DOCUMENT)
    if how == "shorter":
        path.write_text("")
        marked.look()
    else:
        path.rename(tmp_path / "before.jsonl")
    other.write(path)
    assert pictures(marked, other.rows()).beside == {"u2": ["document"]}
