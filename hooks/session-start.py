"""SessionStart: the session's state begins, or follows the transcript again."""

from utils.edges.hook_io import run
from utils.handlers.session_start import handle

if __name__ == "__main__":
    run(handle, "session-start")
