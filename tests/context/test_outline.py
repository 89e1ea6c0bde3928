"""An outline is made of the lines of a source that have a signature, in six languages as goldens, and in all as a law."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.context.languages import BY_EXTENSION, LANGUAGES, language_of
from popkit_retention.context.signatures import MOST_LINES, outline
from tests.examples import examples

pytest.importorskip("ast_grep_py")

SOURCES = Path(__file__).parent / "data" / "outlines"
NAMES = ("shop.py", "shop.ts", "shop.go", "shop.rs", "Shop.java", "shop.cpp")
EXTENSIONS = sorted({language: extension for extension, language in BY_EXTENSION.items()}.values())
PIECES = (
    "class A {", "def f(x):", "fn g(é: i32) -> i32 {", "func h() {", "}", "  return 1;", "interface I { void m(); }", "struct S;", "# x",
    "a: 1", '"k": {"l": 2},', "module M", "end", "\t", "(", "public int f(int x) {", "const z = (q) => q;", "template <class T>", "@dec",
)  # fmt: skip


def numbered(lines: str) -> list[tuple[int, str]]:
    return [(int(number), rest) for number, rest in (line.split(": ", 1) for line in lines.split("\n") if line and line[0] != "…")]


@pytest.mark.parametrize("name", NAMES)
def test_the_outline_of_a_source_is_its_signatures(name, golden):
    golden(SOURCES / (name + ".outline"), outline((SOURCES / (name + ".source")).read_text(encoding="utf-8"), name) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_no_body_of_a_function_is_in_an_outline(name):
    source = (SOURCES / (name + ".source")).read_text(encoding="utf-8")
    assert "INSIDE" in source
    assert "INSIDE" not in outline(source, name)


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(max_examples=examples(15, 200))
@given(data=st.data())
def test_each_line_of_an_outline_is_in_the_source_on_that_line(extension, data):
    source = "\n".join(data.draw(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=25)))
    lines = source.split("\n")
    for number, text in numbered(outline(source, "a." + extension)):
        assert text in lines[number - 1]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_source_gives_an_outline_of_the_part_that_parses(name):
    source = (SOURCES / (name + ".source")).read_text(encoding="utf-8")
    assert len(outline(source[: len(source) * 2 // 3], name).splitlines()) >= 3


def test_every_bundled_language_has_a_grammar():
    for extension in EXTENSIONS:
        assert outline("", "a." + extension) == ""
    assert {*BY_EXTENSION.values()} == {*LANGUAGES, "markdown"}


@pytest.mark.parametrize("path", ["a.xyz", "README", "", "a.", ".py/x", "a.png"])
def test_a_file_of_no_known_language_has_no_outline(path):
    assert language_of(path) == ""
    assert outline("def f(): pass", path) == ""


def test_markdown_has_its_headings_but_not_those_in_code():
    text = "# One\n\n```sh\n# a comment\n```\n\n## Two\ntext\n#hash\n~~~\n## code\n~~~\n"
    assert outline(text, "a.md") == "1: # One\n7: ## Two"


def test_data_has_its_first_keys():
    assert outline('{\n  "name": "shop",\n  "needs": {"a": 1}\n}\n', "a.json") == '2:   "name":\n3:   "needs":'
    assert outline("name: shop\nneeds:\n  a: 1\n", "a.yaml") == "1: name:\n2: needs:"


def test_an_outline_has_a_bound_and_says_what_is_left_out():
    text = outline("".join(f"def f{at}(): pass\n" for at in range(MOST_LINES + 7)), "a.py")
    assert text.count("\n") == MOST_LINES
    assert text.endswith("… 7 more lines of signatures")


@pytest.mark.parametrize("source", ["x" * 3_000, "def f(): pass\n" * 10_000])
def test_a_generated_source_has_no_outline(source):
    assert outline(source, "a.py") == ""


def test_a_long_signature_is_cut_and_a_decorated_one_begins_with_its_name():
    source = "@one(\n  1,\n  2,\n  3,\n)\ndef f(\n" + "".join(f"    a{at}: int,\n" for at in range(20)) + ") -> int:\n    return 1\n"
    lines = outline(source, "a.py").splitlines()
    assert lines[0] == "6: def f("
    assert len(lines) == 8
    assert all(re.match(r"\d+:     a\d+: int,", line) for line in lines[1:])
