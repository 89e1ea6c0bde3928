"""The text of a MEMORY.md: each entry in its place, short, and read back as what it was."""

from __future__ import annotations

import pytest

from popkit_retention.core.state.memory_reading import commands_in, paths_in
from popkit_retention.core.state.memory_records import COMMAND, ERROR, NAME, NOTE, PATH, PURPOSES, Entry
from popkit_retention.core.state.memory_text import ending_of, folder_of, folders_above, looks_like_folder, render, size, variant_of


def file(path: str, changed: bool = False) -> Entry:
    home, _, text = path.rpartition("/")
    entry = Entry(PATH, text, home)
    entry.changed = changed
    return entry


def tree(*files: str) -> list[str]:
    """The lines of the tree that lists files."""
    return render([file(path) for path in files]).partition("```\n")[2].split("\n")[:-2]


def listed(*names: str) -> str:
    """What a folder with files of these names has behind its own."""
    (line,) = tree(*(f"s/{name}" for name in names))
    return line.removeprefix("s/: ")


def test_a_document_has_its_entries_under_titles_in_one_order() -> None:
    entries = [
        Entry(NAME, "total", "lib/gone.py"), Entry(NAME, "Zed", "lib/gone.py"), Entry(NAME, "MAX", ""),
        Entry(NOTE, "Say so."), Entry(NOTE, "Ask first."), Entry(ERROR, "npm test: no module → npm ci"), Entry(ERROR, "a: b → c"),
        file("src/till.py", changed=True), file("src/coins.py"), file("README.md"),
        Entry(NAME, "countAll", "src/coins.py"), Entry(NAME, "Coin", "src/coins.py"),
        Entry(COMMAND, "npm run x", "other"), Entry(COMMAND, "cd web && npm test", PURPOSES[1]), Entry(COMMAND, "npm test", PURPOSES[0]),
        Entry(COMMAND, "# in src", PURPOSES[0]), Entry(COMMAND, "cd lib && make b", "other"), Entry(COMMAND, "cd lib && make a", "other"),
        Entry(COMMAND, "cd a b && make", "other"),
    ]  # fmt: skip
    assert render(entries) == (
        """# Project memory
Files marked * have changed since earlier sessions.

## Commands
```sh
\\# in src
npm test
cd web && npm test
cd a b && make
npm run x
# in lib
make a
make b
```

## Files (names defined in them)
```
./: README.md
src/: coins.py (Coin, countAll), till.py*
```

## Errors and fixes
- a: b → c
- npm test: no module → npm ci

## Notes
- Ask first.
- Say so.

## Names
```
MAX
lib/gone.py: Zed, total
```
"""
    )


