"""`popkit budget`: the limits of a session and of a month, what is used of them, and how much of a context they let in.

What sessions have used since is booked first.
"""

from __future__ import annotations

from hooks.utils import text
from hooks.utils.config import validation
from hooks.utils.config.fields import FIELDS

from .. import extras
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

MISTAKES = (DatabaseUnavailable, OSError)
LIMITS = ("session_tokens", "month_tokens", "session_usd", "month_usd", "on_exceeded")
CONTEXT = "context"  # the record of the configuration that has them
_NONE = ("none", "null", "")


def run(args: Parsed, environ: Mapping[str, str]) -> Answer:
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
