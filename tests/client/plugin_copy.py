"""A copy of the plugin in a folder of its own, as it is installed: for tests that change it."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".claude-plugin" / "popkit"


def copied(folder: Path) -> Path:
    """Make one, with the byte code of its modules, which then need not be compiled again. The pack of the hooks names its sources, so that
    the copy makes its own."""
    shutil.copytree(INSTALLED, folder, ignore=shutil.ignore_patterns("*.pack*", "*.pyc.*"))
    shutil.copy(ROOT / "README.md", folder)  # the directory of plugins asks for one
    return folder
