"""Where the real clients come from: npm, into a cache folder, one folder per version.

Decides which versions count as oldest and newest. Must never use a client that the machine happens to have.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.patience import HANG_S

PACKAGE = "@anthropic-ai/claude-code"
OLDEST_SUPPORTED = "2.1.100"
PROJECT_ROOT = Path(__file__).resolve().parents[2]
INSTALL_TIMEOUT_S = 600


class ClientInstallError(RuntimeError):
    """npm was there, but the client could not be installed or does not start."""


@dataclass(frozen=True)
class Installed:
    """One installed client: the version it reports and the program to start."""

    version: str
    executable: Path


def cache_folder() -> Path:
    """POPKIT_CLIENT_DIR, else .cache/clients in the project."""
    return Path(os.environ.get("POPKIT_CLIENT_DIR") or PROJECT_ROOT / ".cache" / "clients")


def npm() -> str | None:
    """The npm program, or None if this machine has none."""
    return shutil.which("npm")


def newest_version() -> str:
    """The dist-tag latest of npm right now; the answer is recorded in `newest` in the cache folder."""
    version = _run([npm() or "npm", "view", PACKAGE, "dist-tags.latest"]).strip()
    if not version:
        message = f"npm knows no dist-tag latest for {PACKAGE}"
        raise ClientInstallError(message)
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache_folder() / "newest").write_text(version + "\n")
    return version


def install(version: str) -> Installed:
    """The client of this version, installed first if the cache has none that starts."""
    folder = cache_folder() / version
    with _locked(folder):
        installed = Installed(version, folder / "node_modules" / ".bin" / "claude")
        if _starts(installed):
            return installed
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run([npm() or "npm", "install", "--prefix", str(folder), f"{PACKAGE}@{version}"])
        if not _starts(installed):
            # An npm that refuses install scripts leaves a placeholder; the package's own script puts the binary there.
            package = folder / "node_modules" / PACKAGE
            if (package / "install.cjs").exists():
                _run(["node", "install.cjs"], cwd=package)
        if not _starts(installed):
            message = f"{PACKAGE}@{version} was installed into {folder}, but `claude --version` does not report it"
            raise ClientInstallError(message)
        return installed


def _starts(installed: Installed) -> bool:
    if not installed.executable.exists():
        return False
    command = [installed.executable, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    return answer.returncode == 0 and answer.stdout.split()[:1] == [installed.version]


def _run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    if done.returncode != 0:
        message = f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}"
        raise ClientInstallError(message)
    return done.stdout


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
