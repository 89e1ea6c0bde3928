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
from hooks.utils.io import home

from .. import extras
from ..usage.store import DatabaseUnavailable
from ..views import budget as views
from . import budget_settings, screen
from .past_sessions import Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

MISTAKES = (DatabaseUnavailable, OSError)


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Shows how limits stand, or sets some."""
    if args.word == "set":
        return budget_settings.change(args.arguments, args.yes, args.dry_run, environ)
    found = asked(args, environ)
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.check:
        screen.show(text.wrap(f"{text.clean(found['database'])} can be used."), sys.stdout, environ)
    else:
        screen.show(views.budgets(found), sys.stdout, environ)
    return 0


def asked(args: Parsed, environ: Mapping[str, str]) -> dict[str, Any]:
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
