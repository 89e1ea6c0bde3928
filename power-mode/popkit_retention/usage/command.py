"""`popkit budget`: the user's own limits."""

from __future__ import annotations

from contextlib import suppress

from popkit_retention.core import text
from popkit_retention.core.io.sqlite_file import StoreError
from popkit_retention.core.io.system import now as time_of_day

from .. import extras
from ..cli.answering import Answer, Refused
from ..cli.terminal import Bar
from . import configured_database, ingestion, views
from .usage_store import DatabaseUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from popkit_retention.core.flag_parser import Words

MISTAKES = (OSError, StoreError)
LIMITS = ("session_tokens", "month_tokens", "session_usd", "month_usd", "on_exceeded")
CONTEXT = "context"  # the record of the configuration that has them
_NONE = ("none", "null", "")


def report(args: Words, environ: Mapping[str, str]) -> Answer:
    """Return the limits, and how much of each is used."""
    try:
        if configured_database.server_in(environ) is not None and not extras.enter("postgres", environ):
            raise Refused("context.database names a PostgreSQL, which needs a driver. Install it with: popkit setup postgres")
        if args.check:
            name = configured_database.check_usable(environ)
            return Answer(text.wrap(f"{text.clean(name)} can be used."), {"database": name})
        with Bar(environ) as bar:
            ingestion.catch_up(environ, bar.show)
        used = configured_database.report(environ, args.session, args.user)
    except DatabaseUnavailable as error:
        unchecked = configured_database.unchecked_this_month(environ, time_of_day(environ))
        raise Refused(f"{error}. {views.unchecked(unchecked)}" if unchecked else str(error)) from None
    return Answer(views.budgets(used), used.to_json())


def set_limits(args: Words, environ: Mapping[str, str]) -> Answer:
    """Set limits in the user's own configuration, after asking."""
    from ..cli import settings_file

    is_done = settings_file.change_own({CONTEXT: _limits_of(args.arguments)}, args.yes, args.dry_run, environ)
    return Answer([], code=int(not (is_done or args.dry_run)))


def _limits_of(words: list[str]) -> dict[str, object]:
    """Return the limits that words set: session_tokens=2000000, month_usd=none. Refused for any other word."""
    from popkit_retention.core.config import validation
    from popkit_retention.core.config.fields import FIELDS

    limits: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in LIMITS:
            raise Refused(f"{word!r:.60} is not a limit. Write KEY=VALUE, with one of {', '.join(LIMITS)}")
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
    with suppress(ValueError):
        return int(plain)
    with suppress(ValueError):
        return float(plain)
    return value
