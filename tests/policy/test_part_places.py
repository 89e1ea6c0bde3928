"""The places that parts name: paths as a folder makes of them, what only the shell knows, and where globs look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import parts

PATHS = [
    ("a.py", "/w", "/w/a.py"),
    ("./a/../b.py", "/w", "/w/b.py"),
    ("../b.py", "/w/x", "/w/b.py"),
    ("/abs//b/", "/w", "/abs/b"),
    ("", "/w", "/w"),
    (".", "/w", "/w"),
    ("a.py", "/", "/a.py"),
    ("~/a.py", "/w", "~/a.py"),
    ("$HOME/a.py", "/w", "~/a.py"),
    ("${HOME}/a.py", "/w", "~/a.py"),
    ("$PWD/a.py", "/w", "/w/a.py"),
    ("$X/a.py", "/w", "?/$X/a.py"),
    ("a.py", "?", "?/a.py"),
    ("/abs/a.py", "?", "/abs/a.py"),
    ("~/../a", "/w", "?/~/../a"),
    ("src\\a.py", "D:\\w", "D:/w/src/a.py"),
    ("d:\\w\\a.py", "/x", "D:/w/a.py"),
    ("/d/w/a.py", "C:/x", "D:/w/a.py"),
    ("a.py", "docker:web", "docker:web/a.py"),
    ("a.py", "docker:web:/srv", "docker:web:/srv/a.py"),
    ("/etc/x", "docker:web:", "docker:web:/etc/x"),
    ("a(1).txt", "/w", "/w/a(1).txt"),
    ("src/../a.py", "/w", "/w/a.py"),
    ("${PWD}/a.py", "/w", "/w/a.py"),
    ("$DIR/a.py", "/w", "?/$DIR/a.py"),
    ("`pwd`/a.py", "/w", "?/`pwd`/a.py"),
    (">(cat)", "/w", "?/>(cat)"),
    # The shell's own names of folders, alone or before a slash; a longer name is another variable.
    ("$HOME", "/w", "~"),
    ("${HOME}", "/w", "~"),
    ("$HOMES/a", "/w", "?/$HOMES/a"),
    ("${HOME}s", "/w", "?/${HOME}s"),
    ("$PWD/", "/w", "/w"),
    ("$PWD/../a", "/w/x", "/w/a"),
    ("$PWDS/a", "/w", "?/$PWDS/a"),
    ("a$HOME/b", "/w", "?/a$HOME/b"),
    ("$HOME/$X", "/w", "?/~/$X"),
    ("a$", "/w", "/w/a$"),
    # What a command prints is a file without a name.
    ("<(a)", "/w", "?/<(a)"),
    ("a<(b)", "/w", "/w/a<(b)"),
    ("a>(b)", "/w", "/w/a>(b)"),
    # Detours.
    (".", "/", "/"),
    ("..", "/", "/"),
    ("/", "/w", "/"),
    ("//", "/w", "/"),
    ("//a/b", "/w", "/a/b"),
    ("a//b", "/w", "/w/a/b"),
    ("a/", "/w", "/w/a"),
    ("a/./b", "/w", "/w/a/b"),
    (".a/b", "/w", "/w/.a/b"),
    ("a/.b", "/w", "/w/a/.b"),
    ("a..b", "/w", "/w/a..b"),
    ("a", "/w/", "/w/a"),
    ("a", "", "a"),
    ("./a", "", "a"),
    ("", "/w/x", "/w/x"),
    # A home folder has no known parent.
    ("~", "/w", "~"),
    ("~/", "/w", "~"),
    ("~/./a", "/w", "~/a"),
    ("~/a/../b", "/w", "?/~/a/../b"),
    ("~ann/a", "/w", "~ann/a"),
    ("..", "~", "?/~/.."),
    ("a", "~", "~/a"),
    # Nor has a folder that is not known anything that is.
    ("a", "?/$X", "?/a"),
    ("", "?/$X", "?/$X"),
    ("~/a", "?", "~/a"),
    ("C:\\a", "?", "C:/a"),
    # Windows.
    ("a", "C:\\", "C:/a"),
    ("a\\..\\b", "C:/w", "C:/w/b"),
    ("c:/a", "/w", "C:/a"),
    ("c:", "/w", "C:"),
    ("/d", "C:/w", "D:"),
    ("/d/", "C:/w", "D:"),
    ("/dd/a", "C:/w", "/dd/a"),
    ("/1/a", "C:/w", "/1/a"),
    ("/d/a", "/w", "/d/a"),
    ("1:\\a", "/w", "1:/a"),
    ("\\\\host\\share\\a", "/w", "/host/share/a"),
    ("a\\b", "/w", "/w/a\\b"),
    # A container has folders of its own; a container that is named alone begins in a home.
    ("a", "docker:web:", "docker:web:~/a"),
    ("", "docker:web:/srv", "docker:web:/srv"),
    ("..", "docker:web:/srv/x", "docker:web:/srv"),
    ("a", "docker:w:/", "docker:w:/a"),
]


@pytest.mark.parametrize(("path", "cwd", "normal"), PATHS)
def test_a_path_is_what_the_folder_makes_of_it(path, cwd, normal):
    assert normal == parts.normal_path(path, cwd)


@given(st.text(max_size=30), st.sampled_from(["/w", "", "?", "C:\\x", "docker:a:", "~"]))
def test_normal_paths_stay_as_they_are(path, cwd):
    once = parts.normal_path(path, cwd)
    if once and once[0] in "/~" and not parts.has_variable(once):
        assert once == parts.normal_path(once, "/elsewhere")


@pytest.mark.parametrize(
    ("path", "folder", "lies_in"),
    [("/w/a.py", "/w", True), ("/w/x/a.py", "/w", True), ("/w", "/w", False), ("/wx/a.py", "/w", False), ("/w", "/", True)],
)
def test_a_path_lies_in_each_folder_above_it(path, folder, lies_in):
    assert parts.lies_in(path, folder) == lies_in


@pytest.mark.parametrize("text", ["$x", "$_", "a$1", "${x}", "$(a)", "`a`", "a`", "$@", "$*", "$?", "$!", "$#", "$-", "$$", "$ $x", "$.$x"])
def test_a_text_changes_where_the_shell_puts_something_else_there(text):
    assert parts.has_variable(text)


@pytest.mark.parametrize("text", ["", "a", "$", "a$", "$.", "$ x", "^a$|b", "$/", "$,$", "a{x}", "(a)"])
def test_a_text_without_a_variable_stays(text):
    assert not parts.has_variable(text)


@pytest.mark.parametrize(
    ("path", "is_glob"), [("*.ts", True), ("a?", True), ("[ab]", True), ("{a,b}", True), ("a.ts", False), ("a]}", False)]
)
def test_a_glob_has_one_of_its_signs(path, is_glob):
    assert parts.has_glob(path) is is_glob


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("a.py", ("read:/w/a.py", [3, 9])),
        ("*.py", ("read:/w/*.py", [0, 0])),
        ("a?.py", ("read:/w/a?.py", [0, 0])),
        ("{a,b}.py", ("read:/w/{a,b}.py", [0, 0])),
        ("app/[id].tsx", ("read:/w/app/[id].tsx", [3, 9])),
        ("$F", ("read:?/$F", [0, 0])),
    ],
)
def test_which_lines_a_glob_shows_is_unknown(path, part):
    assert parts.read_part(path, [3, 9], "/w") == part


@pytest.mark.parametrize(
    ("revision", "path", "cwd", "part"),
    [
        ("main", "a.py", "/w", ("revision:/w:main:a.py", [3, 9])),
        ("main", "./a.py", "/w", ("revision:/w:main:./a.py", [3, 9])),
        ("$R", "a.py", "/w", ("revision:?/$R:a.py", [0, 0])),
        ("main", "$F", "/w", ("revision:?/main:$F", [0, 0])),
        ("main", "a.py", "?/$D", ("revision:?/main:a.py", [0, 0])),
    ],
)
def test_lines_of_a_commit_are_known_by_all_that_names_them(revision, path, cwd, part):
    assert parts.revision_part(revision, path, [3, 9], cwd) == part


def test_an_interval_of_a_part_is_its_own():
    for path in ("a", "*"):
        parts.read_part(path, parts.WHOLE, "/w")[1].append(7)
    assert (parts.WHOLE, parts.EXCERPT) == ([1, 0], [0, 0])


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("*.ts", ("search:files:name:*.ts", ["/w"])),
        ("**/*.ts", ("search:files:name:*.ts", ["/w"])),
        ("src/**/*.ts", ("search:files:name:*.ts", ["/w/src"])),
        ("src/*.ts", ("search:files:name:./*.ts", ["/w/src/."])),
        ("**/api/*.ts", ("search:files:name:api/*.ts", ["/w"])),
        ("/etc/*.conf", ("search:files:name:./*.conf", ["/etc/."])),
        ("./a.ts", ("search:files:name:a.ts", ["/w"])),
        ("a/b/*.ts", ("search:files:name:./*.ts", ["/w/a/b/."])),
        ("a/**/**/b/*.ts", ("search:files:name:b/*.ts", ["/w/a"])),
        ("a/*/b.ts", ("search:files:name:./*/b.ts", ["/w/a/."])),
        ("a/*/**/b.ts", ("search:files:name:./*/**/b.ts", ["/w/a/."])),
        ("a/[bc]/d", ("search:files:name:./[bc]/d", ["/w/a/."])),
        ("a/{b,c}/d", ("search:files:name:./{b,c}/d", ["/w/a/."])),
        ("a/b?/d", ("search:files:name:./b?/d", ["/w/a/."])),
        ("../*.ts", ("search:files:name:./*.ts", ["/."])),
        ("**/a", ("search:files:name:a", ["/w"])),
        ("/**/a", ("search:files:name:a", ["/"])),
        ("/a", ("search:files:name:a", ["/"])),
        ("./a/b", ("search:files:name:./b", ["/w/a/."])),
        ("./**/b", ("search:files:name:b", ["/w"])),
    ],
)
def test_the_folders_a_glob_begins_with_are_where_it_looks(pattern, part):
    assert parts.file_search(pattern, ["/w"]) == part


def test_a_glob_looks_below_each_of_its_roots():
    assert parts.file_search("src/*.ts", ["/a", "/b/"]) == ("search:files:name:./*.ts", ["/a/src/.", "/b/src/."])
