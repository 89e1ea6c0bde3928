"""The extensions of other hosts as npm packages of their own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.version import VERSION

from .client.installs import npm
from .paths import ROOT
from .patience import HANG_S

FOLDERS = {name: ROOT / "power-mode" / name for name in ("opencode", "pi")}
IMPORTED = re.compile(r"from '\./(\w+)(?:\.ts)?'")


def package_of(folder: Path) -> dict[str, Any]:
    package: dict[str, Any] = json.loads((folder / "package.json").read_text())
    return package


def test_every_extension_is_checked() -> None:
    assert {path.parent for path in (ROOT / "power-mode").glob("*/package.json")} == set(FOLDERS.values())


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_it_has_the_version_and_the_license_of_the_rest(folder: Path) -> None:
    package, rest = package_of(folder), json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    assert (package["version"], package["license"]) == (VERSION, rest["license"])
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_it_depends_on_nothing_and_cannot_be_published_by_mistake(folder: Path) -> None:
    assert "dependencies" not in package_of(folder)
    assert package_of(folder)["private"] is True


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_what_npm_packs_is_all_that_it_needs(folder: Path, tmp_path: Path) -> None:
    if npm() is None:
        pytest.skip("npm is not on PATH")
    command = ["npm", "pack", "--dry-run", "--json", "--offline", "--cache", str(tmp_path / "cache")]
    # npm leaves links out: what both packages have is packed from a copy.
    copied = shutil.copytree(folder, tmp_path / folder.name)
    done = subprocess.run(command, cwd=copied, capture_output=True, text=True, timeout=HANG_S, check=True)
    packed = {file["path"] for file in json.loads(done.stdout)[0]["files"]}
    source = {path.name for path in folder.glob("*.ts*")}
    assert packed == {"package.json", "README.md", "LICENSE", *source}
    package = package_of(folder)
    named = {name.removeprefix("./") for name in [*package.get("exports", {}).values(), *package.get("pi", {}).get("extensions", [])]}
    imported = {f"{name}.ts" for file in source for name in IMPORTED.findall((folder / file).read_text())}
    assert named
    assert named | imported <= packed
