"""The stored lessons of sessions: read as they were learnt, and as empty as they are damaged."""

from __future__ import annotations

import pytest

from popkit_retention.memory import InMemoryStore
from popkit_retention.memory.stored_lessons import StoredLesson, lesson_key, read_lesson, read_lessons, session_number

EMPTY = StoredLesson(0, 0.0, {}, [], [], has_used=False, root="")


def test_a_session_that_has_taught_nothing_has_an_empty_lesson():
    assert read_lesson(InMemoryStore(), "p", "s1") == EMPTY


def test_the_lessons_of_a_project_are_read_by_session_and_those_of_others_are_not():
    store = InMemoryStore()
    stored = {"number": 3, "ended": 7, "writes": {"a": 2}, "followed": ["b"], "written": ["c"], "used": ["c"], "root": "/home/p"}
    store.set_value(lesson_key("p", "s1"), stored)
    store.set_value(lesson_key("q", "s2"), stored)
    assert read_lessons(store, "p") == {"s1": StoredLesson(3, 7.0, {"a": 2}, ["b"], ["c"], has_used=True, root="/home/p")}


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {}, {"writes": []}, {"writes": 1, "followed": {}, "written": 7}])
def test_a_damaged_lesson_is_read_as_one_that_taught_nothing(value: object):
    store = InMemoryStore()
    store.set_value(lesson_key("p", "s1"), value)
    assert read_lesson(store, "p", "s1") == EMPTY


def test_damaged_entries_of_a_lesson_count_nothing_and_the_rest_stays():
    lesson = StoredLesson.of({"number": "3", "ended": "soon", "writes": {"a": None, "b": 2}, "root": None})
    assert lesson == EMPTY._replace(writes={"a": 0, "b": 2})


def test_a_time_too_large_for_a_float_is_unknown():
    assert StoredLesson.of({"ended": 10**400}).ended == 0.0


@pytest.mark.parametrize("value", [None, [], {"count": "2"}, {}])
def test_a_damaged_count_of_sessions_is_zero(value: object):
    store = InMemoryStore()
    store.set_value("sessions:p", value)
    assert session_number(store, "p") == 0
