"""A tiny MCP server over stdio with two tools, `lookup` (answers) and `fail` (isError). Standard library only."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
TOOLS = [
    {"name": "lookup", "description": "Look a key up.", "inputSchema": SCHEMA},
    {"name": "fail", "description": "Always fail.", "inputSchema": SCHEMA},
]


def answer(method, params):
    """The result of one request, or None for a method this server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2024-11-05"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "demo", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        key = params.get("arguments", {}).get("key", "")
        if params.get("name") == "fail":
            return {"content": [{"type": "text", "text": f"no such key: {key}"}], "isError": True}
        return {"content": [{"type": "text", "text": f"value of {key}"}]}
    if method == "ping":
        return {}
    return None


def main():
    """Answer until stdin closes; notifications get no answer."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request.get("method"), request.get("params") or {})
        response = {"jsonrpc": "2.0", "id": request["id"]}
        if result is None:
            response["error"] = {"code": -32601, "message": "method not found"}
        else:
            response["result"] = result
        sys.stdout.write(json.dumps(response) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
