"""The name of an action is short, and its key tells it from others."""

import pytest

from popkit_retention.core.policy.commandline.action import KEY_CHARS, Action, plain

PART = ("do:a@/w", [])


@pytest.mark.parametrize(
    ("name", "short"), [("a" * 80, "a" * 80), ("a" * 81, "a" * 79 + "…"), ("a" * 500, "a" * 79 + "…"), ("a  b", "a  b"), ("", "")]
)
def test_a_name_has_at_most_eighty_characters(name, short):
    assert Action("other", name, PART).name == short


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a\nb", "a b"),
        ("a\n\n  b\n", "a b"),
        ("a  b", "a  b"),
        ("a" + " " * 78 + "b", "a" + " " * 78 + "b"),
        ("a" + " " * 79 + "b", "a b"),
        ("a" + " " * 318 + "bc", "a b"),
        ("a" + " " * 319 + "bc", "a"),
        ("a" * 80, "a" * 80),
        ("a" * 81, "a" * 79 + "…"),
    ],
)
def test_a_name_that_is_long_or_has_lines_is_one_line(text, name):
    assert plain("other", [text], "/w").name == name
    assert plain("other", [], "/w", text).name == name


@pytest.mark.parametrize(
    ("words", "cwd", "extra", "key"),
    [
        (["a", "b"], "/w", "", "do:a b@/w"),
        (["a", "b"], "/w", " | c", "do:a b | c@/w"),
        (["a", "b\nc"], "/w", "", "do:a b\nc@/w"),
        (["a", "$b"], "/w", "", "do:a $b@?"),
        (["a"], "/w", " > $b", "do:a > $b@?"),
        (["a"], "?/$b", "", "do:a@?"),
    ],
)
def test_words_are_another_action_in_another_folder(words, cwd, extra, key):
    action = plain("other", words, cwd, extra)
    assert (action.part, action.kind, action.family, action.commits) == ((key, []), "other", "", False)


def test_long_words_have_a_key_of_their_own_that_is_bounded():
    keys = {plain("other", ["a" * 500 + end], "/w").part[0] for end in "bcd"}
    assert len(keys) == 3
    assert all(len(key) < len("do:@/w") + KEY_CHARS + 20 for key in keys)


def test_an_action_tells_what_it_is():
    action = Action("run", "pytest", ("run:pytest@/w", ["a"]), "test")
    assert repr(action) == "Action('run', 'pytest', ('run:pytest@/w', ['a']), 'test', False)"
    assert (action.ran, action.changes, action.move) == (0, None, None)
    assert plain("ack", ["git commit"], "/w", "", True).commits
