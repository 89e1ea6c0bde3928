"""Clears a transcript once, in a process that a test may limit or kill.

    python -m tests.reclaim.drive TRANSCRIPT KEEP [N]

prints "ready", clears, and prints what came of it. With N it is killed right before or right after the Nth thing that the modules of
the plugin ask of the system: every such call is two moments.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hooks.utils.reclaim import rewrite
from tests.reclaim import transcripts

OURS = str(Path(rewrite.__file__).parents[1])
asked = 0


def kill_at(last: int):
    def count(frame, event, called):
        global asked  # noqa: PLW0603  a profiler keeps its count somewhere
        if event in ("c_call", "c_return") and getattr(called, "__module__", "") in ("posix", "fcntl"):
            asked += frame.f_code.co_filename.startswith(OURS)
            if asked == last:
                os.kill(os.getpid(), signal.SIGKILL)

    return count


def main() -> None:
    path = Path(sys.argv[1])
    edits, seen = transcripts.clearing(path.read_bytes()), transcripts.seen(path)
    print("ready", flush=True)
    if len(sys.argv) > 3:
        sys.setprofile(kill_at(int(sys.argv[3])))
    try:
        rewrite.rewrite(str(path), edits, seen, sys.argv[2])
    except OSError as error:
        print(type(error).__name__, error)
    else:
        print("rewritten")


if __name__ == "__main__":
    main()
