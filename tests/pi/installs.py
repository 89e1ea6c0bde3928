"""The real pi, from npm, into .cache, with a Node of a version that it runs on: both are packages.

    python -m tests.pi.installs

installs them. With POPKIT_OFFLINE set no registry is asked.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.client.installs import PROJECT_ROOT, ClientInstallError, _locked, _run, npm
from tests.patience import HANG_S

VERSION = "1.6.0"
PACKAGE = f"@earendil-works/pi-coding-agent@{VERSION}"
NODE_VERSION = "22.23.3"  # pi asks for 22.19 or later
TYPES = ("typescript@5.9.3", "@types/node@22.18.0")
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True)
class Program:
    """pi's program and the Node that runs it."""

    node: Path
    script: Path

    @property
    def command(self) -> list[str]:
        return [str(self.node), str(self.script)]


def folder() -> Path:
    """POPKIT_PI_DIR, else .cache/pi in the project."""
    return Path(os.environ.get("POPKIT_PI_DIR") or PROJECT_ROOT / ".cache" / "pi") / VERSION


def install() -> Program:
    """The program, installed first if the cache has none that starts. No install script is run: Node comes in a package of its own for each
    kind of machine."""
    place = folder()
    node = f"node-{_SYSTEMS.get(platform.system(), 'linux')}-{_MACHINES.get(platform.machine(), 'x64')}"
    modules = place / "node_modules"
    program = Program(modules / node / "bin" / "node", modules / PACKAGE.rpartition("@")[0] / "dist" / "bundle" / "cli.js")
    with _locked(place):
        if _starts(program, place):
            return program
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _run([npm() or "npm", "install", "--prefix", str(place), "--ignore-scripts", PACKAGE, f"{node}@{NODE_VERSION}", *TYPES])
        if not _starts(program, place):
            message = f"{PACKAGE} was installed into {place}, but no program there reports that version"
            raise ClientInstallError(message)
        return program


def _starts(program: Program, place: Path) -> bool:
    """Whether it starts; with POPKIT_OFFLINE set it is enough that it once did, which `started` tells."""
    started = place / "started"
    if os.environ.get("POPKIT_OFFLINE") and started.exists():
        return True
    env = {**os.environ, "PI_OFFLINE": "1"}
    try:
        answer = subprocess.run(
            [*program.command, "--version"], env=env, capture_output=True, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
    except OSError:  # it is not there, or for another kind of machine
        return False
    if VERSION not in answer.stdout + answer.stderr:
        return False
    started.touch()
    return True


if __name__ == "__main__":
    try:
        print("  ", install().script, flush=True)
    except ClientInstallError as error:
        sys.exit(str(error))
