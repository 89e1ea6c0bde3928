"""`popkit dashboard`: one page that shows everything live, on this machine alone. Serves until Ctrl-C; exit 1 where it cannot.

The server needs packages, which this process cannot see (-S): it is run by the interpreter that has them.
"""

from __future__ import annotations

import json
import os
import sys

from hooks.utils import text

from .. import extras
from . import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import NoReturn

_PORTS = 65_535


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "dashboard",
        description="One page that shows everything live: sessions, memory, retention, budgets. It is served to this machine alone, at an "
        "address with a token that is new each time. Press Ctrl-C to stop it. popkit setup dashboard installs what it needs, once.",
    )
    parser.add_argument("--port", metavar="N", type=_port, help="serve at this port (default: 7457, or a free one; 0: a free one)")
    parser.add_argument("--ipv6", action="store_true", help="also serve at ::1")
    parser.add_argument("--no-open", action="store_true", help="only print the address, open no browser")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")
    parser.set_defaults(run=run)


def _port(word: str) -> int:
    import argparse

    if not (word.isascii() and word.isdigit() and len(word) <= 5 and int(word) <= _PORTS):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_PORTS:,}, not {text.cut(text.clean(word), 20)}")
    return int(word)


def run(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> int:
    """Serves until it is told to end."""
    python = extras.place_of("dashboard", environ)
    if python:
        _become_server(python, args, environ)
    message = "the dashboard needs packages beyond Python. Install them with: popkit setup dashboard"
    if args.json:
        print(text.as_json({"error": message}))
    else:
        screen.show(text.wrap("popkit dashboard: " + message, indent="  "), sys.stderr, environ)
    return 1


def _become_server(python: str, args: argparse.Namespace, environ: Mapping[str, str]) -> NoReturn:
    """The server takes the place of this process, and the signals with it."""
    from .main import version

    asked = {
        "port": args.port, "ipv6": args.ipv6, "json": args.json, "version": version(),
        "open": not (args.no_open or args.json) and has_browser(environ),
    }  # fmt: skip
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dashboard", "server.py")
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, script, json.dumps(asked)], kept)  # noqa: S606  our own script


def has_browser(environ: Mapping[str, str]) -> bool:
    """Whether a browser would open where the user sits: not on a machine that was reached over SSH, nor without a screen."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")
