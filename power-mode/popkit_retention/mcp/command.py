"""`popkit mcp`: serve the tools of agents, which an MCP client starts."""

from __future__ import annotations

import gc
import sys

from ..cli.commands import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


def run(_parsed: Words, environ: Mapping[str, str]) -> int:
    """Serve PopKit's tools to agents, over MCP on standard input and output, until the client has gone."""
    from .standard_streams import serve

    gc.enable()  # a command that ends at once does not need it
    if sys.stdin is not None and sys.stdin.isatty():
        print("popkit mcp: waiting for an MCP client on standard input. `popkit mcp --help` says how to add it to one.", file=sys.stderr)
    serve(environ, version())
    return 0
