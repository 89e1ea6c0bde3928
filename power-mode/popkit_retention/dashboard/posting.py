"""What hooks leave in the outbox is sent while the dashboard runs, so that what it shows of usage is of now and not of the last session's
end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hooks.utils.edges import files

from ..context import sending

if TYPE_CHECKING:
    from .desk import Desk

EVERY_S = 15.0
REST_S = 300.0  # after a failure


def keep_sending(desk: Desk, over: threading.Event) -> None:
    """Sends what waits, now and again, until it is `over`."""
    pause = 0.0
    while not over.wait(pause):
        pause = EVERY_S if send(desk) else REST_S


def send(desk: Desk) -> bool:
    """Sends what waits; whether nothing has failed. What cannot be sent stays."""
    try:
        sending.send(desk.environ)
    except files.LockTimeout:
        return True  # somebody else is at it
    except Exception as error:  # noqa: BLE001  the page goes on without it
        desk.failure("dashboard-outbox", error)
        return False
    return True
