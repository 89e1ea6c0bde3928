"""`popkit mcp`: PopKit's tools for agents, over MCP on standard input and output. A client starts it; it ends with the client."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HELP = """An MCP server on standard input and output. It gives an agent tools to look
for what left its context (context_search, context_restore, context_status),
to use what past sessions have taught (memory_*), and to see and change the
retention policies of stored data (retention_*). What an agent deletes is only
marked, and you can undo it for 24 hours.

Add it to Claude Code in one of two ways:
  claude plugin install popkit-mcp@popkit
      the plugin, if you have PopKit's marketplace
  claude mcp add popkit -- popkit mcp
      the server alone; `popkit` must be on your PATH

Any other MCP client can start the command `popkit mcp` in the folder of your
project. An agent sees the data of that project alone. To allow it all
projects, put this into retention-config.json in PopKit's folder:
  {"retention": {"mcp": {"all_projects": true}}}"""


def run_words(words: list[str], environ: Mapping[str, str]) -> int:
    """Serves until the client has gone. The server starts with every session, so words are only read where there are any."""
    import gc

    if words:
        _parse(words)
    from ..mcp import stdio
    from .main import version

    gc.enable()  # commands do without, this one stays
    if sys.stdin is not None and sys.stdin.isatty():
        print("popkit mcp: waiting for an MCP client on standard input. `popkit mcp --help` says how to add it to one.", file=sys.stderr)
    stdio.serve(environ, version())
    return 0


def _parse(words: list[str]) -> None:
    import argparse

    argparse.ArgumentParser("popkit mcp", description=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(words)
