"""The plugin in a folder of its own, as it is installed: a copy for tests that change it, links for those that do not."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".claude-plugin" / "popkit"


def copied(folder: Path) -> Path:
    """Make one, with the byte code of its modules, which then need not be compiled again. The pack of the hooks names its sources, so that
    the copy makes its own."""
    shutil.copytree(INSTALLED, folder, ignore=shutil.ignore_patterns("*.pack*", "*.pyc.*"))
    shutil.copy(ROOT / "README.md", folder)  # the directory of plugins asks for one
    return folder


@functools.cache
def linked() -> Path:
    """Return the plugin with links to the project's files, in .cache.

    A client at a screen watches the whole folder of a plugin that it reads in place: with the project's, which has the clients and the
    virtual environment in it too, a turn costs it three times as much processor time.
    """
    paths = [path for path in sorted(INSTALLED.rglob("*")) if path.is_symlink() or path.is_file()]
    parts = [(str(path), str(path.readlink()) if path.is_symlink() else path.read_bytes()) for path in paths]
    known = hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
    folder = ROOT / ".cache" / "plugin" / known / "popkit"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers want it at once
        if not folder.exists():
            partial = folder.with_name("partial")
            shutil.rmtree(partial, ignore_errors=True)
            for path in paths:
                link = partial / path.relative_to(INSTALLED)
                link.parent.mkdir(parents=True, exist_ok=True)
                if path.is_symlink():
                    link.symlink_to(path.resolve())
                else:  # no code is taken from behind a link that leads out of the folder
                    shutil.copy2(path, link)
            partial.rename(folder)
    return folder
