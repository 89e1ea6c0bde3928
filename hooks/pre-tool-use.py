"""PreToolUse: `popkit restore HANDLE` needs no question to the user."""

from utils.handlers.pre_tool_use import handle
from utils.io.hook_io import run

if __name__ == "__main__":
    run(handle, "pre-tool-use")
