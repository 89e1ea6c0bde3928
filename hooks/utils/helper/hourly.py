"""The hourly jobs of a session that goes on: every hour a child learns what it has taught so far and runs the jobs that are due, as one
does at its end; and what tokens are worth in the windows of the plan is fitted anew where that is due."""

from __future__ import annotations

import time

from ..io import failures
from ..io.system import now as time_of_day
from ..state import ending, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..state.site import Site

EVERY_S = 3600.0


def run_forever(site: Callable[[], Site], transcript_path: str, every_s: float = EVERY_S) -> None:
    """Start the jobs at every interval (seconds), the first when one has passed. `site()`: where it is, as the configuration stands. What
    goes wrong is in the log, and is tried again."""
    while True:
        time.sleep(every_s)
        here = site()
        try:
            now = time_of_day(here.environ)
            ending.start_jobs(here, transcript_path, now)
            if here.enabled:
                fitting.start(here.home, here.environ, now)
        except Exception as error:  # noqa: BLE001  the next hour tries again
            failures.record(here.environ, "hourly", error)
