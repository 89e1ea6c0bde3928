"""`popkit limits`: how full the plan's limits are, when they will be full, what used them, and what tokens are worth in them.
`popkit budget`: the user's own limits of a session and of a month, what is used of them, and how much of a context they let in.
"""

from __future__ import annotations

from contextlib import suppress

from hooks.utils import text
from hooks.utils.config import validation
from hooks.utils.config.fields import FIELDS
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.io.system import now as time_of_day
from hooks.utils.policy.limit_weights import KINDS
from hooks.utils.policy.limits import LEAST_WINDOWS, LENGTHS_S, windows
from hooks.utils.state import client_reports

from .. import extras
from ..bill import digests
from ..bill.fit import LEAST_MOVEMENTS, Fit, movements
from ..bill.windows import took
from ..usage.store import DatabaseUnavailable
from ..views import spending
from . import settings_file
from .answering import Answer, Refused
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed
    from hooks.utils.policy.limit_weights import Weights
    from hooks.utils.policy.limits import Window

MISTAKES = (OSError, StoreError, DatabaseUnavailable)
LIMITS = ("session_tokens", "month_tokens", "session_usd", "month_usd", "on_exceeded")
CONTEXT = "context"  # the record of the configuration that has them
_NONE = ("none", "null", "")


def run(_args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Read what the helper has kept, and of the transcripts what has changed since the last time."""
    now, popkit_home = time_of_day(environ), home.popkit_home(environ)
    readings = client_reports.readings(popkit_home)
    running = windows(readings, now)
    used: list[digests.Digest] = []
    if readings:
        begins = [began for began in map(_began, running) if began is not None]
        with Bar(environ) as bar:
            used = digests.of_user(environ, min([*begins, *(reading.at for reading in readings)]), now, bar.show)
    fits = {kind: Fit(kind, movements(readings, kind, used)) for kind in LENGTHS_S}
    if readings:
        with suppress(OSError):  # the answer has them anyway
            client_reports.keep_weights(popkit_home, [fit.weights for fit in fits.values() if fit.weights], now)
    answer = {
        "last_reading_at": max((reading.at for reading in readings), default=None),
        "windows": [_as_data(window, used, fits) for window in running],
    }
    return Answer(spending.windows(answer, now), answer)


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
    amounts = {kind: {(model, kind): 1e6} for kind in KINDS}
    amounts.update({f"cold_{ttl}": {(model, f"write_{ttl}"): 1e5, (model, "read"): -1e5} for ttl in ("5m", "1h")})
    worth: dict[str, Any] = {}
    for name, tokens in amounts.items():
        share = weights.worth(tokens)
        claimed = weights.claimed(tokens) is not None and share is not None and share[0] > 0
        worth[name] = share and {"percent": share[0], "error": share[1], "claimed": claimed}
    return worth


# --- the user's own limits --------------------------------------------------------------------------------------------------------------


def budget(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Show the limits and what is used of them, or set some. Refused, DatabaseUnavailable."""
    if args.word == "set":
        is_as_asked = settings_file.change_own({CONTEXT: _limits_of(args.arguments)}, args.yes, args.dry_run, environ)
        return Answer([], code=int(not (is_as_asked or args.dry_run)))
    from ..usage import database, ingestion

    if database.server_in(environ) is not None and not extras.enter("postgres", environ):
        raise Refused("context.database names a PostgreSQL, which needs a driver. Install it with: popkit setup postgres")
    if args.check:
        name = database.check_usable(environ)
        return Answer(text.wrap(f"{text.clean(name)} can be used."), {"database": name})
    with Bar(environ) as bar:
        ingestion.catch_up(environ, bar.show)
    used = database.report(environ, args.session, args.user)
    return Answer(spending.budgets(used), used)


def _limits_of(words: list[str]) -> dict[str, Any]:
    """Return the limits that words name: session_tokens=2000000, month_usd=none. Refused for any other word."""
    limits: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in LIMITS:
            raise Refused(f"{word!r:.60} is no limit. Write KEY=VALUE, with one of {', '.join(LIMITS)}")
        problems: list[str] = []
        note = lambda _at, _value, allowed, _known, listed=problems: listed.append(allowed)  # noqa: E731
        limits[name] = validation.read(FIELDS[CONTEXT]["fields"][name], _number(value), (name,), note)
        if problems:
            raise Refused(f"{name} takes {problems[0].replace('null', 'none')}")
    return limits


def _number(value: str) -> Any:
    plain = value.lower().replace(",", "").replace("_", "").lstrip("$")
    if plain in _NONE:
        return None
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return value
