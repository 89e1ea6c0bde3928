"""PreToolUse: `popkit restore HANDLE` needs no question to the user, and no call writes a line of ours into a file."""

from utils.handlers import run
from utils.handlers.coming_calls import answer

if __name__ == "__main__":
    run(answer, "pre-tool-use")