def test_a_document_has_no_more_than_it_needs() -> None:
    assert render([]) == ""
    assert render([Entry(NOTE, "Ask first.")]) == "# Project memory\n\n## Notes\n- Ask first.\n"
    assert render([file("a.py")]) == "# Project memory\n\n## Files\n```\n./: a.py\n```\n"
    assert render([Entry(NAME, "total", "a.py")]) == "# Project memory\n\n## Names\n```\na.py: total\n```\n"


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        (["a/b/c/x.py"], ["a/b/c/: x.py"]),
        (["a/b/c/x.py", "a/b/y.py"], ["a/b/: y.py", " c/: x.py"]),
        (["a/b/c/x.py", "a/b/d/y.py"], ["a/b/", " c/: x.py", " d/: y.py"]),
        (["a/x.py", "a/b/c/y.py", "ab/z.py", "a/b/d/e/v.py"], ["a/: x.py", " b/", "  c/: y.py", "  d/e/: v.py", "ab/: z.py"]),
        (["x.py", "a/y.py", "a-b/z.py", "a/b/w.py"], ["./: x.py", "a/: y.py", " b/: w.py", "a-b/: z.py"]),
        (['{a}/x.py', 'a"b/y.py', "a (b), c/z.py"], ["a (b), c/: z.py", '"a\\"b"/: y.py', '"{a}"/: x.py']),
    ],
)  # fmt: skip
def test_a_tree_has_a_line_for_each_folder_with_files_or_branches(files: list[str], lines: list[str]) -> None:
    assert tree(*files) == lines
    assert sorted(paths_in(render([file(path) for path in files]))) == sorted(files)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (["b.py", "a.ts"], "a.ts, b.py"),
        (["a.py", "b.py"], "{a,b}.py"),
        (["a.c", "b.c"], "a.c, b.c"),
        (["a.cc", "b.cc"], "{a,b}.cc"),
        (["a.", "b."], "a., b."),
        ([".a.py", ".b.py"], "{.a,.b}.py"),
        ([".py", "a.py", "b.py"], ".py, {a,b}.py"),
        (["a.test.ts", "b.test.ts", "c.ts"], "{a,b}.test.ts, c.ts"),
        (["a.test.ts", "b.test.ts", "c.ts", "d.ts"], "{a.test,b.test,c,d}.ts"),
        (["a.test.ts", "a.ts", "b.ts"], "{a,a.test,b}.ts"),
        (["cart.test.ts", "cart.ts"], "cart{,.test}.ts"),
        (["cart.test.ts", "cart.ts", "cart.x.ts"], "cart{,.test,.x}.ts"),
        (["cart", "cart.test"], "cart, cart.test"),
        (["a.b.c.d", "b.b.c.d"], "{a,b}.b.c.d"),
        (["till.ts", "tillage.ts", "tillRoll.ts", "TILL.ts", "TILLS.ts"], "{TILL,TILLS,till{,Roll},tillage}.ts"),
        (["Dockerfile", "Makefile", "Rakefile"], "Dockerfile, Makefile, Rakefile"),
        (["ab.ts", "ab.c.ts", "ab.c.d.ts", "ab.c.e.ts"], "{ab,ab.c{,.d,.e}}.ts"),
        (["abcd.ts", "abcd.e.ts", "abcd.f.ts", "abcd.e.g.ts", "abcd.e.h.ts"], "abcd{,.e,.e.g,.e.h,.f}.ts"),
        (["abcd.ts", "abcd.e.ts", "efgh.ts", "efgh.i.ts"], "{abcd{,.e},efgh{,.i}}.ts"),
        (["abc.ts", "abc.d.ts"], "{abc,abc.d}.ts"),
        (["ab.x.py", "cart.x.py", "x.ts"], "{ab,cart}.x.py, x.ts"),
        ([".x.ab.x", "ab.ab.x", "c.test.ts", "c.ts", "d.x"], "{.x,ab}.ab.x, {c,c.test}.ts, d.x"),
        (["my notes.md", "a.md", "it's.md"], "{a,it's}.md, my notes.md"),
        (["a.md*", "b.md"], '"a.md*", b.md'),
        (["a\\b.md", "b.md"], '"a\\\\b.md", b.md'),
    ],
)
def test_files_of_a_folder_stand_together_where_that_is_shorter(files: list[str], text: str) -> None:
    assert listed(*files) == text
    assert sorted(paths_in(f"s/: {text}")) == sorted(f"s/{name}" for name in files)


def test_a_changed_file_is_marked_within_its_group_too() -> None:
    text = render([file("s/a.py", changed=True), file("s/b.py", changed=True), file("s/c.py")])
    assert "s/: {a,b}.py*, c.py\n" in text
    assert paths_in(text) == ["s/a.py", "s/b.py", "s/c.py"]


@pytest.mark.parametrize(
    ("stem", "others", "at"),
    [
        ("cart.test", {"cart"}, [4]), ("cart_test", {"cart"}, [4]), ("cartItem", {"cart"}, [4]), ("carting", {"cart"}, []),
        ("CARTItem", {"CART"}, []), ("a.test", {"a"}, []), ("ab.test", {"ab"}, [2]), ("ab", {"ab"}, []), ("ab.c.d", {"ab", "ab.c"}, [2, 4]),
        ("cart1", {"cart"}, []), ("caRtItem", {"caRt"}, [4]), ("carTItem", {"carT"}, []), ("", set(), []),
    ],
)  # fmt: skip
def test_a_variant_begins_a_new_word_behind_the_whole_of_another_name(stem: str, others: set[str], at: list[int]) -> None:
    assert variant_of(stem, others) == at


