"""SessionEnd: what lives for the session expires."""

from utils.handlers.session_end import handle
from utils.io.hook_io import run

if __name__ == "__main__":
    run(handle, "session-end")
