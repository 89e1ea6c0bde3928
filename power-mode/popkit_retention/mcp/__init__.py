"""Serve the operations to agents (`popkit mcp`): an MCP server on the standard streams.

From the stream inwards: `standard_streams` reads and writes bytes, `json_rpc` makes messages of them, `server` answers them and queues
calls of tools, `tool_service` checks a call against its schema and runs the function of its row (`tool`), which gets a `call`. Features
bring the rows; those on the context are in `context_tools`.
"""
