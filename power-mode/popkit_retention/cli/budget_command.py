"""`popkit budget`: the limits of a session and of a month, what is used of them, and how much of a context they let in.

What sessions have used since is booked first. A PostgreSQL needs a driver that this process may not see (-S): then an interpreter that has
it takes the place of the process. Exit 0, or 1 for what cannot be done.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec

from hooks.utils import text
from hooks.utils.config import usable
from hooks.utils.config.fields import FIELDS
from hooks.utils.io import home

from .. import extras
from ..usage.store import DatabaseUnavailable
from ..views import budget as views
from . import own_configuration, screen
from .answering import Refused
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

MISTAKES = (DatabaseUnavailable, OSError)
LIMITS = ("session_tokens", "month_tokens", "session_usd", "month_usd", "on_exceeded")
CONTEXT = "context"
_NONE = ("none", "null", "")


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Show the limits and what is used of them, or set some."""
    if args.word == "set":
        return change(args.arguments, args.yes, args.dry_run, environ)
    report = answer(args, environ)
    if args.json:
        print(json.dumps(report, indent=2))
    elif args.check:
        screen.show(text.wrap(f"{text.clean(report['database'])} can be used."), sys.stdout, environ)
    else:
        screen.show(views.budgets(report), sys.stdout, environ)
    return 0


def answer(args: Parsed, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the store answers, brought up to date. Refused, DatabaseUnavailable."""
    from ..usage import database, ingestion, report

    if database.server_in(environ) is not None:
        _get_driver(args, environ)
    if args.check:
        return {"database": database.check_usable(environ)}
    bar = Bar(environ)
    try:
        ingestion.catch_up(environ, bar.show)
    finally:
        bar.end()
    return report.report(environ, args.session, args.user)


def _get_driver(args: Parsed, environ: Mapping[str, str]) -> None:
    """Let an interpreter that has the driver take the place of this one, where this one lacks it. Refused where none has it."""
    from ..usage.postgres import DRIVER

    if find_spec(DRIVER) is not None:
        return
    python = extras.place_of("postgres", environ)
    if not python:
        raise Refused("context.database names a PostgreSQL, which needs a driver. Install it with: popkit setup postgres")
    words = ["budget", "--session", args.session, "--user", args.user]
    words += [word for word, is_said in (("--json", args.json), ("--check", args.check)) if is_said]
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, "-X", "utf8", os.path.join(home.plugin_root(), "hooks", "popkit.py"), *words], kept)  # noqa: S606  us again


# --- limits in the user's own configuration ---------------------------------------------------------------------------------------------


def change(words: list[str], yes: bool, dry_run: bool, environ: Mapping[str, str]) -> int:
    """Show the change, ask, make it if the file is still what it was. Return 0 when the limits are as they were asked to be."""
    return 0 if own_configuration.change({CONTEXT: limits_of(words)}, yes, dry_run, environ) or dry_run else 1


def limits_of(words: list[str]) -> dict[str, Any]:
    """Return the limits that words name: session_tokens=2000000, month_usd=none. Refused for what is none."""
    limits: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in LIMITS:
            raise Refused(f"{word!r:.60} is no limit. Write KEY=VALUE, with one of {', '.join(LIMITS)}")
        problems: list[str] = []
        note = lambda _at, _value, allowed, _known, listed=problems: listed.append(allowed)  # noqa: E731
        limits[name] = usable.read(FIELDS[CONTEXT]["fields"][name], _number(value), (name,), note)
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
