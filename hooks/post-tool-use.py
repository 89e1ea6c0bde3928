"""PostToolUse and PostToolUseFailure: a tool result enters the context."""

import pack

pack.use()

from utils.handlers import run  # noqa: E402  found through the pack
from utils.handlers.tool_calls import track  # noqa: E402

if __name__ == "__main__":
    run(track, "post-tool-use")
