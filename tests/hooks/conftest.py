"""What the tests of the hooks share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hooks.machines import SHELLS, Machine
from tests.hooks.processes import Home
from tests.hooks.remembering import Remembering, blocking_hooks  # noqa: F401  a fixture


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Our folder, below one where nothing else may appear."""
    return Home(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Remembering:
    return Remembering(tmp_path)


@pytest.fixture
def which():
    """`which(name)` is the path of a program; skips where there is none."""

    def found(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"no {name} here")
        return path

    return found


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, which) -> str:
    return which(request.param)


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def machine(bare: Machine) -> Machine:
    """With a shim."""
    bare.shim()
    return bare
