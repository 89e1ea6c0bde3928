"""PreToolUse: `popkit restore HANDLE` needs no question to the user."""

from utils.edges.hook_io import run
from utils.handlers.pre_tool_use import handle

if __name__ == "__main__":
    run(handle, "pre-tool-use")
