"""SessionEnd: what lives for the session expires."""

from utils.handlers import run
from utils.handlers.session_events import end

if __name__ == "__main__":
    run(end, "session-end")
