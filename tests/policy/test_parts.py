"""Parts cover each other as the table in docs/design/README.md says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy import parts
from popkit_retention.core.policy.coverage import covers
from tests.policy.test_part_intervals import INTERVALS

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


@pytest.mark.parametrize(("new", "old", "covered"), LINES)
def test_lines_cover_by_containment(new, old, covered):
    assert covered is covers((READ, new), (READ, old))


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
    assert covered is covers((key, new), (key, old))


def test_other_keys_cover_when_they_are_the_same():
    assert covers(("edit:/w/a.py", []), ("edit:/w/a.py", []))
    assert not covers(("edit:/w/a.py", []), ("edit:/w/b.py", []))
    assert not covers(("do:git status@/w", []), ("do:git status@/v", []))


@pytest.mark.parametrize("key", ["read:?/$X", "run:pytest@?", "do:git status@?"])
def test_an_unknown_place_is_covered_by_nothing(key):
    scope = [1, 0] if key.startswith("read") else []
    assert not covers((key, scope), (key, scope))


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
    assert covers(part, part) is (part[1] != [0, 0])


@given(PARTS, PARTS, PARTS)
def test_covering_is_transitive(new, middle, old):
    if covers(new, middle) and covers(middle, old):
        assert covers(new, old)


def test_a_search_of_other_meaning_has_another_key():
    keys = {parts.content_search("a", ["/w"], *args)[0] for args in [(), (True,), (False, "w"), (True, "w"), (False, "v")]}
    assert len(keys) == 5


@pytest.mark.parametrize(
    ("key", "is_of_lines"), [("read:/w/a", True), ("revision:/w:main:a", True), ("run:x@/w", False), ("search:content:read:", False)]
)
def test_lines_of_a_file_are_read_from_disk_or_a_commit(key, is_of_lines):
    assert parts.is_of_lines((key, [1, 0])) is is_of_lines


@pytest.mark.parametrize(
    ("insensitive", "flags", "key"),
    [
        (False, "", "search:content:a"),
        (True, "", "search:content:a:-i"),
        (False, "vw", "search:content:a:-vw"),
        (True, "wF", "search:content:a:-Fiw"),
        (True, "i", "search:content:a:-i"),
    ],
)
def test_what_changes_the_matches_of_a_search_is_in_its_key(insensitive, flags, key):
    assert parts.content_search("a", ["/w"], insensitive, flags) == (key, ["/w"])


@pytest.mark.parametrize(("root", "here"), [("/w", "/w/."), ("/w/", "/w/."), ("/", "/.")])
def test_a_search_that_stays_in_its_root_has_none_of_its_folders(root, here):
    assert parts.here_only(root) == here
    assert covers(("search:files:ls:", [root]), ("search:files:ls:", [here]))
    assert not covers(("search:files:ls:", [here]), ("search:files:ls:", [root]))


TREES = [
    (["do:a", "files", "/w"], ["do:a", "files", "/w"], True),
    (["do:a", "files", "/w"], ["do:a", "files", "/w/src"], True),
    (["do:a", "files", "/w/src"], ["do:a", "files", "/w"], False),
    (["do:a", "files", "/w"], ["do:b", "files", "/w"], False),
    (["do:a", "files", "/w"], ["do:a", "index", "/w"], False),
    (["do:a", "files", "/w", "l=x"], ["do:a", "files", "/w"], False),
    (["do:a", "files", "/w"], ["do:a", "files", "/w", "l=x"], True),
    (["do:a", "files", "/w", "m=x"], ["do:a", "files", "/w/src"], True),
    (["do:a", "files", "/w"], ["do:a", "files", "/w", "m=x"], False),
]
MARKS = [
    # What shows less is covered by what shows all, or no less.
    (["l=x"], [], False),
    ([], ["l=x"], True),
    (["l=x"], ["l=x"], True),
    (["l=x"], ["l=x", "l=y"], True),
    (["l=x", "l=y"], ["l=x"], False),
    # What shows more is covered by what does, too.
    (["m=x"], [], True),
    ([], ["m=x"], False),
    (["m=x"], ["m=x"], True),
    (["m=x"], ["m=y"], False),
    # Of what is merely another, only the same is the same; of another tree, too.
    (["v=x"], [], False),
    ([], ["v=x"], False),
    (["v=x"], ["v=x"], True),
    (["v=x"], ["v=y"], False),
    (["t=x"], [], False),
    ([], ["t=x"], False),
    (["t=x"], ["t=x"], True),
    # Not even that, where it may have another value.
    (["v=A=$X"], ["v=A=$X"], False),
    (["v=?xargs"], ["v=?xargs"], False),
    (["v=A=$PATH:${HOME}/x:$USER:$PWD"], ["v=A=$PATH:${HOME}/x:$USER:$PWD"], True),
    (["v=A=$PATH:$X"], ["v=A=$PATH:$X"], False),
    # Limits that are numbers.
    (["l=head ≤5"], ["l=head ≤5"], True),
    (["l=head ≤9"], ["l=head ≤5"], True),
    (["l=head ≤10"], ["l=head ≤9"], True),
    (["l=head ≤5"], ["l=head ≤9"], False),
    (["l=head ≤9"], ["l=tail ≤5"], False),
    (["l=head ≤x"], ["l=head ≤5"], False),
    (["l=head ≤9"], ["l=head ≤x"], False),
    (["l=head ≤9"], ["l=head ≤²"], False),
    (["l=head ≤²"], ["l=head ≤9"], False),
    (["l=head ≤" + "9" * 5_000], ["l=head ≤9"], False),
    (["m=after ≥9"], ["m=after ≥5"], True),
    (["m=after ≥10"], ["m=after ≥9"], True),
    (["m=after ≥5"], ["m=after ≥9"], False),
    (["m=after ≥9"], ["m=before ≥5"], False),
    (["m=after ≥5", "m=after ≥9"], ["m=after ≥7"], True),
    (["l=after ≥9"], ["l=after ≥5"], False),
    (["m=after ≤5"], ["m=after ≤9"], False),
    (["v=x ≤9"], ["v=x ≤5"], False),
]


@pytest.mark.parametrize(
    ("key", "new", "old", "covered"),
    [
        *(("tree:", *tree) for tree in TREES),
        *(("do:x@/w", *marks) for marks in MARKS),
        *(("run:x@/w", *marks) for marks in MARKS),
        *(("search:content:x", ["/w", *new], ["/w/a", *old], covered) for new, old, covered in MARKS),
    ],
)
def test_a_look_covers_one_that_shows_no_more(key, new, old, covered):
    assert covers((key, new), (key, old)) is covered


@pytest.mark.parametrize(
    ("key", "new", "old", "covered"),
    [
        ("run:npm:test@/w", [], ["p=web"], False),
        ("run:cargo:test@/w", [], ["p=web"], False),
        ("run:cargo:test@/w", ["m=--workspace"], ["p=web"], True),
        ("run:cargo:test@/w", ["m=--all"], ["p=web"], True),
        ("run:cargo:test@/w", ["m=--all-features"], ["p=web"], False),
        ("run:gradle:test@/w", [], ["p=web"], True),
        ("run:npm:test@/w", ["p=*"], ["p=web"], True),
        ("run:npm:test@/w", ["p=*"], ["p=*"], True),
        ("run:npm:test@/w", ["p=*"], [], False),
        ("run:npm:test@/w", ["p=web"], ["p=*"], False),
        ("run:npm:test@/w", ["p=*", "k=a"], ["p=web", "k=a"], True),
        ("run:npm:test@/w", ["p=*", "k=a"], ["p=web"], False),
        ("run:npm:test@/w", ["p=*", "a.ts"], ["p=web", "b.ts"], False),
        ("run:npm:test@/w", ["p=web"], ["p=web", "l=x"], True),
        ("run:pytest@/w", ["k=a", "k=b"], ["k=a"], False),
        ("run:pytest@/w", ["k=a"], ["k=a", "k=b"], False),
        ("run:pytest@/w", ["a/"], ["a/b.py"], True),
    ],
)
def test_a_run_covers_the_packages_that_it_runs(key, new, old, covered):
    assert covers((key, new), (key, old)) is covered


@pytest.mark.parametrize(
    ("key", "covered"),
    [
        ("revision:/w:main:a.py", True),
        ("revision:?/$R:a.py", False),
        ("read:?/$X", False),
        ("run:x@?", False),
        ("read:/w/?", True),
    ],
)
def test_a_file_in_a_known_place_is_covered_by_its_next_read(key, covered):
    assert covers((key, [1, 0]), (key, [2, 3])) is covered


def test_marks_stand_behind_the_scope_in_an_order_of_their_own():
    scope = ["b", "a"]
    assert parts.marked(scope, ["m=y", "l=x", "m=y"]) == ["b", "a", "l=x", "m=y"]
    assert parts.marked(scope, []) is scope
    part = ("do:x@/w", ["b", "m=y", "a"])
    assert parts.with_marks(part, ["l=x", "m=y"]) == ("do:x@/w", ["b", "a", "l=x", "m=y"])
    assert parts.with_marks(part, []) is part


@pytest.mark.parametrize(
    ("marks", "lines", "left"),
    [
        (["l= | head ≤5"], 4, []),
        (["l= | head ≤5"], 5, ["l= | head ≤5"]),
        (["l= | head ≤5"], 6, ["l= | head ≤5"]),
        (["l= | tail ≤10"], 9, []),
        (["l= | grep x", "l= | grep x | tail ≤5"], 1, ["l= | grep x"]),
        (["l= | tail ≤5", "l= | tail ≤5 | grep x"], 1, ["l= | tail ≤5", "l= | tail ≤5 | grep x"]),
        (["l=head ≤5"], 1, ["l=head ≤5"]),
        (["l= | sed ≤5"], 1, ["l= | sed ≤5"]),
        (["l= | head ≤x"], 1, ["l= | head ≤x"]),
        (["l= | head ≤²"], 1, ["l= | head ≤²"]),
        (["m= | head ≤5"], 1, ["m= | head ≤5"]),
        ([], 1, []),
    ],
)
def test_a_limit_that_left_nothing_out_is_none(marks, lines, left):
    assert parts.uncut(("run:x@/w", ["a", *marks]), lines) == ("run:x@/w", ["a", *left])


@pytest.mark.parametrize(
    ("part", "key", "name"),
    [
        (("tree:", ["do:git diff@/w", "files", "/w/a", "l=x"]), "do:git diff@/w", "do:git diff@/w /w/a"),
        (("search:content:x", ["/w", "/v", "m=n"]), "search:content:x", "search:content:x /w /v"),
        (("run:x@/w", ["a", "l=x"]), "run:x@/w", "run:x@/w"),
        (("read:/w/a", [1, 0]), "read:/w/a", "read:/w/a"),
    ],
)
def test_an_action_goes_by_its_key_and_a_look_by_its_places(part, key, name):
    assert parts.action_key(part) == key
    assert parts.action_of(part) == name


@pytest.mark.parametrize(
    ("place", "changed", "is_shown"),
    [
        ("/w/src", ["files"], True),
        ("/w/src/a.py", ["files", "index"], True),
        ("/w", ["files"], True),
        ("/", ["files"], True),
        ("/w/lib", ["files"], False),
        ("/w/srcs", ["files"], False),
        ("/w/sr", ["files"], False),
        ("/w/src", ["index"], False),
        ("/w/src", [], False),
        ("?/src", ["files"], False),
    ],
)
def test_a_look_at_a_tree_shows_a_change_in_its_places(place, changed, is_shown):
    for places in (["/v", "/w/src"], ["/w/src", "/v"]):
        assert parts.is_shown(("tree:", ["do:git status@/w", "files", *places]), place, changed) is is_shown
    assert not parts.is_shown(("do:git status@/w", ["files", "files", "/w/src"]), place, changed)


def test_a_look_at_an_unknown_folder_shows_no_change_in_it():
    assert not parts.is_shown(("tree:", ["do:git status@?", "files", "?/x"]), "?/x", ["files"])
