"""UserPromptSubmit and Stop: answers /popkit:context, tells when the context fills up."""

from utils.handlers import run
from utils.handlers.context_monitor import handle
from utils.handlers.thresholds import check_thresholds

__all__ = ["check_thresholds", "handle"]

if __name__ == "__main__":
    run(handle, "context-monitor")
