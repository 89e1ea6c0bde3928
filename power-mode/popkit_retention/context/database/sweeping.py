"""Removes what is old, in transactions so small that nobody waits for one: snapshots after the days that the user has set, usage after
usage.KEPT_DAYS."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from . import snapshots, usage
from .opening import configuration, open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from .opening import Database

AT_ONCE = 500  # of each kind, in one transaction


def sweep_configured(environ: Mapping[str, str], now: float) -> None:
    """Removes what is old from the database that the user's configuration means, if anybody has made it. DatabaseUnavailable; NoHome."""
    with suppress(FileNotFoundError), open_database(environ, create=False) as database:
        sweep(database, now, configuration(environ)["snapshot_days"])


def sweep(
    database: Database,
    now: float,
    snapshot_days: int,
    sessions: Collection[str] = (),
    goes_on: Callable[[], bool] = lambda: True,
    at_once: int = AT_ONCE,
) -> bool:
    """Removes until nothing old is left, or until it no longer `goes_on`; whether nothing is left. `sessions`: of these, snapshots beyond
    the newest go too. `now`: seconds. DatabaseUnavailable."""
    while True:
        with database.writing() as connection:
            gone = snapshots.sweep(connection, now, snapshot_days, sorted(sessions), at_once) + usage.sweep(connection, now, at_once)
        if not gone:
            return True
        if not goes_on():
            return False
