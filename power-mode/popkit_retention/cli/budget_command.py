"""`popkit budget`: the limits of a session and of a month, what is used of them, and how much of a context they let in.

The database needs packages that this process cannot see (-S): the interpreter that has them asks it. Exit 0, or 1 for what cannot be done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hooks.utils.answers import text

from . import budget_settings, screen, setup_command
from .statusline_install import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any

_NO_LIMITS = "No limit is set, so nothing is left out for a budget's sake. To set one: popkit budget set month_usd=50"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "budget",
        description="The limits of a session and of a month, what is used of them, and how much of a context they let in. There are four, "
        f"each off until you set it: {', '.join(budget_settings.LIMITS)}.",
    )
    parser.add_argument("--session", metavar="ID", default="", help="of this session (default: your newest)")
    parser.add_argument("--user", metavar="NAME", default="", help="of this user (default: context.user, or your login name)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run, act=None)
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    change = acts.add_parser("set", help="set limits in your own configuration: the change is shown first, and made on your word")
    change.add_argument("settings", metavar="KEY=VALUE", nargs="+", help=f"{', '.join(budget_settings.LIMITS)}; none takes a limit away")
    change.add_argument("--yes", action="store_true", help="do not ask")
    change.add_argument("--dry-run", action="store_true", help="only show the change")
    send = acts.add_parser("send", help="send what hooks have noted: usage to the database, spans to context.traces (hooks start this)")
    send.add_argument("--quiet", action="store_true", help="say nothing")


def run(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Shows how limits stand, or sets some."""
    try:
        if args.act == "set":
            return budget_settings.change(args.settings, args.yes, args.dry_run, environ)
        if args.act == "send":
            return _send(args, environ)
        found = asked({"do": "report", "session": args.session, "user": args.user}, environ)
    except (Refused, OSError) as error:
        if getattr(args, "quiet", False):
            return 1
        if args.json:
            print(text.as_json({"error": str(error)}))
        else:
            screen.show(text.wrap(f"popkit budget: {text.clean(error)}", indent="  "), sys.stderr, environ)
        return 1
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        screen.show(lines_of(found), sys.stdout, environ)
    return 0


def asked(errand: dict[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What an errand answers; Refused where it cannot be done."""
    python = setup_command.place_of("dashboard", environ)
    if not python:
        raise Refused("budgets need packages beyond Python. Install them with: popkit setup dashboard")
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "context", "errands.py")
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603  our own script
        [python, "-I", script, json.dumps(errand)], env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Refused(f"{python} could not do it: {text.cut(text.clean(last), 200)}") from None
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


def _send(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Sends what waits; 0 when nothing is left."""
    found = asked({"do": "send"}, environ)
    said = f"{text.counted(found['booked'], 'request')} booked, {text.counted(found['traced'], 'span')} sent"
    said += f", {text.counted(found['left'], 'line')} left. " if found["left"] else "."
    if args.json:
        print(json.dumps(found))
    elif not args.quiet:
        screen.show(text.wrap(said + " ".join(map(text.clean, found["why"]))), sys.stdout, environ)
    return 1 if found["left"] else 0


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
