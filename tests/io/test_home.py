"""Where PopKit's files are."""

from __future__ import annotations

import pytest

from hooks.utils.io import home


@pytest.mark.parametrize("id", ["/", "..", "../../etc", "/a/../..", "a" * 5_000, "/caf\u00e9", "/\udcff", "/a\nb", ""])
def test_a_sessions_folder_is_below_ours_whatever_its_id(id: str) -> None:
    folder, _, name = home.session_folder("/ours", id).rpartition("/")
    assert folder == "/ours/sessions"
    assert name not in ("", ".", "..")
    assert name.isascii()
