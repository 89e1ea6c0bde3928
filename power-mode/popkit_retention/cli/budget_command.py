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
from hooks.utils.edges import home

from .. import extras
from ..usage.store import DatabaseUnavailable
from ..views import budget as views
from . import budget_settings, screen
from .past_sessions import Bar
from .statusline_install import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "budget",
        description="The limits of a session and of a month, what is used of them, and how much of a context they let in. There are four, "
        f"each off until you set it: {', '.join(budget_settings.LIMITS)}.",
    )
    parser.add_argument("--session", metavar="ID", default="", help="of this session (default: your newest)")
    parser.add_argument("--user", metavar="NAME", default="", help="of this user (default: context.user, or your login name)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--check", action="store_true", help="only check that the database can be used; nothing is changed")
    parser.set_defaults(run=run, act=None)
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    change = acts.add_parser("set", help="set limits in your own configuration: the change is shown first, and made on your word")
    change.add_argument("settings", metavar="KEY=VALUE", nargs="+", help=f"{', '.join(budget_settings.LIMITS)}; none takes a limit away")
    change.add_argument("--yes", action="store_true", help="do not ask")
    change.add_argument("--dry-run", action="store_true", help="only show the change")


def run(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Shows how limits stand, or sets some."""
    try:
        if args.act == "set":
            return budget_settings.change(args.settings, args.yes, args.dry_run, environ)
        found = asked(args, environ)
    except (Refused, DatabaseUnavailable, OSError) as error:
        if args.json:
            print(text.as_json({"error": str(error)}))
        else:
            screen.show(text.wrap(f"popkit budget: {text.clean(error)}", indent="  "), sys.stderr, environ)
        return 1
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.check:
        screen.show(text.wrap(f"{text.clean(found['database'])} can be used."), sys.stdout, environ)
    else:
        screen.show(views.budgets(found), sys.stdout, environ)
    return 0


def asked(args: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, Any]:
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


def _get_driver(args: argparse.Namespace, environ: Mapping[str, str]) -> None:
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
