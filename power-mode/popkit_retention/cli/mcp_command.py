"""`popkit mcp`: PopKit's tools for agents, over MCP on standard input and output. A client starts it; it ends with the client."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed


def run(_parsed: Parsed, environ: Mapping[str, str]) -> int:
    """Serve until the client has gone."""
    import gc

    from ..mcp import stdio
    from .main import version

    gc.enable()  # commands do without, this one stays
    if sys.stdin is not None and sys.stdin.isatty():
        print("popkit mcp: waiting for an MCP client on standard input. `popkit mcp --help` says how to add it to one.", file=sys.stderr)
    stdio.serve(environ, version())
    return 0
