"""Do the work of one session, or give the reason for the missing result."""

from __future__ import annotations

from typing import TypeVar

from popkit_retention.core.errors import PopkitError

from .sources import MESSAGE_CHARS, at_hand, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .sources import Source

T = TypeVar("T")


class SessionSkipped(PopkitError):
    """A session is left out; the message is the reason."""


def attempt(task: Callable[[str], T], source: Source, scratch: str | None = None) -> tuple[T | None, str]:
    """Return the result for a session, or None and the reason."""
    try:
        with at_hand(source, scratch) as path:
            return task(path), ""
    except SessionSkipped as skipped:
        return None, str(skipped)
    except OSError as error:
        return None, unreadable(error)
    except Exception as error:  # noqa: BLE001  an unforeseen error in one session must not end the run over the others
        return None, f"could not be read: {type(error).__name__} {str(error)[:MESSAGE_CHARS]}".rstrip()
