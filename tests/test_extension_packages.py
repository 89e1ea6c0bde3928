"""The extensions of other hosts, which load each from its folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.version import VERSION

from .paths import ROOT

FOLDERS = {name: ROOT / "power-mode" / name for name in ("opencode", "pi")}
IMPORTED = re.compile(r"from '(\.[\w./]+?)(?:\.ts)?'")


def package_of(folder: Path) -> dict[str, Any]:
    package: dict[str, Any] = json.loads((folder / "package.json").read_text())
    return package


def test_every_extension_is_checked() -> None:
    assert {path.parent for path in (ROOT / "power-mode").glob("*/package.json")} == set(FOLDERS.values())


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_it_has_the_version_and_the_license_of_the_rest(folder: Path) -> None:
    package, rest = package_of(folder), json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    assert (package["version"], package["license"]) == (VERSION, rest["license"])


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_it_depends_on_nothing_and_cannot_be_published_by_mistake(folder: Path) -> None:
    assert "dependencies" not in package_of(folder)
    assert package_of(folder)["private"] is True


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_it_needs_what_its_folder_has_and_the_module_that_asks_the_helper(folder: Path) -> None:
    package = package_of(folder)
    named = {name.removeprefix("./") for name in [*package.get("exports", {}).values(), *package.get("pi", {}).get("extensions", [])]}
    assert named
    assert all((folder / name).is_file() for name in named)
    imported = {name for file in folder.glob("*.ts*") for name in IMPORTED.findall(file.read_text())}
    assert {name for name in imported if not (folder / f"{name}.ts").is_file()} == set()
    assert {name for name in imported if name.startswith("..")} == {"../helper"}
