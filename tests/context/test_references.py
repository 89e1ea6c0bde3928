"""A conversation refers to files by its calls, by mentions, by paths and by the heads of fences; the newest reference comes first."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context.references import MOST, in_text, referenced
from tests.examples import examples


def call(**given: object) -> dict:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "any", "input": given}]}


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def test_the_newest_reference_comes_first_and_each_file_once():
    messages = [call(file_path="/p/a.py"), user("look at src/b.py and then c.md"), call(path="/p/a.py")]
    assert referenced(messages) == ["/p/a.py", "c.md", "src/b.py"]


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"file_path": "/p/a.py", "offset": 3}, ["/p/a.py"]),
        ({"notebook_path": "n.ipynb"}, ["n.ipynb"]),
        ({"paths": ["a.py", 3, "b.py"]}, ["b.py", "a.py"]),
        ({"command": "cd src && sed -n 1,9p app/main.go | head"}, ["app/main.go"]),
        ({"pattern": "a.py", "content": "b.py"}, []),
        ({"file_path": ["a.py"], "path": None}, []),
    ],
)
def test_a_call_refers_to_what_its_input_names(given, paths):
    assert referenced([call(**given)]) == paths


def test_calls_of_openai_refer_to_files_too():
    function = {"name": "read", "arguments": json.dumps({"path": "src/a.rs"})}
    broken = {"name": "read", "arguments": '{"path": "src/'}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": broken}, {"id": "2", "function": function}]}
    assert referenced([message]) == ["src/a.rs"]


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
    assert referenced([user(text)]) == paths


def test_results_of_calls_refer_to_nothing():
    listing = [{"type": "tool_result", "tool_use_id": "a", "content": "src/a.py\nsrc/b.py"}]
    assert referenced([{"role": "user", "content": listing}, {"role": "tool", "tool_call_id": "b", "content": "src/c.py"}]) == []


def test_there_is_a_bound():
    messages = [user(" ".join(f"src/f{at}.py" for at in range(200)))]
    assert len(referenced(messages)) == MOST
    assert referenced(messages, 2) == ["src/f199.py", "src/f198.py"]


WORDS = st.sampled_from(
    ["src/", "a.py", "@", "```", "`", ":12", "\n", " ", "[", "](", "~/", "..", "<system-reminder>", "://", '"', "é", "\\"]
)


@settings(max_examples=examples(100, 2_000))
@given(st.lists(st.one_of(WORDS, st.text(max_size=5)), max_size=30).map("".join))
def test_any_text_gives_plain_paths(text):
    for path in referenced([user(text)]):
        assert 0 < len(path) <= 400
        assert not {"\n", "\0"} & {*path}
        assert not path.startswith("./")


@settings(max_examples=examples(60, 600))
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)
    )
)
def test_a_message_that_is_not_as_it_should_be_refers_to_nothing_and_raises_nothing(content):
    message = {"role": "user", "content": content, "tool_calls": content}
    assert isinstance(referenced([message]), list)


@pytest.mark.bench
@pytest.mark.parametrize("piece", ["a", "a/", ".", "@", "a.", "<system-reminder>", "/", "a-+", "://", "[(", "`", "\\"])
def test_no_text_takes_long(piece):
    began = time.process_time()
    list(in_text(piece * 20_000))
    assert time.process_time() - began < 1
