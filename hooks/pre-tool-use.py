"""PreToolUse: `popkit restore HANDLE` needs no question to the user."""

from utils.handlers import run
from utils.handlers.tool_calls import allow

if __name__ == "__main__":
    run(allow, "pre-tool-use")
