"""PreCompact: the state is brought up to date before the conversation is folded."""

from utils.edges.hook_io import run
from utils.handlers.pre_compact import handle

if __name__ == "__main__":
    run(handle, "pre-compact")
