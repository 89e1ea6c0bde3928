"""Parts cover each other as the table in docs/design/README.md says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import parts

READ = "read:/w/a.py"

LINES = [
    ([1, 0], [10, 20], True),
    ([1, 0], [1, 0], True),
    ([1, 0], [0, 0], True),
    ([0, 0], [0, 0], False),
    ([0, 0], [1, 5], False),
    ([1, 100], [0, 0], False),
    ([1, 100], [1, 100], True),
    ([1, 100], [50, 100], True),
    ([1, 100], [50, 101], False),
    ([1, 100], [50, 0], False),
    ([50, 0], [60, 0], True),
    ([50, 0], [49, 60], False),
    ([50, 0], [1, 0], False),
]


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("a.py", "/w/a.py"),
        ("a(1).txt", "/w/a(1).txt"),
        ("src/../a.py", "/w/a.py"),
        ("$HOME/a.py", "~/a.py"),
        ("${PWD}/a.py", "/w/a.py"),
        ("$DIR/a.py", "?/$DIR/a.py"),
        ("`pwd`/a.py", "?/`pwd`/a.py"),
        (">(cat)", "?/>(cat)"),
    ],
)
def test_a_path_is_unknown_where_only_the_shell_knows_a_part_of_it(path, whole):
    assert parts.normal_path(path, "/w") == whole


@pytest.mark.parametrize(("new", "old", "covered"), LINES)
def test_lines_cover_by_containment(new, old, covered):
    assert covered is parts.covers((READ, new), (READ, old))


RUNS = [
    ([], [], True),
    ([], ["tests/a.py"], True),
    ([], ["k=login", "p=web"], True),
    (["tests/a.py"], [], False),
    (["tests"], ["tests/a.py", "tests/b/c.py"], True),
    (["tests"], ["tests2/a.py"], False),
    (["tests/a.py"], ["tests/a.py::test_x"], True),
    (["src/a.test.ts"], ["src/a.test.ts:12"], True),
    (["tests/a.py"], ["tests/b.py"], False),
    (["tests/a.py", "tests/b.py"], ["tests/b.py"], True),
    # A selection narrows whatever the paths say.
    (["k=login", "tests/a.py"], ["tests/a.py"], False),
    (["tests/a.py"], ["k=login", "tests/a.py"], True),
    (["k=login"], ["k=login", "tests/a.py"], True),
    (["k=login"], ["k=logout"], False),
    (["k=login"], [], False),
    # So does a package.
    (["p=web"], ["p=web", "src/a.ts"], True),
    (["p=web"], ["src/a.ts"], False),
    (["p=web"], ["p=api"], False),
    (["p=api", "p=web"], ["p=api"], True),
    # What depends on a variable is not known again.
    (["?$F"], ["?$F"], False),
    ([], ["?$F"], True),
    (["config"], ["config/."], True),
    (["config/."], ["config"], False),
    (["config/."], ["config/deep/."], False),
]


SEARCHES = [
    (["/w"], ["/w/src"], True),
    (["/w/src"], ["/w"], False),
    (["/w/src"], ["/w/src2"], False),
    (["/"], ["/w/src"], True),
    (["/w/a", "/w/b"], ["/w/b/c", "/w/a"], True),
    ([], ["/w/src"], True),
    (["/w/src"], [], False),
    (["?pipe"], ["?pipe"], False),
    (["/w/."], ["/w/src/."], False),
    (["/w/."], ["/w/."], True),
]


@pytest.mark.parametrize(
    ("key", "new", "old", "covered"),
    [*(("run:pytest@/w", *run) for run in RUNS), *(("search:content:login", *search) for search in SEARCHES)],
)
def test_runs_cover_by_targets_and_searches_by_roots(key, new, old, covered):
    assert covered is parts.covers((key, new), (key, old))


def test_other_keys_cover_when_they_are_the_same():
    assert parts.covers(("edit:/w/a.py", []), ("edit:/w/a.py", []))
    assert not parts.covers(("edit:/w/a.py", []), ("edit:/w/b.py", []))
    assert not parts.covers(("do:git status@/w", []), ("do:git status@/v", []))


@pytest.mark.parametrize("key", ["read:?/$X", "run:pytest@?", "do:git status@?"])
def test_an_unknown_place_is_covered_by_nothing(key):
    scope = [1, 0] if key.startswith("read") else []
    assert not parts.covers((key, scope), (key, scope))


INTERVALS = st.one_of(
    st.just([1, 0]),
    st.just([0, 0]),
    st.integers(1, 30).map(lambda start: [start, 0]),
    st.tuples(st.integers(1, 30), st.integers(0, 20)).map(lambda pair: [pair[0], pair[0] + pair[1]]),
)
TARGETS = st.lists(
    st.sampled_from(["a", "a/b", "a/b/c", "ab", "a/b.py", "a/b.py::t", "k=x", "k=y", "p=web", "p=api", "a/."]), unique=True, max_size=4
).map(sorted)
PARTS = st.one_of(
    st.tuples(st.just(READ), INTERVALS),
    st.tuples(st.sampled_from(["run:x@/w", "run:y@/w"]), TARGETS),
    st.tuples(
        st.just("search:content:x"), st.lists(st.sampled_from(["/", "/w", "/w/a", "/wa", "/w/a/b", "/w/."]), unique=True, max_size=3)
    ),
    st.tuples(st.sampled_from(["do:a@/w", "edit:/w/a"]), st.just([])),
)


@given(PARTS)
def test_a_part_covers_itself(part):
    """An excerpt of unknown extent is the one exception: another look may show other lines."""
    assert parts.covers(part, part) is (part[1] != [0, 0])


@given(PARTS, PARTS, PARTS)
def test_covering_is_transitive(new, middle, old):
    if parts.covers(new, middle) and parts.covers(middle, old):
        assert parts.covers(new, old)


@given(st.lists(INTERVALS, max_size=6))
def test_a_union_shows_what_its_intervals_show(intervals):
    joined = parts.union(intervals)
    shown = {line for start, end in intervals if start for line in range(start, (end or 99) + 1)}
    assert shown == {line for start, end in joined for line in range(start, (end or 99) + 1)}
    assert joined == parts.union(joined)
    assert all(before[1] + 1 < after[0] for before, after in zip(joined, joined[1:]))


@pytest.mark.parametrize(
    ("intervals", "text"),
    [
        ([[1, 100], [101, 150]], "lines 1-150"),
        ([[1, 20], [40, 0]], "lines 1-20, 40-"),
        ([[7, 7]], "line 7"),
        ([[5, 0], [1, 6]], "all"),
        ([[1, 0]], "all"),
        ([[0, 0]], "part"),
        ([], "part"),
    ],
)
def test_intervals_are_described_for_people(intervals, text):
    assert text == parts.describe_intervals(intervals)


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
    ("a.py", "docker:web:/srv", "docker:web:/srv/a.py"),
    ("/etc/x", "docker:web:", "docker:web:/etc/x"),
]


@pytest.mark.parametrize(("path", "cwd", "normal"), PATHS)
def test_paths_have_one_form(path, cwd, normal):
    assert normal == parts.normal_path(path, cwd)


@given(st.text(max_size=30), st.sampled_from(["/w", "", "?", "C:\\x", "docker:a:", "~"]))
def test_normal_paths_stay_as_they_are(path, cwd):
    once = parts.normal_path(path, cwd)
    if once and once[0] in "/~" and not parts.has_variable(once):
        assert once == parts.normal_path(once, "/elsewhere")


@pytest.mark.parametrize(
    ("pattern", "root", "part"),
    [
        ("*.ts", "/w", ("search:files:name:*.ts", ["/w"])),
        ("**/*.ts", "/w", ("search:files:name:*.ts", ["/w"])),
        ("src/**/*.ts", "/w", ("search:files:name:*.ts", ["/w/src"])),
        ("src/*.ts", "/w", ("search:files:name:./*.ts", ["/w/src/."])),
        ("**/api/*.ts", "/w", ("search:files:name:api/*.ts", ["/w"])),
        ("/etc/*.conf", "/w", ("search:files:name:./*.conf", ["/etc/."])),
        ("./a.ts", "/w", ("search:files:name:a.ts", ["/w"])),
    ],
)
def test_globs_that_find_the_same_have_one_part(pattern, root, part):
    assert part == parts.file_search(pattern, [root])


def test_a_search_of_other_meaning_has_another_key():
    keys = {parts.content_search("a", ["/w"], *args)[0] for args in [(), (True,), (False, "w"), (True, "w"), (False, "v")]}
    assert len(keys) == 5
