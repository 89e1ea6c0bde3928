"""`popkit limits`: how full the windows of your plan's limits are, when they will be full, what used them, and what tokens are
worth in them."""

from __future__ import annotations

from contextlib import suppress

from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.io.system import now as time_of_day
from hooks.utils.policy.limit_weights import KINDS
from hooks.utils.policy.limits import LEAST_WINDOWS, LENGTHS_S, windows
from hooks.utils.state import limits

from ..bill import digests
from ..bill.fit import LEAST_MOVEMENTS, Fit, movements
from ..bill.windows import took
from ..views import limits as views
from .answering import Answer
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.limit_weights import Weights
    from hooks.utils.policy.limits import Window

MISTAKES = (OSError, StoreError)


def run(_args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Read what the helper has kept, and of the transcripts what has changed since the last time."""
    now = time_of_day(environ)
    kept = limits.readings(home.popkit_home(environ))
    running = windows(kept, now)
    begins = [began for window in running for began in [_began(window)] if began is not None]
    oldest = min((reading.at for reading in kept), default=now)
    used = _digests(environ, min([oldest, *begins]), now) if kept else []
    fits = {kind: Fit(kind, movements(kept, kind, used)) for kind in LENGTHS_S}
    if kept:
        with suppress(OSError):  # the answer has them anyway
            limits.keep_weights(home.popkit_home(environ), [fit.weights for fit in fits.values() if fit.weights], now)
    found = {
        "last_reading_at": max((reading.at for reading in kept), default=None),
        "windows": [_as_data(window, used, fits) for window in running],
    }
    return Answer(views.lines_of(found, now), found)


def _digests(environ: Mapping[str, str], since: float, now: float) -> list[digests.Digest]:
    bar = Bar(environ)
    try:
        return digests.of_user(environ, since, now, bar.show)
    finally:
        bar.end()


def _began(window: Window) -> float | None:
    newest = window.newest
    length = LENGTHS_S.get(newest.kind)
    return newest.resets_at - length if length and newest.resets_at else None


def _as_data(window: Window, used: list[digests.Digest], fits: dict[str, Fit]) -> dict[str, Any]:
    newest, began = window.newest, _began(window)
    return {
        "kind": newest.kind, "percent": newest.percent, "at": newest.at, "percent_per_hour": window.pace, "full_at": window.full_at,
        "resets_at": newest.resets_at or None, "began": began, "took": None if began is None else took(used, began),
        "fit": None if began is None else _fit(fits[newest.kind]),
    }  # fmt: skip


def _fit(fit: Fit) -> dict[str, Any]:
    """Return what tokens are worth, by model: a million of each of KINDS, and 100,000 that are written again where they would have been
    read (`cold_5m`, `cold_1h`), in percent of the window: {`percent`, `error`, `claimed`}, None where nothing is known."""
    columns = fit.weights.columns if fit.weights else ()
    models = sorted({model for model, _ in columns})
    return {
        "window": fit.window, "why": fit.why, "blocks": fit.blocks, "needs_blocks": LEAST_WINDOWS, "movements": fit.movements,
        "needs_movements": LEAST_MOVEMENTS, "worth": {model: _worth(fit.weights, model) for model in models if fit.weights},
    }  # fmt: skip


def _worth(weights: Weights, model: str) -> dict[str, Any]:
    several = {kind: {(model, kind): 1e6} for kind in KINDS}
    cold = {name: {(model, "write_" + name): 1e5, (model, "read"): -1e5} for name in ("5m", "1h")}
    asked = {**several, **{"cold_" + name: tokens for name, tokens in cold.items()}}
    worth: dict[str, Any] = {}
    for name, tokens in asked.items():
        found = weights.worth(tokens)
        claimed = weights.claimed(tokens) is not None and found is not None and found[0] > 0
        worth[name] = found and {"percent": found[0], "error": found[1], "claimed": claimed}
    return worth
