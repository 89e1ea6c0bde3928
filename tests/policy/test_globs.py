"""Globs on paths and command lines."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy import globs, needles
from tests.examples import examples

PATHS = [
    ("*.md", "/home/me/notes.md", True),
    ("*.md", "/home/me/notes.md.bak", False),
    ("*.md", "notes.md", True),
    ("*.test.*", "/src/auth.test.ts", True),
    # A folder's name does not decide what a file is.
    ("*.test.*", "/srv/app.test.org/src/main.py", False),
    ("STATUS.json", "/home/me/STATUS.json", True),
    ("STATUS.json", "/home/me/status.json", False),
    ("STATUS.json", "/home/me/OLD_STATUS.json", False),
    ("src/*.py", "/home/me/src/a.py", True),
    ("src/*.py", "/home/me/src/deep/a.py", False),
    ("src/*.py", "/home/me/mysrc/a.py", False),
    ("src/**/*.py", "/home/me/src/a.py", True),
    ("src/**/*.py", "/home/me/src/deep/er/a.py", True),
    ("src/auth.py", "/home/me/src/auth.py", True),
    ("src/auth.py", "src/auth.py", True),
    ("src/auth.py", "/home/me/mysrc/auth.py", False),
    ("./src/auth.py", "/home/me/src/auth.py", True),
    ("/home/me/*.py", "/home/me/a.py", True),
    ("/me/*.py", "/home/me/a.py", False),
    ("/home/me/a.py", "/home/me/a.py", True),
    ("/me/a.py", "/home/me/a.py", False),
    ("docs/", "/home/me/docs/deep/a.txt", True),
    ("docs/", "/home/me/docs", False),
    ("docs/", "/home/me/mydocs/a.txt", False),
    ("**", "/home/me/a.txt", True),
    ("**/a.txt", "a.txt", True),
    ("a?.txt", "/x/ab.txt", True),
    ("a?.txt", "/x/a.txt", False),
    ("a?b", "a/b", False),
    ("[ab].txt", "/x/b.txt", True),
    ("[!ab].txt", "/x/b.txt", False),
    ("[^ab].txt", "/x/c.txt", True),
    ("v[0-9].txt", "/x/v7.txt", True),
    ("[]x].txt", "/x/].txt", True),
    ("[a-].txt", "/x/-.txt", True),
    ("[ab.txt", "/x/[ab.txt", True),
    ("[*].txt", "/x/*.txt", True),
    ("[*].txt", "/x/a.txt", False),
    ("a*a", "/x/a", False),
    ("a*b*b", "/x/ab", False),
    ("src/*.py", "C:\\work\\src\\a.py", True),
    ("*.py", "C:\\my work\\a.py", True),
    ("*.md", "/my notes/a.md", True),
    ("", "", False),
    ("", "/x", False),
    ("*", "", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), PATHS)
def test_a_glob_on_a_path(pattern, path, expected):
    assert globs.matches(pattern, path) is expected


COMMANDS = [
    ("npm test", "npm test", True),
    ("npm test", "npm test -- a", False),
    ("npm *", "npm run build", True),
    ("pytest*", "pytest tests/unit/test_a.py", True),
    ("*deploy*", "make deploy/prod now", True),
    ("git commit -m ?", "git commit -m x", True),
    ("git [cp]*", "git push origin", True),
]


@pytest.mark.parametrize(("pattern", "command", "expected"), COMMANDS)
def test_a_glob_on_a_command_line_takes_slashes_as_any_other_character(pattern, command, expected):
    assert globs.matches_command(pattern, command) is expected
    assert globs.matches(pattern, command) is expected


def test_a_pattern_longer_than_the_limit_matches_nothing():
    name = "a" * (globs.LONGEST_PATTERN + 1)
    assert not globs.matches(name, name)
    assert not globs.matches_command(name, name)


def test_of_a_long_path_the_end_is_compared_and_of_a_long_command_the_beginning():
    assert globs.matches("src/*.py", "/deep" * 1000 + "/src/a.py")
    assert globs.matches("*.py", "/deep" * 1000 + "/src/a.py")
    assert globs.matches_command("git log*", "git log " + "x" * 5000)


HOSTILE = [
    ("*a" * 127 + "b", "a" * 5000),
    ("*[ab]" * 51, "c" * 5000),
    ("*" + "[ab]" * 60 + "c", "a" * 5000),
    ("?*" * 127, "".join(chr(200 + n) for n in range(1000))),
    ("**/a/" * 51, "/a" * 3000 + "/b"),
    ("**/*a*a*a/" * 25, "/aaaaaaa" * 1000),
]


@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_no_pattern_takes_long(pattern, text):
    start = time.process_time()
    globs.matches(pattern, text)
    globs.matches_command(pattern, text)
    # Some milliseconds; the bound leaves room for a busy machine, and none for backtracking.
    assert time.process_time() - start < 1


def _segment_by_regex(pattern: str, segment: str) -> bool:
    expression, at = "", 0
    while at < len(pattern):
        found = re.match(r"\[[!^]?.[^\]]*\]", pattern[at:])
        if found:
            expression += found[0].replace("[!", "[^")
            at += len(found[0])
        else:
            expression += {"*": ".*", "?": "."}.get(pattern[at], re.escape(pattern[at]))
            at += 1
    return bool(re.fullmatch(expression, segment, re.DOTALL))


def _covers_naively(wanted: list, given_: list) -> bool:
    if not wanted:
        return not given_
    if wanted[0] == "**":
        return any(_covers_naively(wanted[1:], given_[n:]) for n in range(len(given_) + 1))
    return bool(given_) and _segment_by_regex(wanted[0], given_[0]) and _covers_naively(wanted[1:], given_[1:])


def _matches_naively(pattern: str, path: str) -> bool:
    """What `matches` says of paths: the definition written out, with no thought of time."""
    if "/" not in pattern:
        return _segment_by_regex(pattern, path.rsplit("/", maxsplit=1)[-1])
    wanted = (pattern + "**/*" if pattern.endswith("/") else pattern).split("/")
    tails = range(1) if pattern.startswith("/") else range(len(path.split("/")))
    return any(_covers_naively(wanted, path.split("/")[n:]) for n in tails)


# Few letters, so that patterns often match; sets as whole pieces without ranges.
_PIECES = st.sampled_from(["a", "b", "*", "?", "/", ".", "**", "[ab]", "[!a]", "/**/"])


@settings(max_examples=examples(200, 1500), deadline=None)
@given(st.lists(_PIECES, max_size=8).map("".join), st.text("ab./", max_size=10))
@example("a/**", "a")
@example("**/**", "a")
def test_globs_agree_with_their_definition_written_out(pattern, path):
    if not pattern or pattern.startswith("./"):
        return
    assert globs.matches(pattern, path) == _matches_naively(pattern, path), (pattern, path)


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=1500))
def test_no_text_makes_a_glob_raise(pattern, text):
    assert globs.matches(pattern, text) in (True, False)
    assert globs.matches_command(pattern, text) in (True, False)


@given(st.text("ab /.-_\n", min_size=1, max_size=200))
def test_a_literal_matches_itself(text):
    assert globs.matches_command(text, text)


GOLDEN = Path(__file__).with_name("goldens") / "globs.txt"
PATTERNS = (
    "a|b|*|**|?|a*|*a|*a*|a*b|a**b|a?b|??|[ab]|[!ab]|[^ab]|[a-c]|[!a-c]|[a-]|[-a]|[a-c-e]|[]a]|[!]a]|[|[a|a[|[]|[!]|a]|[a]b[c]|[a-cx-z]?|*[0-9]|*[ab]*|"
    "a/b|a/*|*/a|*/b|a/|a/*/|/a|/a/b|/a/*|/*/b|/**/b|**/b|a/**|a/**/b|a/**/**/b|**/a/**|*/**|./a|./a/b|./*|/|//|a//b|.|..|~/a|a\\b|a\\*|C:\\*|C:/*|"
    "a b|a *|* b|a ?|a [b]|*b c|/a b/*|*.a|.*|a.b|*.?"
).split("|")  # fmt: skip
TEXTS = (
    "|a|b|c|d|-|]|[|[a|a[|!|^|ab|aab|abb|acb|a-b|axb|xz|a1|x.a|.a|a.b|/a|/b|a/|/a/|a/b|/a/b|a/c/b|/a/c/b|/a/c/d/b|/x/a/b|/x/a|x/b|xa/b|a/bx|/ab|/x/y/z|./a|"
    "a\\b|C:\\a|C:\\a b|C:\\a\\b|C:/a|~/a|~a b|.a b|/a b|/a b/c|\\a b|a b|a bc|a b/c|a  b|b a|x b|a/b c| b|É|é"
).split("|")


def test_each_pattern_matches_the_texts_that_the_golden_lists(golden):
    rows = [
        f"{pattern} => {' | '.join(text for text in TEXTS if globs.matches(pattern, text))}"
        f" => {' | '.join(text for text in TEXTS if globs.matches_command(pattern, text) is not globs.matches(pattern, text))}"
        f" => {needles.is_wild(pattern)} {needles.needle_of(pattern)}".rstrip()
        for pattern in PATTERNS
    ]
    golden(GOLDEN, "\n".join(rows) + "\n")


@pytest.mark.parametrize("wild", ["", "*", "?*", "[a]*"])
def test_a_pattern_of_the_longest_length_still_matches(wild):
    rest = "a" * (globs.LONGEST_PATTERN - len(wild))
    text = rest + "a" * 3
    assert globs.matches(wild + rest, rest if not wild else text)
    assert globs.matches_command(wild + rest, rest if not wild else text)
    assert not globs.matches(wild + rest + "a", (rest if not wild else text) + "a")
    assert not globs.matches_command(wild + rest + "a", (rest if not wild else text) + "a")


def test_of_a_text_exactly_so_much_is_compared():
    most = globs.LONGEST_TEXT
    assert globs.matches("?" + "*b", "a" * (most - 1) + "b")
    assert not globs.matches("a*b", "a" * most + "b")
    assert globs.matches_command("a*b", "a" * (most - 1) + "b")
    assert not globs.matches_command("a*b", "a" * most + "b")
    assert globs.matches("/a/*", "/a/" + "b" * (most - 3))
    assert not globs.matches("/a/*", "/a/" + "b" * (most - 2))
    assert not globs.matches("x/**", "x/" + "b/" * (most // 2))


def test_so_many_patterns_are_remembered_and_then_forgotten():
    globs._COMPILED.clear()
    for number in range(globs._MOST_COMPILED):
        assert globs.matches(f"?{number}*", f"x{number}")
    assert len(globs._COMPILED) == globs._MOST_COMPILED
    assert globs.matches("?a*", "xa")
    assert list(globs._COMPILED) == ["?a*"]
    assert globs.matches("?0*", "x0")
