"""A locale that is not UTF-8, for a process that a test starts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def latin_1(folder: Path) -> dict[str, str]:
    """The environment of one, made in a folder; skips where that cannot be."""
    program = shutil.which("localedef")
    argv = [program, "-i", "en_US", "-f", "ISO-8859-1", folder / "en_US.ISO-8859-1"]
    if program is None or subprocess.run(argv, capture_output=True, check=False).returncode > 1:
        pytest.skip("localedef cannot make a locale here")
    return {"LOCPATH": str(folder), "LC_ALL": "en_US.ISO-8859-1"}
