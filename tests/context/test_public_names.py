"""What `from popkit_retention.context import …` gives."""

from __future__ import annotations

from popkit_retention import context


def test_the_public_names_are_those_that_are_promised():
    assert [name for name in context.__all__ if getattr(context, name) is None] == []


def test_a_name_that_is_not_public_is_no_attribute():
    assert not hasattr(context, "history_of_everything")
