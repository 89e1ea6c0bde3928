"""Reports of what sessions cost and what was saved. The bill of a project and what caches lost, as `popkit bill` and `popkit bill misses`
have them: a thread reads transcripts when the page asks, and until all are read, an answer says how many are. The savings by day and
project: sums of the ledgers, which are settled first, as `popkit context stats` does; unchanged ledgers are not read again."""

from __future__ import annotations

import os
import sqlite3
import threading
import time

from hooks.utils import efficiency_tracker as tracker
from hooks.utils import text
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.policy import figures, ledger
from hooks.utils.state import hidden_tools, session, settling, stored_contexts
from hooks.utils.state.site import Site
from hooks.utils.views import bill as views
from hooks.utils.views import savings
from hooks.utils.views.lost_caches import CAUSES, cause_in_words

from ..bill import digests, statement, sums
from ..bill.statement import bill_of
from ..parallel.results import Workplace
from .sessions import figures_of
from .shapes import COLUMNS, NotThere, Unusable
from .stored_shapes import Bill, BillPhrases, Stats, WorthDay, WorthProject
from .transcripts import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bill.records import Digest
    from .app_state import AppState


# --- the bill ---

FRESH_S = 2.0  # how long transcripts are not looked at again
PATIENCE_S = 0.5  # how long an answer waits for the reading


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
        """Return the bill of a project ("": the one with the newest session) from the transcripts read so far; `reading` says how many
        these are."""
        reader = self._reading()
        if reader is not None:
            reader.join(PATIENCE_S)
        reading = self._share if reader is not None and reader.is_alive() else None
        if self._problem:
            raise Unusable(f"The bill cannot be made: {self._problem}")
        known = self._known
        if known is None:
            return Bill(reading=self._share)
        projects = self._projects(known)
        if project and project not in projects:
            raise NotThere("no session of this project is known. GET /api/bill lists the projects")
        return self._answer(known, project, projects, reading)

    def _answer(self, known: list[Digest], project: str, projects: list[str], reading: float | None) -> Bill:
        now, models = self._app_state.now(), self._app_state.rules.models
        since = now - statement.MONTH_S
        misses = sums.misses((digest for digest in known if digest["ended"] >= since), models)
        project = project or next(iter(projects), "")
        bill = bill_of(self._app_state.home, project, known, since, now, models) if project else None
        return Bill(
            reading=reading,
            project=project,
            projects=projects,
            bill=bill,
            misses={**misses, "prices_of": models.dated},
            phrases=BillPhrases(**views.phrases(bill, now)) if bill else None,
            causes={cause: list(cause_in_words(cause, misses["hosts"])) for cause in CAUSES},
        )

    def _projects(self, known: list[Digest]) -> list[str]:
        """Return the projects of sessions, that of the newest session first."""
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


# --- savings ---

_NAMED = 300
_UNKNOWN = "unknown"


class SavingsReport:
    """The savings of one AppState."""

    def __init__(self, app_state: AppState) -> None:
        self._app_state = app_state
        self._lock = threading.Lock()
        self._metrics: dict[str, tuple[int, str, tracker.EfficiencyMetrics]] = {}
        self._settled: object = None  # the stamps of all sessions when everything was settled

    def stats(self, most_days: int) -> Stats:
        """Return the savings of all sessions, including those that were swept, and of each of the last days since PopKit was installed."""
        behind = self._settle()
        by_project = self._by_project()
        everything = tracker.sum_metrics(metrics for several in by_project.values() for metrics in several)
        worth, of_all = tracker.worth(everything, self._app_state.now()), figures.of_ledger(everything.ledger)
        nothing: dict[str, float | None] = dict.fromkeys((*ledger.GAINS, *ledger.CAUSES), 0.0)
        headline = savings.headline(worth)
        lines: list[text.Line] = [headline]
        if everything.ledger:
            lines += ["", *savings.ledger_table(worth), "", *savings.ledger_notes(worth, self._app_state.rules.models.dated)]
        if behind:
            lines += ["", *savings.uncounted_note(behind, "It is added within a minute.")]
        rows = [_project(name, tracker.sum_metrics(several)) for name, several in by_project.items()]
        return Stats(
            headline=headline,
            lines=text.laid_out(lines, COLUMNS),
            days=self._days(everything, most_days),
            projects=sorted(rows, key=lambda each: (-(each.figures.net_usd or 0), each.project)),
            figures=figures_of(figures.of(everything.ledger)),
            saved_by_usd=of_all.get("saved_by_usd", {gain: nothing[gain] for gain in ledger.GAINS}),
            cost_by_usd=of_all.get("cost_by_usd", {cause: nothing[cause] for cause in ledger.CAUSES}),
            gains=dict(savings.GAINS),
            causes=dict(savings.CAUSES),
        )

    def _days(self, metrics: tracker.EfficiencyMetrics, most: int) -> list[WorthDay]:
        sums: dict[str, dict[str, float]] = {}
        for key, amount in metrics.days.items():
            day, _, name = key.partition(" ")
            sums.setdefault(day, {})[name] = amount
        return [WorthDay(day=day, **figures_of(figures.of(sums.get(day, {}))).model_dump()) for day in self._app_state.days(most, sums)]

    def _settle(self) -> int:
        """Settle the ledgers of sessions; return how many are not settled yet. Where no session has changed since, there is nothing to
        do."""
        with self._app_state.changing:
            stamps = sorted((known.id, known.stamp) for known in self._app_state.catalog.sessions().values())
            if stamps == self._settled:
                return 0
            behind = settling.catch_up(Site(self._app_state.environ, ""))
            self._settled = None if behind else stamps
            return behind

    def _by_project(self) -> dict[str, list[tracker.EfficiencyMetrics]]:
        by_project: dict[str, list[tracker.EfficiencyMetrics]] = {}
        names: dict[str, str] = {}
        for project, metrics in self._here():
            if metrics.contexts:
                by_project.setdefault(project, []).append(metrics)
                names[home.safe_name(project)] = project
        for project, metrics in tracker.swept_metrics(self._app_state.home):
            by_project.setdefault(names.get(project, project), []).append(metrics)
        return by_project

    def _here(self) -> list[tuple[str, tracker.EfficiencyMetrics]]:
        """Return (project, metrics) of each stored session."""
        folder = os.path.join(self._app_state.home, "sessions")
        with self._lock:
            before, self._metrics = self._metrics, {}
            for name in stored_contexts.folders(self._app_state.home):
                try:
                    at = os.lstat(os.path.join(folder, name)).st_mtime_ns
                except OSError:
                    continue  # it was swept meanwhile
                known = before.get(name)
                if known is None or known[0] != at:
                    project = session.read(self._app_state.home, name).get("project") or ""
                    known = (at, project, tracker.session_metrics(self._app_state.home, name))
                self._metrics[name] = known
            return [(project, metrics) for _, project, metrics in self._metrics.values()]


def _project(name: str, metrics: tracker.EfficiencyMetrics) -> WorthProject:
    return WorthProject(project=shown(name, _NAMED) or _UNKNOWN, sessions=metrics.sessions, figures=figures_of(figures.of(metrics.ledger)))
