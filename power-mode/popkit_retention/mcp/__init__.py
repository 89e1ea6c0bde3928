"""Serve the operations to agents (`popkit mcp`): an MCP server on standard input and output."""
