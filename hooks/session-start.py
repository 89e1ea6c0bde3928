"""SessionStart: the session's state begins, or follows the transcript again."""

from utils.handlers.session_start import handle
from utils.io.hook_io import run

if __name__ == "__main__":
    run(handle, "session-start")
