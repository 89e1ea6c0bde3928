"""The npm package of the plugin: what it holds, and that it is typed as OpenCode declares."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.installs import npm
from tests.patience import HANG_S

from . import installs
from .client import PLUGIN, ROOT

PACKAGE = json.loads((PLUGIN / "package.json").read_text())
IMPORTED = re.compile(r"from '\./(\w+)'")


def test_it_has_the_version_and_the_license_of_the_rest() -> None:
    rest = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    assert (PACKAGE["version"], PACKAGE["license"]) == (rest["version"], rest["license"])
    assert (PLUGIN / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_depends_on_nothing_and_cannot_be_published_by_mistake() -> None:
    assert "dependencies" not in PACKAGE
    assert PACKAGE["private"] is True


def test_what_npm_packs_is_all_that_it_needs(tmp_path: Path) -> None:
    if npm() is None:
        pytest.skip("npm is not on PATH")
    command = ["npm", "pack", "--dry-run", "--json", "--offline", "--cache", str(tmp_path)]
    done = subprocess.run(command, cwd=PLUGIN, capture_output=True, text=True, timeout=HANG_S, check=True)
    packed = {file["path"] for file in json.loads(done.stdout)[0]["files"]}
    source = {path.name for path in PLUGIN.glob("*.ts*")}
    assert packed == {"package.json", "README.md", "LICENSE", *source}
    named = {name.removeprefix("./") for name in PACKAGE["exports"].values()}
    imported = {name for file in source for name in IMPORTED.findall((PLUGIN / file).read_text())}
    assert named | {f"{name}.ts" for name in imported} <= packed


def test_it_has_the_types_that_opencode_declares(tmp_path: Path) -> None:
    if npm() is None:
        pytest.skip("npm is not on PATH")
    for path in [*PLUGIN.glob("*.ts*"), PLUGIN / "tsconfig.json"]:
        shutil.copy(path, tmp_path)
    (tmp_path / "node_modules").symlink_to(installs.types() / "node_modules")
    command = ["node", "node_modules/typescript/bin/tsc", "-p", "."]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert checked.stdout == ""
