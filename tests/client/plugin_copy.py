"""A copy of the plugin in a folder of its own, as it is installed: for tests that change it."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = (".claude-plugin", "README.md", "LICENSE", "bin", "commands", "hooks", "power-mode", "retention-config.json")


def copied(folder: Path) -> Path:
    """Make one, with the byte code of its modules, which then need not be compiled again. The pack of the hooks names its sources, so that
    the copy makes its own."""
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("*.pack*", "*.pyc.*"))
        else:
            shutil.copy(source, folder / name)
    return folder
