"""What other processes are given to do with a session."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from popkit_retention.parallel.attempts import SessionSkipped


def length(path: str) -> int:
    """Return the bytes of a file; a name may say that it goes wrong."""
    name = Path(path).name
    if name.startswith("skipped"):
        raise SessionSkipped("of no use")
    if name.startswith("broken"):
        raise KeyError("what nobody foresaw")
    return len(Path(path).read_bytes())


def length_slowly(path: str) -> int:
    time.sleep(0.05)
    return length(path)


def length_unless_killed(path: str) -> int:
    """Return the bytes of a file. `once`: the first process that reads it is killed; `deadly`: every one is."""
    name, mark = Path(path).name, Path(path + ".read")
    if name.startswith("deadly") or (name.startswith("once") and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return length(path)


def length_if_quick(path: str) -> int:
    """Return the bytes of a file; of one that is not called `quick`, nobody sees the end."""
    Path(path + ".read").touch()
    while not Path(path).name.startswith("quick"):
        time.sleep(3_600)
    return length(path)


def lies_at(path: str) -> list[object]:
    """Return the last parts of a path, and who may read the file and its folder."""
    at = Path(path)
    return [list(at.parts[-4:]), oct(at.stat().st_mode & 0o777), oct(at.parents[3].stat().st_mode & 0o777), str(at)]
