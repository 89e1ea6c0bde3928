"""The texts of holds."""

from __future__ import annotations

from popkit_retention.core import text

from ...views import ago, ahead
from . import wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..shapes import HoldAnswer, ListedHold


def held(added: Sequence[HoldAnswer], now: float, command: str) -> list[text.Line]:
    """Return holds that were just added."""
    lines = [line for hold in added for line in _hold(hold, now)]
    return [
        *lines,
        "To release it:" if len(added) == 1 else "To release one of them:",
        f"  {command} hold release {text.clean(added[0]['id'])}",
    ]


def holds(listed: Sequence[ListedHold], now: float, everything: bool, command: str) -> list[text.Line]:
    """Return holds, oldest first."""
    if not listed:
        none = "There are no holds." if everything else "No hold is in force."
        return text.wrap(f"{none} {command} hold add ID --why TEXT adds one.")
    return [line for hold in listed for line in _hold(hold, now)]


def released(hold: HoldAnswer, now: float) -> list[text.Line]:
    """Return a hold that was just released."""
    return [*text.wrap(f"Released. From now on, the policy of {hold['domain']} applies to:"), *_hold(hold, now)]


def _hold(hold: Mapping[str, Any], now: float) -> list[text.Line]:
    about = f"{hold['scope']} {text.clean(hold['target'])}"
    ended = ""
    if hold["released_at"] is not None:
        ended = f" (released {ago(wording.seconds_of(hold['released_at']), now)})"
    elif not hold.get("in_force", True):
        ended = " (over)"
    lines = text.wrap(f"{text.clean(hold['id'])}: {hold['domain']}, {about}{ended}", indent="  ")
    return lines + text.wrap(f"  {reason_of(hold, now)}", indent="  ")


def reason_of(hold: Mapping[str, Any], now: float) -> str:
    """Return who asked for a hold, why, and until when, unless it was released before."""
    words = f"{text.clean(hold['who'])}: {text.clean(hold['why'])}"
    if hold["until"] is None or hold.get("released_at") is not None:
        return words
    until = wording.seconds_of(hold["until"])
    return f"{words}, until {wording.day(hold['until'])}" + (f" ({ahead(until, now)})" if until > now else "")
