"""PostToolUse and PostToolUseFailure: a tool result enters the context."""

from utils import pack

pack.use()

from utils.handlers.post_tool_use import handle  # noqa: E402
from utils.io.hook_io import run  # noqa: E402  found through the pack

if __name__ == "__main__":
    run(handle, "post-tool-use")
