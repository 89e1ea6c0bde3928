"""The ledger of a context: what the journal says that we did, against the requests that the transcript shows."""

from __future__ import annotations

from ..host import usage
from ..policy import ledger


def settled(requests: list, journal: list, standing, refetched: list, printed: list) -> dict:
    """The ledger as plain values, from rows of `Rebuilt.requests`, journal entries, `standing` (ids of the results that placeholders stand
    for), and (seconds, tokens) of contents that were fetched again after they had been cleared, and of those that `popkit restore` printed;
    empty where nothing was ever booked."""
    known = _put_back(journal).union(standing)
    booked = [booking for entry in journal if not _came_to_nothing(entry, known) for booking in _booked(entry)]
    if not booked:
        return {}
    booked += [ledger.Refetched(at, tokens) for at, tokens in refetched]
    booked += [ledger.Restored(at, tokens) for at, tokens in printed]
    return ledger.settle([_moment(*row) for row in requests], booked).to_json()


def _put_back(journal: list) -> set:
    """Ids of the results that the journal says were put back."""
    ids: set = set()
    for entry in journal:
        if isinstance(entry, dict) and entry.get("event") == "undo" and isinstance(entry.get("ids"), list):
            ids.update(id for id in entry["ids"] if isinstance(id, str))
        elif isinstance(entry, dict) and entry.get("event") == "restore" and isinstance(entry.get("id"), str):
            ids.add(entry["id"])
    return ids


def _came_to_nothing(entry: object, known: set) -> bool:
    """Whether an entry tells of a clear of which nothing is to be seen: a kill came between the transcript and the journal."""
    if not isinstance(entry, dict) or entry.get("event") != "clear" or not isinstance(entry.get("ids"), list):
        return False
    return known.isdisjoint(id for id in entry["ids"] if isinstance(id, str))


def clear_times(journal: list) -> dict:
    """id of a result -> when it was last cleared (seconds)."""
    times: dict = {}
    for entry in journal:
        if isinstance(entry, dict) and entry.get("event") == "clear" and isinstance(entry.get("ids"), list) and _booked(entry):
            times.update((id, entry["at"]) for id in entry["ids"] if isinstance(id, str))
    return times


def _moment(sent: usage.Usage, added: int):
    if not sent.tokens:
        return ledger.Compaction(sent.at)
    return ledger.Request(sent.at, sent.tokens, sent.read, sent.created, added, sent.cache_ttl_s)


def _booked(entry: object) -> list:
    """The booking of a journal entry, in a list; nothing for an entry that books nothing."""
    if not isinstance(entry, dict):
        return []
    at, tokens = entry.get("at"), entry.get("tokens")
    if not isinstance(at, (int, float)) or type(tokens) is not int:
        return []
    kind, ids = entry.get("event"), entry.get("ids")
    if kind == "clear":
        return [ledger.Cleared(at, tokens, len(ids) if isinstance(ids, list) else 1)]
    if kind == "undo":
        return [ledger.Undone(at, tokens)]
    if kind == "restore" and entry.get("in_place") is True:
        return [ledger.Restored(at, tokens, True)]
    return [ledger.Advice(at, tokens)] if kind == "advice" else []
