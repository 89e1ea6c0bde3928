"""SessionStart: the session's state begins, or follows the transcript again."""

from utils.handlers import run
from utils.handlers.session_events import start

if __name__ == "__main__":
    run(start, "session-start")
