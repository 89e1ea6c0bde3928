"""The hint: one sentence at a session's start that asks for fewer requests. What it costs is booked as our own text."""

from __future__ import annotations

from ..policy.estimate import estimate_tokens
from . import journal, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .site import Site

SAID = "Send look-ups that do not depend on one another together in one message. Update the todo list along with other calls, never alone."
_FACT = "hinted"
_HOOK = "hints"  # in the log


def deliver(site: Site, now: float) -> str:
    """Return the sentence that a session's empty context is given where hints are on, and book it; "" where this context has it."""
    try:
        if not site.claim(_FACT, now):
            return ""
        store.journal(site.paths(), journal.advised(estimate_tokens(SAID), now))
    except (OSError, ValueError) as error:
        from ..io import failures  # seldom

        failures.record(site.environ, _HOOK, error)
        return ""
    return SAID


def emptied(site: Site) -> None:
    """Note that the context is about to lose all it holds, the sentence too."""
    site.remember(**{_FACT: None})
