"""The tile of the bill: the bill of a project with what caches lost, as `popkit bill` has them. A thread reads transcripts when the page
asks; until all are read, an answer says how many are."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from typing import Annotated

from fastapi import APIRouter, Query

from popkit_retention.core.io.sqlite_file import StoreError
from popkit_retention.core.state import hidden_tools
from popkit_retention.core.views import bill as views
from popkit_retention.core.views.lost_caches import CAUSES, cause_in_words

from ..dashboard.failures import ASKING, failures
from ..dashboard.shapes import NotFound, StoreUnusable
from ..dashboard.tile import Tile
from ..parallel.results import Workplace
from . import costs, digests, statement
from .paid import MONTH_S
from .statement import bill_of
from .tile_shapes import Bill, BillPhrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..dashboard.app_state import AppState
    from .records import Digest


FRESH_S = 2.0  # how long digests count as fresh
PATIENCE_S = 0.5  # how long an answer waits for transcripts to be read


class BillReport:
    """The bills of one AppState. Thread-safe."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._read_at = float("-inf")
        self._share = 0.0
        self._known: list[Digest] | None = None
        self._problem = ""

    def bill(self, project: str = "") -> Bill:
        """Return the bill of a project ("": the one with the newest session) from the transcripts read so far; `reading` says how far that
        is."""
        reader = self._reading()
        if reader is not None:
            reader.join(PATIENCE_S)
        reading = self._share if reader is not None and reader.is_alive() else None
        if self._problem:
            raise StoreUnusable(f"The bill cannot be made: {self._problem}")
        known = self._known
        if known is None:
            return Bill(reading=self._share)
        projects = self._projects(known)
        if project and project not in projects:
            raise NotFound("no session of this project is known. GET /api/bill lists the projects")
        return self._answer(known, project, projects, reading)

    def _answer(self, known: list[Digest], project: str, projects: list[str], reading: float | None) -> Bill:
        now, models = self._app_state.now(), self._app_state.rules.models
        since = now - MONTH_S
        misses = costs.misses((digest for digest in known if digest["ended"] >= since), models)
        project = project or next(iter(projects), "")
        bill = bill_of(self._app_state.home, project, known, since, now, models) if project else None
        return Bill(
            reading=reading,
            project=project,
            projects=projects,
            bill=dict(bill) if bill else None,
            misses={**misses, "prices_of": models.dated},
            phrases=BillPhrases(**views.phrases(bill, now)) if bill else None,
            causes={cause: list(cause_in_words(cause, misses["hosts"])) for cause in CAUSES},
        )

    def _projects(self, known: list[Digest]) -> list[str]:
        """Return the projects of sessions, the project of the newest session first."""
        folders = dict.fromkeys(digest["cwd"] for digest in reversed(known) if digest["cwd"] and statement.is_main(digest))
        return list(dict.fromkeys(hidden_tools.project_of(self._app_state.home, os.path.realpath(folder)) for folder in folders))

    def _reading(self) -> threading.Thread | None:
        """Return the thread that reads; None where the digests are fresh."""
        with self._lock:
            if self._reader is not None and self._reader.is_alive():
                return self._reader
            if time.monotonic() - self._read_at < FRESH_S:
                return None
            self._share = 0.0
            self._reader = threading.Thread(target=self._read, name="popkit-bill", daemon=True)
            self._reader.start()
            return self._reader

    def _read(self) -> None:
        try:
            self._known = digests.of_user(self._app_state.environ, 0.0, self._app_state.now(), self._progress, Workplace(1))
            self._problem = ""
        except (OSError, StoreError, sqlite3.Error) as error:
            path = os.path.join(self._app_state.home, digests.FILE)
            self._problem = (
                f"{path}: {getattr(error, 'strerror', None) or error}. Once that is fixed, or the file is gone, it is made again."
            )
        self._read_at = time.monotonic()

    def _progress(self, done: int, whole: int) -> None:
        self._share = done / whole if whole else 1.0


class BillTile(Tile):
    """The bill, and lost caches."""

    view = "bill"
    title = "Bill"

    def router(self) -> APIRouter:
        router, report = APIRouter(), BillReport(self.app_state)

        @router.get(
            "/api/bill", tags=["bill"], response_model=Bill, responses=failures(*ASKING, 503),
            summary="The bill, and lost caches",
        )  # fmt: skip
        def bill(project: Annotated[str, Query(max_length=4_000, description='"" for that of the newest session')] = "") -> Bill:
            return report.bill(project)

        return router
