"""Disks that are full, or that cannot be written to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

IS_ROOT = os.geteuid() == 0


def _mounted(folder: Path, *options: str) -> bool:
    """Mount something over a folder; False where that is not allowed."""
    mount = shutil.which("mount")
    return bool(IS_ROOT and mount) and subprocess.run([mount, *options, str(folder)], capture_output=True, check=False).returncode == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 64 KB; skips where none can be mounted."""
    folder.mkdir()
    if not _mounted(folder, "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"):
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, but: int = 0) -> Path:
    """Leave so many bytes free on a disk; the file that takes the rest."""
    stat = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (stat.f_bavail * stat.f_frsize - but))
    return filler


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody, not even root, can write to; skips where none can be made so."""
    if not IS_ROOT:
        modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
        for path, mode in modes.items():
            path.chmod(mode & 0o555)
    elif not _mounted(folder, "--bind", str(folder)):
        pytest.skip("root ignores permissions, and mounting is not allowed here")
    else:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
    try:
        yield
    finally:
        if IS_ROOT:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        else:
            for path, mode in modes.items():
                path.chmod(mode)
