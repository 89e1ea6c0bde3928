"""PreCompact: the state is brought up to date before the conversation is folded."""

from utils.handlers.pre_compact import handle
from utils.io.hook_io import run

if __name__ == "__main__":
    run(handle, "pre-compact")
