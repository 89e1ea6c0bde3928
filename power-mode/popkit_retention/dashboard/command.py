"""`popkit dashboard`: start the server of the page."""

from __future__ import annotations

import os
import sys

from ..cli.answering import Refused
from ..cli.commands import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


def run(args: Words, environ: Mapping[str, str]) -> int:
    """Replace this process with the server of the page, so that signals reach it. It needs packages that this process cannot see (-S), so
    it runs in the interpreter that has them. Refused where none has."""
    import json

    from .. import extras

    python = extras.place_of("dashboard", environ)
    if not python:
        raise Refused("the dashboard needs packages beyond Python. Install them with: popkit setup dashboard")
    options = {
        "port": args.port, "ipv6": args.ipv6, "json": args.json, "version": version(),
        "open": not (args.no_open or args.json) and has_browser(environ),
    }  # fmt: skip
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")
    environment = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, script, json.dumps(options)], environment)  # noqa: S606  our own script


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open on the user's screen: not over SSH, and not without a display."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")
