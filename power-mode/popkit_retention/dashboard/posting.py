"""What hooks leave in the outbox is sent while the dashboard runs, so that what it shows of usage is of now and not of the last session's
end; and what is old is removed, also where nothing is written any more."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hooks.utils.edges import files

from ..context import sending
from ..context.database import sweeping

if TYPE_CHECKING:
    from .desk import Desk

EVERY_S = 15.0
REST_S = 300.0  # after a failure
SWEPT_EVERY_S = 3_600.0


def keep_sending(desk: Desk, over: threading.Event) -> None:
    """Sends what waits, now and again, until it is `over`."""
    pause, swept = 0.0, float("-inf")
    while not over.wait(pause):
        pause = EVERY_S if send(desk) else REST_S
        if time.monotonic() - swept >= SWEPT_EVERY_S:
            swept = time.monotonic()
            sweep(desk)


def send(desk: Desk) -> bool:
    """Sends what waits; whether all of it went. What cannot be sent stays."""
    try:
        return not sending.send(desk.environ)["left"]
    except files.LockTimeout:
        return True  # somebody else is at it
    except Exception as error:  # noqa: BLE001  the page goes on without it
        desk.failure("dashboard-outbox", error)
        return False


def sweep(desk: Desk) -> None:
    """Removes snapshots and usage that are old."""
    try:
        sweeping.sweep_configured(desk.environ, desk.now())
    except Exception as error:  # noqa: BLE001  the page goes on without it
        desk.failure("dashboard-sweeping", error)
