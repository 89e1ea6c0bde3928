"""A hook that is killed right before or right after the Nth thing that it asks of the system.

    python -S -E tests/hooks/kill_at.py SCRIPT N

Every call that the hook's own modules make into the built-in system module is two moments: as it is made, and as it returns.
"""

import os
import signal
import sys
from pathlib import Path

SCRIPT, LAST = Path(sys.argv[1]), int(sys.argv[2])
OURS = tuple(str(SCRIPT.parent / "utils" / room) for room in ("edges", "state", "config", "host"))
seen = 0


def count(frame, event, called):
    global seen  # noqa: PLW0603  a profiler keeps its count somewhere
    if event in ("c_call", "c_return") and getattr(called, "__module__", "") == "posix" and frame.f_code.co_filename.startswith(OURS):
        seen += 1
        if seen == LAST:
            os.kill(os.getpid(), signal.SIGKILL)


sys.path[0] = str(SCRIPT.parent)
code = compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec")
sys.setprofile(count)
exec(code, {"__name__": "__main__"})  # noqa: S102  the script under test
