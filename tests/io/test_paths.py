"""Paths without the standard library's `os`, which costs a hook a millisecond."""

from __future__ import annotations

import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from popkit_retention.core.io.system import absolute
from tests.examples import examples

PARTS = st.lists(st.sampled_from(["", ".", "..", "...", ".claude", "a", "b.c", "d."]), max_size=6)


@given(PARTS, st.booleans())
@example(["root", ".claude", "plugins"], True)
@example(["a", ".."], True)
@settings(max_examples=examples(200, 2_000))
def test_a_path_is_made_absolute_as_the_standard_library_does_but_for_a_last_slash(parts: list[str], rooted: bool) -> None:
    path = ("/" if rooted else "") + "/".join(parts)
    assert absolute(path).rstrip("/") == os.path.abspath(path).rstrip("/")  # noqa: PTH100  its text, not what is there
