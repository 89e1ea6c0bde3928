"""Where the real clients come from: npm, into a cache folder, one folder per version.

Decides which versions count as oldest and newest. Must never use a client that the machine happens to have.

    python -m tests.client.installs

installs both. With POPKIT_OFFLINE set no registry is asked: the newest is the one that was the newest when it was last asked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.patience import HANG_S

PACKAGE = "@anthropic-ai/claude-code"
OLDEST_SUPPORTED = "2.1.100"
PROJECT_ROOT = Path(__file__).resolve().parents[2]
# The registry itself has less time, see scripts/test; a client is 200 MB.
INSTALL_TIMEOUT_S = 600
WHAT_TO_DO = (
    "If the registry does not answer: try again, or name a mirror (npm config set registry URL), or run scripts/test --offline, "
    "which uses the clients that are in .cache."
)


class ClientInstallError(RuntimeError):
    """npm was there, but the client could not be installed or does not start; the text says what to do."""


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
    """The dist-tag latest of npm right now; the answer is recorded in `newest` in the cache folder, and that is what counts offline."""
    recorded = cache_folder() / "newest"
    if os.environ.get("POPKIT_OFFLINE") and recorded.exists():
        return recorded.read_text().strip()
    version = _run([npm() or "npm", "view", PACKAGE, "dist-tags.latest"]).strip()
    if not version:
        message = f"npm knows no dist-tag latest for {PACKAGE}"
        raise ClientInstallError(message)
    cache_folder().mkdir(parents=True, exist_ok=True)
    recorded.write_text(version + "\n")
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
    """Whether it starts; with POPKIT_OFFLINE set it is enough that it once did, which `started` beside it tells."""
    if not installed.executable.exists():
        return False
    started = cache_folder() / installed.version / "started"
    if os.environ.get("POPKIT_OFFLINE") and started.exists():
        return True
    command = [installed.executable, "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    if answer.returncode != 0 or answer.stdout.split()[:1] != [installed.version]:
        return False
    started.touch()
    return True


def _run(command: list[str], cwd: Path | None = None) -> str:
    if os.environ.get("POPKIT_OFFLINE"):
        message = f"{' '.join(command)} would ask the registry. Run scripts/test once without --offline."
        raise ClientInstallError(message)
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        message = f"{' '.join(command)} still ran after {INSTALL_TIMEOUT_S} s. {WHAT_TO_DO}"
        raise ClientInstallError(message) from None
    if done.returncode != 0:
        message = f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}\n{WHAT_TO_DO}"
        raise ClientInstallError(message)
    return done.stdout


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        for wanted in (OLDEST_SUPPORTED, newest_version()):
            print("  ", install(wanted).version, flush=True)
    except ClientInstallError as error:
        sys.exit(str(error))
