"""PostToolUse and PostToolUseFailure: a tool result enters the context."""

from utils.edges.hook_io import run
from utils.handlers.post_tool_use import handle

if __name__ == "__main__":
    run(handle, "post-tool-use")
