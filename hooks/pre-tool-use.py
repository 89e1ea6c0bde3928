"""PreToolUse: the decision on a tool call before it runs."""

from utils.handlers import run
from utils.handlers.coming_calls import answer

if __name__ == "__main__":
    run(answer, "pre-tool-use")
