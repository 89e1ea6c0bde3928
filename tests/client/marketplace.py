"""The project's files as a marketplace that the real client takes plugins from, and its commands for that."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import HANG_S

from .client import ClientHome
from .git_server import GitServer

ROOT = Path(__file__).resolve().parents[2]


def checkout(folder: Path) -> Path:
    """The files of the plugins, as they are now, in a folder of their own."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if (path.is_file() or path.is_symlink()) and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name, follow_symlinks=False)
    return folder


@contextmanager
def served(work: Path, bare: Path) -> Iterator[str]:
    """That folder as a git repository over HTTP; its URL."""
    git(work, "init", "-q", "-b", "main")
    commit(work)
    git(work, "clone", "-q", "--bare", ".", str(bare))
    with GitServer(bare.parent) as server:
        yield server.of(bare.name)


def commit(work: Path) -> str:
    """Commit what the folder holds; the commit."""
    git(work, "add", "-A")
    git(work, "commit", "-qm", "popkit")
    return git(work, "rev-parse", "HEAD").strip()


def git(work: Path, *arguments: str) -> str:
    """Run git in that folder as somebody; what it printed."""
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    return subprocess.run(["git", *identity, *arguments], cwd=work, capture_output=True, text=True, check=True).stdout


def claude(home: ClientHome, *arguments: str) -> str:
    """Runs a management command of the client; what it printed."""
    done = subprocess.run(
        [home.installed.executable, *arguments], env=home.env(), cwd=home.work, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
