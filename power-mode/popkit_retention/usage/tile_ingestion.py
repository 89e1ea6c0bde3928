"""The ingestion of the usage of all sessions while the page's server runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from .configured_database import configuration, open_store
from .ingestion import catch_up
from .usage_store import DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..dashboard.app_state import AppState

INGEST_EVERY_S = 15.0
INGEST_RETRY_S = 300.0  # after a failure
SWEEP_EVERY_S = 3_600.0


def keep_ingesting(app_state: AppState, over: threading.Event) -> None:
    """Book what sessions have used, again and again, until `over` is set."""
    pause, swept = 0.0, float("-inf")
    while not over.wait(pause):
        pause = INGEST_EVERY_S if ingest(app_state) else INGEST_RETRY_S
        if time.monotonic() - swept >= SWEEP_EVERY_S:
            swept = time.monotonic()
            sweep(app_state)


def ingest(app_state: AppState) -> bool:
    """Book what sessions have used since the last time; return whether all of it was booked, on a configured server, too."""
    try:
        catch_up(app_state.environ)
    except DatabaseUnavailable:
        return False  # the page shows this with the data
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-booking", error)
        return False
    return True


def sweep(app_state: AppState) -> None:
    """Remove old snapshots and usage, where there is a store."""
    try:
        with suppress(FileNotFoundError), open_store(app_state.environ, create=False) as store:
            store.sweep(app_state.now(), configuration(app_state.environ)["snapshot_days"])
    except Exception as error:  # noqa: BLE001  the page goes on without it
        app_state.failure("dashboard-sweeping", error)
