"""SessionEnd: what lives for the session expires."""

from utils.edges.hook_io import run
from utils.handlers.session_end import handle

if __name__ == "__main__":
    run(handle, "session-end")
