"""Commands that become servers: `popkit serve` (for the mod inside Claude Code), `popkit mcp` (for an MCP client), `popkit dashboard` (the
page)."""

from __future__ import annotations

import gc
import os
import sys

from .answering import Refused
from .main import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed


def serve(args: Parsed, environ: Mapping[str, str]) -> int:
    """Run the resident helper of one session, which the mod inside the client starts. Where PopKit is switched off, it says so and ends."""
    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    from hooks.utils import helper

    if args.join:
        helper.join(environ, args.session)
        return 0
    gc.enable()  # a command that ends at once does not need it
    helper.serve(environ, args.session, args.transcript, args.cwd, version())
    return 0


def dashboard(args: Parsed, environ: Mapping[str, str]) -> int:
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
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dashboard", "server.py")
    environment = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    sys.stdout.flush()
    os.execve(python, [python, script, json.dumps(options)], environment)  # noqa: S606  our own script


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open on the user's screen: not over SSH, and not without a display."""
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return sys.platform == "darwin" and not environ.get("SSH_CONNECTION")


def mcp(_parsed: Parsed, environ: Mapping[str, str]) -> int:
    """Serve PopKit's tools to agents, over MCP on standard input and output, until the client has gone."""
    from ..mcp import tool_service

    gc.enable()  # a command that ends at once does not need it
    if sys.stdin is not None and sys.stdin.isatty():
        print("popkit mcp: waiting for an MCP client on standard input. `popkit mcp --help` says how to add it to one.", file=sys.stderr)
    tool_service.serve(environ, version())
    return 0
