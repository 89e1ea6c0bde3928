"""Derive the ledger's bookings from a journal. Reads and writes no file."""

from __future__ import annotations

from .journal import id_made_whole, shortening_of, time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..policy.bookings import Booking, KeptOut
    from .journal import Entry


def booking_of(entry: Entry) -> Booking | None:
    """Return the booking of the ledger that an entry records; None for one that books nothing."""
    from ..policy.bookings import Advice, Cleared, KeptOut, Remembered, Restored, Undone  # hooks only write entries

    kind, at, tokens, listed = entry["event"], entry.get("at"), entry.get("tokens"), entry.get("ids")
    if at is None or tokens is None:
        return None
    ids = tuple(listed or ())
    if kind == "entered":
        event = shortening_of(entry, at)
        return KeptOut(at, event.kept_out, event.id) if event is not None and event.left_out > 0 else None
    if kind in ("clear", "outside"):
        if entry.get("unasked") is True:
            return Cleared(at, 0, 0, ids)  # what was kept out of these no longer saves anything
        return Cleared(at, tokens, 1 if listed is None else len(listed), ids)
    if kind == "undo":
        return Undone(at, tokens, ids)
    if kind == "restore" and entry.get("in_place") is True:
        id = entry.get("id")
        return Restored(at, tokens, True, [] if id is None else [id])
    if kind == "memory":
        return Remembered(at, tokens)
    return Advice(at, tokens) if kind == "advice" else None


def clear_times(journal: Sequence[Entry]) -> dict[str, float]:
    """Return id of a result -> when it was last cleared (seconds)."""
    times: dict[str, float] = {}
    for entry in journal:
        booking = booking_of(entry)
        if booking is not None and entry["event"] in ("clear", "outside"):
            times.update(dict.fromkeys(entry.get("ids") or (), booking.at))
    return times


def remembered_texts(journal: Sequence[Entry]) -> list[tuple[float, str]]:
    """Return (seconds, text) of each MEMORY.md that the context was given, in order of time."""
    entries = [(entry, entry.get("said")) for entry in journal if entry["event"] == "memory" and booking_of(entry) is not None]
    return sorted((time_of(entry), text) for entry, text in entries if text is not None)


def ids_outside(journal: Sequence[Entry], by_user: bool = False) -> set[str]:
    """Return ids of the results that left the context while the transcript still holds them; with `by_user`, of those that the user has had
    the provider clear."""
    ids: set[str] = set()
    for entry in journal:
        if booking_of(entry) is not None and entry["event"] == "outside" and not (by_user and entry.get("unasked") is True):
            ids.update(entry.get("ids") or ())
    return ids


def bookings(
    journal: Sequence[Entry],
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
        booking, made_whole = booking_of(entry), id_made_whole(entry)
        if isinstance(booking, KeptOut):
            kept_out[booking.id] = booking
        elif made_whole is not None and entry.get("whole") is True:
            kept_out.pop(made_whole, None)
        elif made_whole is not None:
            booked.append(Cleared(time_of(entry), 0, 0, (made_whole,)))
        elif booking is not None and not (entry["event"] == "clear" and known.isdisjoint(entry.get("ids") or known)):
            booked.append(booking)
    for id, booking in kept_out.items():
        booked.append(KeptOut(booking.at, as_counted(booking.tokens, booking.at), id))
        if calls is not None and id not in calls:
            booked.append(Cleared(booking.at, 0, 0, (id,)))
    return booked


def _put_back(journal: Sequence[Entry]) -> set[str]:
    """Return ids of the results that the journal says were put back."""
    ids: set[str] = set()
    for entry in journal:
        if entry["event"] == "undo":
            ids.update(entry.get("ids") or ())
        id = entry.get("id")
        if entry["event"] == "restore" and id is not None:
            ids.add(id)
    return ids
