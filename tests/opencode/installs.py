"""The real OpenCode, from npm, into .cache: the package with its program for this machine, as its users have it.

    python -m tests.opencode.installs

installs it. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.client.installs import PROJECT_ROOT, ClientInstallError, _locked, _run, npm
from tests.patience import HANG_S

VERSION = "1.18.33"
PACKAGE = f"opencode-ai@{VERSION}"
# What our plugin is checked with: what OpenCode declares, and what its terminal is drawn with.
TYPES = (
    f"@opencode-ai/plugin@{VERSION}", "typescript@5.9.3", "@types/bun@1.3.3", "@opentui/core@0.4.5", "@opentui/solid@0.4.5",
    "@opentui/keymap@0.4.5",
)  # fmt: skip


def folder() -> Path:
    """POPKIT_OPENCODE_DIR, else .cache/opencode in the project."""
    return Path(os.environ.get("POPKIT_OPENCODE_DIR") or PROJECT_ROOT / ".cache" / "opencode") / VERSION


def install() -> Path:
    """The program, installed first if the cache has none that starts. A registry's install scripts are not needed: the program comes in
    a package of its own for each kind of machine."""
    place = folder()
    with _locked(place):
        program = _program(place)
        if program is None:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            _npm_install(place, PACKAGE)
            program = _program(place)
        if program is None:
            message = f"{PACKAGE} was installed into {place}, but no program there reports that version"
            raise ClientInstallError(message)
        return program


def types() -> Path:
    """The folder whose node_modules have what the plugin is checked with, installed first if the cache has none."""
    place = folder().with_name(f"{VERSION}-types")
    with _locked(place):
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            _npm_install(place, "--omit=optional", *TYPES)
            (place / "complete").touch()
        return place


def _npm_install(place: Path, *words: str) -> None:
    _run([npm() or "npm", "install", "--prefix", str(place), "--ignore-scripts", *words])


def _program(place: Path) -> Path | None:
    """The one for this machine that starts; with POPKIT_OFFLINE set it is enough that it once did, which `started` names."""
    started = place / "started"
    if os.environ.get("POPKIT_OFFLINE") and started.exists():
        return place / started.read_text()
    for path in sorted((place / "node_modules").glob("opencode-*/bin/opencode")):
        if _reports(path):
            started.write_text(str(path.relative_to(place)))
            return path
    return None


def _reports(path: Path) -> bool:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=HANG_S, check=False)
    except OSError:  # for another kind of machine
        return False
    return answer.stdout.strip() == VERSION


if __name__ == "__main__":
    try:
        print("  ", install(), flush=True)
        print("  ", types().name, flush=True)
    except ClientInstallError as error:
        sys.exit(str(error))
