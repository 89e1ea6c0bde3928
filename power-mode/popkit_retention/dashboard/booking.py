"""While the dashboard runs, what sessions use is booked now and again, so that what the page shows of it is of now; and what is old is
removed, also where nothing is written any more."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..usage.database import configuration, open_store
from ..usage.ingestion import catch_up
from ..usage.store import DatabaseUnavailable

if TYPE_CHECKING:
    from .desk import Desk

EVERY_S = 15.0
REST_S = 300.0  # after a failure
SWEPT_EVERY_S = 3_600.0


def keep_booked(desk: Desk, over: threading.Event) -> None:
    """Book what sessions have used since, now and again, until it is `over`."""
    pause, swept = 0.0, float("-inf")
    while not over.wait(pause):
        pause = EVERY_S if book(desk) else REST_S
        if time.monotonic() - swept >= SWEPT_EVERY_S:
            swept = time.monotonic()
            sweep(desk)


def book(desk: Desk) -> bool:
    """Book what sessions have used since; return whether all of it was, and a configured server told."""
    try:
        catch_up(desk.environ)
    except DatabaseUnavailable:
        return False  # the page says so where it asks
    except Exception as error:  # noqa: BLE001  the page goes on without it
        desk.failure("dashboard-booking", error)
        return False
    return True


def sweep(desk: Desk) -> None:
    """Remove snapshots and usage that are old, where there is a store."""
    try:
        with suppress(FileNotFoundError), open_store(desk.environ, create=False) as store:
            store.sweep(desk.now(), configuration(desk.environ)["snapshot_days"])
    except Exception as error:  # noqa: BLE001  the page goes on without it
        desk.failure("dashboard-sweeping", error)
