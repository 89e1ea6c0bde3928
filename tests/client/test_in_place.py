"""The plugin read in place, from a clone: its code inside the client is loaded, whichever folder of the clone is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import installs
from .client import ClientHome
from .marketplace import checkout, claude, commit, git
from .scripted_api import ScriptedApi, say

LOADED = "hooks module popkit@{} loaded"


@pytest.mark.parametrize("way", ["marketplace", pytest.param("plugin-dir", marks=pytest.mark.slow)])
def test_the_module_is_loaded(clients: dict[str, installs.Installed], tmp_path: Path, way: str) -> None:
    clone = checkout(tmp_path / "popkit")
    git(clone, "init", "-q", "-b", "main")
    commit(clone)
    with ScriptedApi() as api:
        home = ClientHome(tmp_path, clients["newest"], api.url)
        api.scripts["hello"] = [say("hello")]
        if way == "marketplace":
            claude(home, "plugin", "marketplace", "add", str(clone))
            claude(home, "plugin", "install", "popkit@popkit")
        log = tmp_path / "log"
        home.run_headless("go [[SCRIPT:hello]]", plugin_dir=clone if way == "plugin-dir" else None, extra=["--debug-file", str(log)])
    assert LOADED.format("popkit" if way == "marketplace" else "inline") in log.read_text()
