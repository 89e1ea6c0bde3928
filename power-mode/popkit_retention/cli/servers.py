"""`popkit serve` and `popkit dashboard`: what runs until the client has gone, or until Ctrl-C."""

from __future__ import annotations

import gc
import json
import os
import sys

from .answering import Refused
from .main import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed


def serve(args: Parsed, environ: Mapping[str, str]) -> int:
    """Run the resident helper of one session, which the mod inside the client starts. Where PopKit is switched off it says so and ends."""
    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    from hooks.utils import helper

    if args.join:
        helper.join(environ, args.session)
        return 0
    gc.enable()  # commands do without, this one stays
    helper.serve(environ, args.session, args.transcript, args.cwd, version())
    return 0


def dashboard(args: Parsed, environ: Mapping[str, str]) -> int:
    """Put the server of the page in the place of this process, and the signals with it. It needs packages, which this process cannot see
    (-S), so it runs in the interpreter that has them. Refused where none has."""
    from .. import extras

    python = extras.place_of("dashboard", environ)
    if not python:
        raise Refused("the dashboard needs packages beyond Python. Install them with: popkit setup dashboard")
    options = {
        "port": args.port, "ipv6": args.ipv6, "json": args.json, "version": version(),
        "open": not (args.no_open or args.json) and has_browser(environ),
    }  # fmt: skip
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dashboard", "server.py")
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, script, json.dumps(options)], kept)  # noqa: S606  our own script


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open where the user sits: not on a machine that was reached over SSH, nor without a screen."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")
