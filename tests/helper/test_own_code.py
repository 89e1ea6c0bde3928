"""A helper whose code is replaced while it runs says so, and the next one is of the new code: old and new are never mixed in a session."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG_S

from .asking import ROOT, Helper


class FromACopy(Helper):
    """A helper of a copy of PopKit, which can be brought up to date below it."""

    def __init__(self, folder: Path) -> None:
        self.plugin = folder / "plugin"
        shutil.copytree(ROOT / ".claude-plugin/popkit", self.plugin, ignore=shutil.ignore_patterns("mod", "*.pack*"))
        super().__init__(folder)

    def _started(self, words: list[str]) -> subprocess.Popen:
        command = [sys.executable, "-X", "utf8", "-S", "-E", str(self.plugin / "hooks/popkit.py"), *words]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


@pytest.fixture
def copied(tmp_path: Path):
    copied = FromACopy(tmp_path)
    yield copied
    copied.stop()


def test_it_says_so_until_another_has_taken_its_place(copied: FromACopy):
    assert copied.ask("/rows") == {}
    version = copied.plugin / "hooks/utils/version.py"
    version.write_text('VERSION = "9.9.9"\n')
    assert copied.ask("/rows") == {"outdated": True}
    assert copied.ask("/health")["version"] != "9.9.9"
    assert copied.ask("/rows") == {"outdated": True}
    copied.ask("/end")
    copied.process.communicate(timeout=HANG_S)
    copied.start()
    assert copied.ask("/health")["version"] == "9.9.9"
    assert copied.ask("/rows") == {}


def test_it_serves_on_where_the_plugin_has_been_removed(copied: FromACopy):
    shutil.rmtree(copied.plugin)
    assert copied.ask("/rows") == {}
