"""Serve the operations to agents (`popkit mcp`): an MCP server on standard input and output.

From the stream inwards: `service` reads and writes bytes, `protocol` makes messages of them, `server` answers them and queues calls of
tools, `service` checks a call against its schema (`schemas`) and runs the function in `tools`, with a `ToolCall`.
"""
