"""What the tests of the hooks share."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture
def which():
    """`which(name)` is the path of a program; skips where there is none."""

    def found(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"no {name} here")
        return path

    return found
