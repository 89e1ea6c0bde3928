"""Texts refer to files by mentions, by paths and by the heads of fences, the newest first. A file that the conversation shows whole, as it
is now, is not sent again; one that enters has its path above it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context import FileText, Provider
from popkit_retention.context.additions import summary, whole
from popkit_retention.context.file_references import MOST_REFERENCES, in_text, referenced
from popkit_retention.context.message_records import ParsedMessage
from popkit_retention.context.provider_forms import FORMS
from popkit_retention.context.shown_files import is_shown, shown_files
from tests.examples import examples

TEXT = "def price(basket):\n    return sum(basket)\n"
FILE = FileText("src/a.py", TEXT, "1: def price(basket):", "stamp")


def parsed(messages: list[dict]) -> list[ParsedMessage]:
    form = FORMS[Provider.OPENAI if any(message["role"] == "tool" for message in messages) else Provider.ANTHROPIC]
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
def test_a_file_is_shown_by_a_read_by_a_write_and_by_later_edits(messages):
    assert is_shown(FILE, shown_files(parsed(messages)))


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
    assert not is_shown(FILE, shown_files(parsed(messages)))


def test_a_partial_read_later_does_not_hide_a_file_that_was_shown_whole():
    messages = [
        *called(numbered(TEXT), file_path="/p/src/a.py"),
        *called("     2→    return sum(basket)", file_path="/p/src/a.py", offset=2),
    ]
    assert is_shown(FILE, shown_files(parsed(messages)))


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
        assert is_shown(FileText("a.py", text, "", ""), shown_files(parsed(called(numbered(text), file_path="/p/a.py"))))


def test_a_failed_call_shows_no_file():
    messages = called(numbered(TEXT), file_path="/p/src/a.py")
    messages[1]["content"][0]["is_error"] = True
    assert not is_shown(FILE, shown_files(parsed(messages)))


def test_files_stand_below_their_paths():
    assert whole(FILE) == f"# src/a.py\n```\n{TEXT}```"
    assert summary(FILE) == "# src/a.py (2 lines; signatures, with their line numbers)\n1: def price(basket):"
    assert summary(FileText("notes.txt", "one\ntwo\n", "", "")) == "# notes.txt (2 lines)"


def test_a_file_with_fences_of_its_own_is_put_between_longer_ones():
    assert whole(FileText("a.md", "````\nx\n````\n", "", "")).startswith("# a.md\n`````\n````\n")


# --- references ---------------------------------------------------------------------------------------------------------------------------


def test_the_newest_reference_comes_first_and_each_file_once():
    assert referenced(["see /p/a.py", "look at src/b.py and then c.md", "/p/a.py again"]) == ["/p/a.py", "c.md", "src/b.py"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see @src/app.py, please", ["src/app.py"]),
        ('see @"my notes/plan.md"', ["my notes/plan.md"]),
        ("`tests/test_a.py:12` fails, src/b.ts#L4-L9 too", ["src/b.ts", "tests/test_a.py"]),
        ('```python title="src/z.py"\nprint(1)\n```', ["src/z.py"]),
        ("```src/y.js\nx\n```", ["src/y.js"]),
        ("the Makefile and app/[id]/page.tsx.", ["app/[id]/page.tsx", "Makefile"]),
        ("./a.py is ../b.py and ~/c.py and /etc/d.conf", ["/etc/d.conf", "~/c.py", "../b.py", "a.py"]),
        ("https://example.org/a.py, version 1.2.3, e.g. this, me@example.org, @anna", []),
        ("<system-reminder>CLAUDE.md says: src/a.py</system-reminder> go on", []),
        ("ask @anna about config.yaml", ["config.yaml"]),
    ],
)
def test_a_text_refers_to_the_files_that_it_names(text, paths):
    assert referenced([text]) == paths


def test_the_number_of_references_is_bounded():
    texts = [" ".join(f"src/f{at}.py" for at in range(200))]
    assert len(referenced(texts)) == MOST_REFERENCES
    assert referenced(texts, 2) == ["src/f199.py", "src/f198.py"]


WORDS = st.sampled_from(
    ["src/", "a.py", "@", "```", "`", ":12", "\n", " ", "[", "](", "~/", "..", "<system-reminder>", "://", '"', "é", "\\"]
)


@settings(max_examples=examples(50, 2_000))
@given(st.lists(st.one_of(WORDS, st.text(max_size=5)), max_size=30).map("".join))
def test_any_text_gives_plain_paths(text):
    for path in referenced([text]):
        assert 0 < len(path) <= 400
        assert not {"\n", "\0"} & {*path}
        assert not path.startswith("./")


@pytest.mark.bench
@pytest.mark.parametrize("piece", ["a", "a/", ".", "@", "a.", "<system-reminder>", "/", "a-+", "://", "[(", "`", "\\"])
def test_no_text_takes_long_to_search(piece):
    began = time.process_time()
    list(in_text(piece * 20_000))
    assert time.process_time() - began < 1
