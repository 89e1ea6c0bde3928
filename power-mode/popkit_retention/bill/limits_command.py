"""`popkit bill limits`: the use of the plan's limits."""

from __future__ import annotations

from popkit_retention.core.io import home
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy.limits import LENGTHS_S, windows
from popkit_retention.core.state import limit_readings

from ..cli.answering import Answer
from ..cli.terminal import Bar
from . import digests, limit_views
from .chosen_digests import models_of_user
from .limit_window import took

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.policy.limits import Window
    from popkit_retention.core.policy.models import Models
    from popkit_retention.core.views.shapes import PlanLimits, WindowUse

    from .records import Digest


def limits(_args: Words, environ: Mapping[str, str]) -> Answer:
    """Return the limits, from the readings that the helper has stored, and from the transcripts that have changed since the last time."""
    now, popkit_home = time_of_day(environ), home.popkit_home(environ)
    readings = limit_readings.readings(popkit_home)
    running = windows(readings, now)
    begins = [began for began in map(_began, running) if began is not None]
    used: list[Digest] = []
    if begins:
        with Bar(environ) as bar:
            used = digests.of_user(environ, min(begins), now, bar.show)
    models = models_of_user(popkit_home)
    answer: PlanLimits = {
        "last_reading_at": max((reading.at for reading in readings), default=None),
        "prices_of": models.dated,
        "windows": [_as_data(window, used, models) for window in running],
    }
    return Answer(limit_views.windows(answer, now), answer)


def _began(window: Window) -> float | None:
    newest = window.newest
    length = LENGTHS_S.get(newest.kind)
    return newest.resets_at - length if length and newest.resets_at else None


def _as_data(window: Window, used: list[Digest], models: Models) -> WindowUse:
    newest, began = window.newest, _began(window)
    return {
        "kind": newest.kind, "percent": newest.percent, "at": newest.at, "percent_per_hour": window.pace, "full_at": window.full_at,
        "resets_at": newest.resets_at or None, "began": began, "took": None if began is None else took(used, began, models),
    }  # fmt: skip
