"""What a process does that tests kill: see killing.py."""

from __future__ import annotations

import os
import signal

from popkit_retention.governance import durable
from popkit_retention.governance.folder import Folder
from popkit_retention.governance.log import Log


def write(path: str, text: str) -> None:
    """One durable file."""
    durable.write(path, text.encode())
    durable.sweep(os.path.dirname(path))  # noqa: PTH120


def note(home: str, ids: list[str]) -> None:
    """One deed: in the log, done, noted as done."""
    folder = Folder(home)
    with folder.lock():
        log = Log(folder.log_path)
        log.done(log.append("marked", "rag", ids, {"params": {"limit": 5}}, "user", 1.5, {"do": "mark", "ids": ids}).number)
        log.close()


def die_in_the_lock(home: str) -> None:
    """Holds the lock, and is killed."""
    with Folder(home).lock():
        os.kill(os.getpid(), signal.SIGKILL)
