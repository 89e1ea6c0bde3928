"""A machine as the launcher finds it: its programs, with an interpreter or without."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.hooks import payloads, processes

SHELLS = ["dash", "bash"]
REAL = os.path.realpath(sys.executable)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


class Machine:
    """A PATH of our own making: the usual programs without Python, and what a test puts before them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = processes.Home(folder)
        self.bin = folder / "bin"
        self.calls = folder / "calls"
        self.bin.mkdir()
        for name in ("sh", "mkdir", "mv", "printf", "cat", "sleep", "env"):
            found = shutil.which(name)
            if found:
                (self.bin / name).symlink_to(found)

    def shim(self, python: str = REAL, before: str = "") -> Path:
        """A slow `python3` that notes each call and runs the real one."""
        return program(self.bin / "python3", f'echo called >> "{self.calls}"\n{before}\nexec "{python}" "$@"\n')

    def run(self, shell: str, payload: dict | None = None, root: Path = processes.ROOT, **more: str) -> processes.Done:
        env = {**self.home.env(), "PATH": str(self.bin), **more}
        return processes.run_registered(payload or payloads.bash("mkdir a"), env, shell, root)

    def runs(self, *given, **more) -> None:
        """As `run`; the hook says nothing."""
        ran = self.run(*given, **more)
        assert ran.silent, ran

    @property
    def shim_calls(self) -> int:
        return self.calls.read_text().count("called") if self.calls.exists() else 0

    @property
    def remembered(self) -> str:
        return (self.home.path / "interpreter").read_text()

    def index(self) -> int:
        return self.home.state(payloads.SESSION).index
