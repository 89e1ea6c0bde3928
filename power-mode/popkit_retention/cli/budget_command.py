"""`popkit budget`: the limits of a session and of a month, what is used of them, and how much of a context they let in.

What sessions have used since is booked first. A PostgreSQL needs a driver that this process may not see (-S): then an interpreter that has
it takes the place of the process. Exit 0, or 1 for what cannot be done.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec

from hooks.utils.answers import text
from hooks.utils.edges import home

from ..usage.store import DatabaseUnavailable
from . import budget_settings, screen, setup_command
from .past_sessions import Bar, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hooks.utils.flag_parser import Parsed

MISTAKES = (DatabaseUnavailable, OSError)
_NO_LIMITS = "No limit is set, so nothing is left out for a budget's sake. To set one: popkit budget set month_usd=50"


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
        screen.show(lines_of(found), sys.stdout, environ)
    return 0


def asked(args: Parsed, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the store answers, brought up to date. Refused, DatabaseUnavailable."""
    from ..usage import catching_up, opening, report

    if opening.server_in(environ) is not None:
        _get_driver(args, environ)
    if args.check:
        return {"database": opening.look(environ)}
    bar = Bar(environ)
    try:
        catching_up.catch_up(environ, bar.show)
    finally:
        bar.end()
    return report.report(environ, args.session, args.user)


def _get_driver(args: Parsed, environ: Mapping[str, str]) -> None:
    """Let an interpreter that has the driver take the place of this one, where this one lacks it. Refused where none has it."""
    from ..usage.postgres import DRIVER

    if find_spec(DRIVER) is not None:
        return
    python = setup_command.place_of("postgres", environ)
    if not python:
        raise Refused("context.database names a PostgreSQL, which needs a driver. Install it with: popkit setup postgres")
    words = ["budget", "--session", args.session, "--user", args.user]
    words += [word for word, is_said in (("--json", args.json), ("--check", args.check)) if is_said]
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, "-X", "utf8", os.path.join(home.plugin_root(), "hooks", "popkit.py"), *words], kept)  # noqa: S606  us again


def lines_of(found: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines = text.title("Budgets")
    lines += text.wrap(f"{text.clean(found['user'])}, {found['month']}; {text.clean(found['database'])}")
    for limit in found["limits"]:
        lines += ["", *_limit(limit)]
    if found["limits"]:
        lines += ["", *text.wrap(_chosen(found))]
    else:
        lines += ["", *text.wrap(_NO_LIMITS)]
    for scope, used in found["usage"].items():
        if used is not None:
            when = f"in this session {text.cut(text.clean(found['session']), 40)}" if scope == "session" else "this month"
            lines += ["", f"Used {when}", *_used(used)]
    return lines


def _limit(limit: dict[str, Any]) -> list[str]:
    filled = min(20, round(limit["used_percent"] / 5))
    bar = "█" * filled + "░" * (20 - filled)
    used, most, left = (_amount(limit[name], limit["unit"]) for name in ("used", "limit", "remaining"))
    of = f"{used} of {most}" + (" tokens" if limit["unit"] == "tokens" else "")
    over = "exceeded" if limit["used"] > limit["limit"] else f"{left} left"
    return [f"{limit['scope']:<9}{bar}  {limit['used_percent']:.1f} % used", f"{'':<9}{of}, {over}"]


def _chosen(found: dict[str, Any]) -> str:
    return (
        f"The limit that is used up most counts: {found['remaining_percent']:.1f} % remain, so contexts are built for a budget of "
        f"{found['range']}."
    )


def _used(used: dict[str, Any]) -> list[str]:
    read = f"{text.counted(used['requests'], 'request')}: {used['input_tokens']:,} tokens in, {used['cache_read_tokens']:,} read from the "
    read += f"cache, {used['cache_write_tokens']:,} written to it, {used['output_tokens']:,} out"
    price = f"; ${used['usd']:,.2f}" if used["usd"] or not used["unpriced"] else ""
    lines = text.wrap("  " + read + price, indent="  ")
    if used["unpriced"]:
        said = f"  The price of {text.counted(used['unpriced'], 'request')} is not known: name the model in models.by_id."
        lines += text.wrap(said, indent="  ")
    return lines


def _amount(amount: float, unit: str) -> str:
    return f"${amount:,.2f}" if unit == "usd" else f"{amount:,.0f}"
