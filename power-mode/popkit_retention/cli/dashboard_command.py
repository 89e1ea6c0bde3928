"""`popkit dashboard`: one page that shows everything live, on this machine alone. Serves until Ctrl-C; exit 1 where it cannot.

The server needs packages, which this process cannot see (-S): it is run by the interpreter that has them.
"""

from __future__ import annotations

import json
import os
import sys

from .. import extras
from .answering import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from hooks.utils.flag_parser import Parsed


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Serve until Ctrl-C."""
    python = extras.place_of("dashboard", environ)
    if python:
        _become_server(python, args, environ)
    raise Refused("the dashboard needs packages beyond Python. Install them with: popkit setup dashboard")


def _become_server(python: str, args: Parsed, environ: Mapping[str, str]) -> NoReturn:
    """Put the server in the place of this process, and the signals with it."""
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
    """Return whether a browser would open where the user sits: not on a machine that was reached over SSH, nor without a screen."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")
