"""Programs that tests need and that come from Debian: a PostgreSQL server, and Chromium.

    python -m tests.debian postgresql chromium

installs what is missing where it may: with CI set, as root (or through a sudo that asks for no password), from apt-get. Elsewhere it says
what to install, and the tests that need it are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

INSTALL_TIMEOUT_S = 600
# A mirror gets a few seconds to answer, and a second chance; another apt-get gets time to finish.
PATIENCE = ("-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1", "-o", "DPkg::Lock::Timeout=120")
WHAT_TO_DO = "If the mirror does not answer: try again, or run scripts/test --offline, which skips the tests that need it."


class DebianInstallError(RuntimeError):
    """A program could have been installed, but was not; the text says what to do."""


class Needed(NamedTuple):
    """Programs of one package: any of `names` on PATH or in `folders` (a pattern) is enough, and `beside` has to be with it."""

    package: str
    names: tuple[str, ...]
    folders: str = ""
    beside: tuple[str, ...] = ()


NEEDED = {
    "postgresql": Needed("postgresql", ("postgres",), "/usr/lib/postgresql/*/bin", ("initdb", "pg_isready")),
    # The shell draws no windows: a page in it takes half of the processor time.
    "chromium": Needed("chromium-headless-shell", ("chromium-headless-shell", "chromium", "chromium-browser")),
}


def postgresql() -> Path | None:
    """The folder with PostgreSQL's server programs, the newest that there are; None where there are none."""
    found = find(NEEDED["postgresql"], os.environ)
    return found.parent if found else None


def chromium() -> Path | None:
    """Chromium's program, or None where there is none."""
    return find(NEEDED["chromium"], os.environ)


def find(needed: Needed, environ: Mapping[str, str]) -> Path | None:
    """The program that is meant: PATH comes first, then the newest of the folders."""
    folders = [Path(folder) for folder in environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    folders += sorted(Path("/").glob(needed.folders.lstrip("/")), key=_version, reverse=True) if needed.folders else []
    for folder in folders:
        for name in needed.names:
            program = (folder / name).resolve() if needed.beside else folder / name
            if all(os.access(each, os.X_OK) for each in (program, *(program.parent / other for other in needed.beside))):
                return program
    return None


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(folder))]


def ensure(wanted: list[str], environ: Mapping[str, str]) -> list[str]:
    """Installs what is missing where it may, and says in lines what there is. Raises DebianInstallError where that fails."""
    missing = [name for name in wanted if not find(NEEDED[name], environ)]
    if missing and environ.get("CI"):
        _install([NEEDED[name].package for name in missing], environ)
    lines = []
    for name in wanted:
        found = find(NEEDED[name], environ)
        package = NEEDED[name].package
        lines.append(f"{name}: {found}" if found else f"{name}: missing, so its tests are skipped. Install it: apt-get install {package}")
    return lines


def _install(packages: list[str], environ: Mapping[str, str]) -> None:
    """Installs those that this machine's mirrors have; without apt-get, or without the right to use it, nothing happens."""
    command = _privileged(environ)
    if command is None:
        return
    _run([*command, "apt-get", "update", "-qq", *PATIENCE], environ)
    known = [package for package in packages if _run(["apt-cache", "--names-only", "search", f"^{package}$"], environ).strip()]
    if known:
        quiet = ("-qq", "-y", "--no-install-recommends")
        _run([*command, "apt-get", "install", *quiet, *PATIENCE, *known], environ)


def _privileged(environ: Mapping[str, str]) -> list[str] | None:
    """What stands before a command that needs root; None where it cannot be had."""
    path = environ.get("PATH", os.defpath)
    if not shutil.which("apt-get", path=path):
        return None
    if os.geteuid() == 0:
        return ["env", "DEBIAN_FRONTEND=noninteractive"]
    sudo = shutil.which("sudo", path=path)
    if sudo and subprocess.run([sudo, "-n", "true"], env=dict(environ), capture_output=True, check=False).returncode == 0:
        return [sudo, "-n", "env", "DEBIAN_FRONTEND=noninteractive"]
    return None


def _run(command: list[str], environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise DebianInstallError(f"{' '.join(command)} still ran after {INSTALL_TIMEOUT_S} s. {WHAT_TO_DO}") from None
    if done.returncode:
        raise DebianInstallError(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}\n{WHAT_TO_DO}")
    return done.stdout


if __name__ == "__main__":
    try:
        for line in ensure(sys.argv[1:], os.environ):
            print("  ", line, flush=True)
    except DebianInstallError as error:
        sys.exit(str(error))
