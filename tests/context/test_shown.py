"""A file that the conversation shows whole and as it is now is not sent again; what enters as layer 3 stands below its path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context import FileText, dialogue_anthropic, dialogue_openai
from popkit_retention.context.said import Said
from popkit_retention.context.shown import is_shown, shown_files, summary, whole
from tests.examples import examples

TEXT = "def price(basket):\n    return sum(basket)\n"
FILE = FileText("src/a.py", TEXT, "1: def price(basket):", "stamp")


def said(messages: list[dict]) -> list[Said]:
    form = dialogue_openai if any(message["role"] == "tool" for message in messages) else dialogue_anthropic
    return [form.parse(message) for message in messages]


def numbered(text: str) -> str:
    return "".join(f"{at:>6}→{line}\n" for at, line in enumerate(text.rstrip("\n").split("\n"), 1))


def called(result: object, **given: object) -> list[dict]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "any", "input": given}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": result}]},
    ]


@pytest.mark.parametrize(
    "messages",
    [
        called(numbered(TEXT), file_path="/p/src/a.py"),
        called(numbered(TEXT) + "\n\n<system-reminder>careful</system-reminder>", file_path="/p/src/a.py"),
        called([{"type": "text", "text": TEXT}], path="src/a.py"),
        called("written", file_path="/p/src/a.py", content=TEXT),
        [
            *called(numbered(TEXT.replace("sum", "max")), file_path="/p/src/a.py"),
            *called("changed", file_path="/p/src/a.py", old_string="max", new_string="sum"),
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "r", "arguments": '{"path": "src/a.py"}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": TEXT},
        ],
    ],
)
def test_a_file_is_shown_by_a_reading_by_a_write_and_by_what_edits_make_of_it(messages):
    assert is_shown(FILE, shown_files(said(messages)))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        called(numbered(TEXT), file_path="/p/src/a.py", limit=2),
        called(numbered(TEXT), file_path="/p/other/b.py"),
        called(numbered(TEXT.replace("sum", "max")), file_path="/p/src/a.py"),
        [*called(numbered(TEXT), file_path="/p/src/a.py"), *called("ok", file_path="/p/src/a.py", old_string="sum", new_string="max")],
        [{"role": "user", "content": "src/a.py: " + TEXT}],
        called("[cleared]", file_path="/p/src/a.py"),
    ],
)
def test_a_file_that_is_shown_in_part_or_as_it_was_is_not_shown(messages):
    assert not is_shown(FILE, shown_files(said(messages)))


def test_a_part_that_is_read_later_takes_nothing_away():
    messages = [
        *called(numbered(TEXT), file_path="/p/src/a.py"),
        *called("     2→    return sum(basket)", file_path="/p/src/a.py", offset=2),
    ]
    assert is_shown(FILE, shown_files(said(messages)))


def test_what_is_masked_in_the_file_may_stand_in_the_conversation():
    file = FileText("src/a.py", 'TOKEN = "****"\nprice = 3\n', "", "stamp")
    assert is_shown(file, {"/p/src/a.py": 'TOKEN = "a real one"\nprice = 3\n'})
    assert not is_shown(file, {"/p/src/a.py": 'TOKEN = "a real one"\nprice = 4\n'})
    assert not is_shown(file, {"/p/src/a.py": 'KEY = "a real one"\nprice = 3\n'})


LINES = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85"), max_size=12), min_size=1, max_size=8
)


@settings(max_examples=examples(60, 600))
@given(LINES)
def test_whatever_has_been_read_whole_is_shown(lines):
    text = "\n".join(lines)
    if text.strip():
        assert is_shown(FileText("a.py", text, "", ""), shown_files(said(called(numbered(text), file_path="/p/a.py"))))


def test_what_a_call_that_failed_gave_shows_nothing():
    messages = called(numbered(TEXT), file_path="/p/src/a.py")
    messages[1]["content"][0]["is_error"] = True
    assert not is_shown(FILE, shown_files(said(messages)))


def test_files_stand_below_their_paths():
    assert whole(FILE) == f"# src/a.py\n```\n{TEXT}```"
    assert summary(FILE) == "# src/a.py (2 lines; signatures, with their line numbers)\n1: def price(basket):"
    assert summary(FileText("notes.txt", "one\ntwo\n", "", "")) == "# notes.txt (2 lines)"


def test_a_file_with_fences_of_its_own_stands_between_longer_ones():
    assert whole(FileText("a.md", "````\nx\n````\n", "", "")).startswith("# a.md\n`````\n````\n")
