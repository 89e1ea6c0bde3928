"""PreToolUse: `popkit restore HANDLE` needs no question to the user, and no call writes a line of ours into a file."""

from utils.handlers import run
from utils.handlers.tool_calls import before

if __name__ == "__main__":
    run(before, "pre-tool-use")
