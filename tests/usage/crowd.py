"""What several processes do with one store of usage at once."""

from __future__ import annotations

import os

from popkit_retention.usage import ingestion, postgres, sqlite
from popkit_retention.usage.database import open_store
from tests.kit.crowds import all_do
from tests.kit.forks import Forks, Function
from tests.patience import HANG_S


def _wait_long() -> None:
    postgres.PATIENCE_S = sqlite.PATIENCE_S = HANG_S  # the machine may be busy


def open_it() -> None:
    _wait_long()
    open_store(os.environ).close()


def catch_up() -> None:
    _wait_long()
    ingestion.catch_up(os.environ)


def all_open(forks: Forks, environ: dict[str, str]) -> None:
    """Have several processes open the store at once."""
    all_do(forks, [Function("tests.usage.crowd:open_it", [])] * 4, environ)


def all_catch_up(forks: Forks, environ: dict[str, str]) -> None:
    """Have several processes catch up at once."""
    all_do(forks, [Function("tests.usage.crowd:catch_up", [])] * 3, environ)
