"""Derive the ledger's bookings from a journal. Reads and writes no file."""

from __future__ import annotations

from .journal import ids_of, is_whole, shortening_of, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from ..policy.bookings import Booking, KeptOut


def booking_of(entry: object) -> Booking | None:
    """Return the booking of the ledger that an entry records; None for one that books nothing."""
    from ..policy.bookings import Advice, Cleared, KeptOut, Remembered, Restored, Undone  # hooks only write entries

    if not isinstance(entry, dict):
        return None
    at, tokens, ids = entry.get("at"), entry.get("tokens"), tuple(ids_of(entry) or ())
    if not isinstance(at, (int, float)):
        return None
    kind = entry.get("event")
    if type(tokens) is not int:
        return None
    if kind == "entered":
        event = shortening_of(entry, at)
        return KeptOut(at, event.kept_out, event.id) if event is not None and event.left_out > 0 else None
    if kind in ("clear", "outside"):
        if entry.get("unasked") is True:
            return Cleared(at, 0, 0, ids)  # what was kept out of these no longer saves anything
        return Cleared(at, tokens, len(entry["ids"]) if isinstance(entry.get("ids"), list) else 1, ids)
    if kind == "undo":
        return Undone(at, tokens, ids)
    if kind == "restore" and entry.get("in_place") is True:
        return Restored(at, tokens, True, [entry["id"]] if isinstance(entry.get("id"), str) else [])
    if kind == "memory":
        return Remembered(at, tokens)
    return Advice(at, tokens) if kind == "advice" else None


def clear_times(journal: list[Any]) -> dict[str, float]:
    """Return id of a result -> when it was last cleared (seconds)."""
    times: dict[str, float] = {}
    for entry in journal:
        if booking_of(entry) is not None and entry.get("event") in ("clear", "outside"):
            times.update((id, entry["at"]) for id in ids_of(entry) or ())
    return times


def remembered_texts(journal: list[Any]) -> list[tuple[float, str]]:
    """Return (seconds, text) of each MEMORY.md that the context was given, in order of time."""
    entries = [entry for entry in journal if booking_of(entry) is not None and entry.get("event") == "memory"]
    return sorted((time_of(entry), entry["said"]) for entry in entries if isinstance(entry.get("said"), str))


def ids_outside(journal: list[Any], by_user: bool = False) -> set[str]:
    """Return ids of the results that left the context while the transcript still holds them; with `by_user`, of those that the user has had
    the provider clear."""
    ids: set[str] = set()
    for entry in journal:
        if booking_of(entry) is not None and entry.get("event") == "outside" and not (by_user and entry.get("unasked") is True):
            ids.update(ids_of(entry) or ())
    return ids


def bookings(
    journal: list[Any],
    with_placeholder: Collection[str],
    calls: Collection[str] | None = None,
    as_counted: Callable[[int, float], int] = lambda tokens, at: tokens,
) -> list[Booking]:
    """Return the bookings of a journal, without clears that left no trace (a kill came between the transcript and the journal):
    `with_placeholder` are the ids of results that have one. What did not enter is booked once for each result, `as_counted(tokens,
    at)`. It stays booked, and saves no more, once the result is made whole, or is of none of the `calls` of the conversation (None: of
    any)."""
    from ..policy.bookings import Cleared, KeptOut

    known = _put_back(journal).union(with_placeholder)
    booked: list[Booking] = []
    kept_out: dict[str, KeptOut] = {}
    for entry in journal:
        booking = booking_of(entry)
        if isinstance(booking, KeptOut):
            kept_out[booking.id] = booking
        elif is_whole(entry) and entry.get("whole") is True:
            kept_out.pop(entry["id"], None)
        elif is_whole(entry):
            booked.append(Cleared(time_of(entry), 0, 0, (entry["id"],)))
        elif booking is not None and not (entry.get("event") == "clear" and known.isdisjoint(ids_of(entry) or known)):
            booked.append(booking)
    for id, booking in kept_out.items():
        booked.append(KeptOut(booking.at, as_counted(booking.tokens, booking.at), id))
        if calls is not None and id not in calls:
            booked.append(Cleared(booking.at, 0, 0, (id,)))
    return booked


def _put_back(journal: list[Any]) -> set[str]:
    """Return ids of the results that the journal says were put back."""
    ids: set[str] = set()
    for entry in journal:
        if isinstance(entry, dict) and entry.get("event") == "undo":
            ids.update(ids_of(entry) or ())
        elif isinstance(entry, dict) and entry.get("event") == "restore" and isinstance(entry.get("id"), str):
            ids.add(entry["id"])
    return ids
