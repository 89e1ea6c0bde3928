"""Texts refer to files by mentions, by paths and by the heads of fences; the newest reference comes first."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context.references import MOST, in_text, referenced
from tests.examples import examples


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


def test_there_is_a_bound():
    texts = [" ".join(f"src/f{at}.py" for at in range(200))]
    assert len(referenced(texts)) == MOST
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
def test_no_text_takes_long(piece):
    began = time.process_time()
    list(in_text(piece * 20_000))
    assert time.process_time() - began < 1
