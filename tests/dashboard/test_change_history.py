"""What has changed since a token was given: once, whole, and within bounds."""

from __future__ import annotations

import pytest

from popkit_retention.dashboard.app_state import MOST_GONE, MOST_REPORTED, History

ONE, OTHER = ("/api/one", ""), ("/api/one/", "other")


@pytest.fixture
def history() -> History:
    found = History("run")
    found.note({ONE: "1", OTHER: "1"})
    return found


def test_what_has_not_changed_is_not_told(history: History) -> None:
    token = history.token
    history.note({ONE: "1", OTHER: "1"})
    assert (history.since(token), history.token) == ([], token)


def test_each_asker_is_told_what_has_changed_since_it_asked(history: History) -> None:
    first = history.token
    history.note({ONE: "2", OTHER: "1"})
    second = history.token
    history.note({ONE: "2", OTHER: "2"})
    assert [history.since(token) for token in (first, second, history.token)] == [[ONE, OTHER], [OTHER], []]


def test_a_name_that_comes_goes_or_is_said_to_have_changed_has(history: History) -> None:
    token = history.token
    history.note({ONE: "1"})
    assert history.since(token) == [OTHER]
    token = history.token
    history.note({ONE: "1", OTHER: "1"})
    assert history.since(token) == [OTHER]
    token = history.token
    history.note({ONE: "1", OTHER: "1"}, also=[ONE])
    assert history.since(token) == [ONE]


def test_a_stamp_of_none_is_a_stamp(history: History) -> None:
    token = history.token
    history.note({ONE: "1", OTHER: "1", ("/api/two", ""): None})
    assert history.since(token) == [("/api/two", "")]


@pytest.mark.parametrize(
    "token", ["", "-", "run", "run-", "run-2", "run--1", "run-x", "run-²", "other-1", "run-1-1", "\0", "run-" + "9" * 90]
)
def test_what_is_no_token_of_this_run_tells_of_everything(history: History, token: str) -> None:
    assert history.since(token) is None


def test_where_much_has_changed_everything_is_told(history: History) -> None:
    token = history.token
    names = {("/api/one/", str(number)): "1" for number in range(MOST_REPORTED)}
    history.note({ONE: "1", OTHER: "1", **names})
    assert history.since(token) == sorted(names)
    history.note({ONE: "2", OTHER: "1", **names})
    assert history.since(token) is None


def test_what_is_remembered_of_names_that_have_gone_is_bounded(history: History) -> None:
    tokens = []
    for number in range(3 * MOST_GONE):
        tokens.append(history.token)
        history.note({ONE: "1", ("/api/one/", str(number)): "1"})
    assert len(history._changed) <= 2 + MOST_GONE
    assert history.since(tokens[0]) is None, "it may not be told of what has gone"
    assert history.since(tokens[-1]) == [("/api/one/", str(number - 1)), ("/api/one/", str(number))]
