"""Decide the next step of each thing in a sweep: mark it, wait, delete it, or keep it. Pure.

Nothing is deleted that was not marked a grace period before, that was used since, or that a hold keeps. Whoever sweeps asks twice: when it
plans, and in the transaction in which it marks or deletes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .marks import Mark

KEEP = "keep"  # nothing asks for its deletion
HOLD = "hold"  # a hold keeps it, marked or not
MARK = "mark"
WAIT = "wait"  # marked, but for less than the grace period
DELETE = "delete"
RENEW = "renew"  # marked, but used since: its grace period begins again
UNMARK = "unmark"  # marked, but nothing asks for its deletion any more


def next_step(mark: Mark | None, now: float, released: bool = True, held: bool = False, used_at: float | None = None) -> str:
    """Return the next step of a thing at a time (seconds). `mark`: its mark, None for none · `released`: whether a rule or a person lets it
    go · `held`: whether a hold keeps it · `used_at`: when it was last used or written (seconds; None: that is unknown)."""
    if held:
        return HOLD
    if mark is None:
        return MARK if released else KEEP
    if not released:
        return UNMARK
    if mark.precedes(used_at):
        return RENEW
    return DELETE if mark.due_at <= now else WAIT
