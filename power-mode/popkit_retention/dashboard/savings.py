"""The tile of savings by day or project: sums of the ledgers, which are settled first, as `popkit context stats` does; unchanged ledgers
are not read again."""

from __future__ import annotations

import os
import threading
from typing import Annotated

from fastapi import APIRouter, Query

from popkit_retention.core import efficiency_tracker as tracker
from popkit_retention.core import text
from popkit_retention.core.io import home
from popkit_retention.core.policy import figures, ledger
from popkit_retention.core.state import session, stale_ledgers, stored_contexts
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import savings

from .failures import ASKING, failures
from .savings_shapes import Stats, WorthDay, WorthProject
from .session_details import figures_of
from .shapes import COLUMNS
from .tile import Tile
from .transcript_heads import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app_state import AppState


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
            behind = stale_ledgers.catch_up(Site(self._app_state.environ, ""))
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
                    project = session.read(self._app_state.home, name).project or ""
                    known = (at, project, tracker.session_metrics(self._app_state.home, name))
                self._metrics[name] = known
            return [(project, metrics) for _, project, metrics in self._metrics.values()]


class StatsTile(Tile):
    """The savings and costs of PopKit in all sessions of this folder."""

    view = "stats"
    title = "Stats"
    script = "savings.js"

    def router(self) -> APIRouter:
        router, report = APIRouter(), SavingsReport(self.app_state)

        @router.get("/api/stats", tags=["worth"], response_model=Stats, responses=failures(*ASKING), summary="By day, project and cause")
        def stats(days: Annotated[int, Query(ge=1, le=366)] = 8) -> Stats:
            return report.stats(days)

        return router


def _project(name: str, metrics: tracker.EfficiencyMetrics) -> WorthProject:
    return WorthProject(project=shown(name, _NAMED) or _UNKNOWN, sessions=metrics.sessions, figures=figures_of(figures.of(metrics.ledger)))
