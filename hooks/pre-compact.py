"""PreCompact: the state is brought up to date before the conversation is folded."""

from utils.handlers import run
from utils.handlers.session_events import before_compaction

if __name__ == "__main__":
    run(before_compaction, "pre-compact")