def test_folders_in_which_several_branches_begin_have_a_line_too() -> None:
    assert folders_above(["a/b/c", "a/b/d/e"]) == {"a/b", "a/b/c", "a/b/d/e"}
    assert folders_above(["a/b/c", "a/b/c/d", ""]) == {"a/b/c", "a/b/c/d", ""}
    assert folders_above(["a/b", "a/c"]) == {"a", "a/b", "a/c"}
    assert folders_above([]) == set()


def test_names_and_commands_are_taken_apart() -> None:
    assert [ending_of(name) for name in ("a.test.ts", "Makefile", ".env")] == [("a.test", ".ts"), ("", "Makefile"), ("", ".env")]
    commands = ("cd a && make", "cd a && make && cd b && ls", "cd a b && make", "cd a", "make && cd a", "(cd a && make")
    assert [folder_of(command)[0] for command in commands] == ["a", "a", "", "", "", ""]
    assert [folder_of(command)[1] for command in commands] == ["make", "make && cd b && ls", *commands[2:]]
    assert [looks_like_folder(line) for line in ("# in a", "\\\\# in a", "# In a", "a # in b")] == [True, True, False, False]


def test_wide_characters_count_for_more() -> None:
    assert size("word word") == 9
    assert size("語" * 90) > 180


# --- and read back ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/: a.py, b.py", ["src/a.py", "src/b.py"]),
        ("- src/: a.py", ["src/a.py"]),
        ("./: a.py\nsrc/: b.py", ["a.py", "src/b.py"]),
        ("src/\n a/: b.py\n  c/: d.py\n e/: f.py\nlib/: g.py", ["src/a/b.py", "src/a/c/d.py", "src/e/f.py", "lib/g.py"]),
        ("src/:a.py", []),
        ("src/ a.py", []),
        ("/: a.py", []),
        ("src/", []),
        ("src/: a.py* (total, x), b.py (Coin)", ["src/a.py", "src/b.py"]),
        ("src/: {a,b}.py*, c.py", ["src/a.py", "src/b.py", "src/c.py"]),
        ("src/: {a{,.test},b}.ts", ["src/a.ts", "src/a.test.ts", "src/b.ts"]),
        ("src/: {a{,{b,c}}}.ts", ["src/{a{,{b,c}}}.ts"]),
        ("src/: {a{,{b,c}},d}.ts", ["src/a.ts", "src/a{b,c}.ts", "src/d.ts"]),
        ("src/: {a, b}.ts", ["src/a.ts", "src/b.ts"]),
        ("src/: {a}.ts, {b", ["src/{a}.ts", "src/{b"]),
        ("src/: x{a,b}y{c,d}", ["src/xay{c,d}", "src/xby{c,d}"]),
        ('src/: "a, \\"b\\".py" (total), c.py', ['src/a, "b".py', "src/c.py"]),
        ('"{a}"/: b.py', ["{a}/b.py"]),
        ("x" * 3_994 + "/: a.py", []),
        ("x" * 3_993 + "/: a.py", ["x" * 3_993 + "/a.py"]),
    ],
)
def test_the_paths_of_a_tree_are_read(text: str, paths: list[str]) -> None:
    assert paths_in(text) == paths


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("```sh\nmake\nmake b\n```\nls", ["make", "make b"]),
        ("no fence\nmake", []),
        ("```sh\nmake", ["make"]),
        ("```sh\nmake\n# in src\nls\npwd\n# in a/b\nls\n```", ["make", "cd src && ls", "cd src && pwd", "cd a/b && ls"]),
        ("```sh\n\\# in src\n\\\\# in src\n\\x\n```", ["# in src", "\\# in src", "\\x"]),
    ],
)
def test_the_commands_are_read_each_with_its_folder(text: str, commands: list[str]) -> None:
    assert commands_in(text) == commands
