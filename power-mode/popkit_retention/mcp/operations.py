"""The operation of `popkit mcp`."""

from __future__ import annotations

from popkit_retention.core.operation_tables import Operation, Table

MCP = Table(
    "popkit mcp",
    "tools for agents, over MCP (an MCP client starts it)",
    Operation(
        "",
        more="""A server on standard input and output, which gives an agent tools to search what left its context (context_search, \
context_restore, context_status), to use what past sessions have taught (memory_*), and to see and change the retention policies of stored \
data (retention_*). What an agent deletes is only marked, and you can undo it for 24 hours.

Add it to Claude Code in one of two ways:
  claude plugin install popkit-mcp@popkit
      the plugin, if you have PopKit's marketplace
  claude mcp add popkit -- popkit mcp
      only the server

Any other MCP client can start the command behind `--` in the folder of your project. An agent sees the data of that project only. To \
allow it all projects, put this into retention-config.json in PopKit's folder:
  {"retention": {"mcp": {"all_projects": true}}}""",
        does="run",
    ),
    module=f"{__package__}.command",
)
