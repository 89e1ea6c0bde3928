"""`popkit mcp`: the same deeds for agents, as an MCP server on standard input and output."""
