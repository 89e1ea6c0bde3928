"""The removals by our compactions, as a journal notes them. Reads and writes no file."""

from __future__ import annotations

from .journal import time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .journal import Entry

# The host writes a compaction down at most this long after it was answered (seconds): at once, but for what a summariser has to finish.
_WRITTEN_S = {"compact": 30.0, "back": 10.0}
_ROUNDED_S = 0.001  # as the host writes times


def _changes_at(journal: Sequence[Entry], at: float) -> Iterator[Entry]:
    """Yield our notes on changes that the host may have written down at that time (seconds), the newest first."""
    for entry in reversed(journal):
        written_s = _WRITTEN_S.get(entry["event"])
        if written_s is not None and -_ROUNDED_S <= at - time_of(entry) < written_s:
            yield entry


def compaction_at(journal: Sequence[Entry], at: float) -> Entry | None:
    """Return our note on what the host wrote down as a compaction at that time (seconds): that we answered it, or put something back by
    it; None for one of the host's own."""
    return next(_changes_at(journal, at), None)


def is_in_place(compaction: Entry | None) -> bool:
    """Return whether a compaction was a clear or its undo: one of ours that only we had called for. Any other was due, and would have come
    without us."""
    return compaction is not None and (compaction["event"] == "back" or compaction.get("why") in ("asked", "cold", "long"))


def taken_by(compaction: Entry | None) -> float:
    """Return the share of the conversation that a compaction took out."""
    before = compaction.get("before") if compaction is not None else None
    return max(0.0, 1 - (compaction.get("after") or 0) / before) if compaction is not None and before else 0.0


def brought_down_to(journal: Sequence[Entry], at: float) -> int:
    """Return the tokens of the conversation that a compaction of ours left, system and tools apart, which the host wrote down at that time
    (seconds); 0 where there was none, it took out only what was named, or the host summed up what it left."""
    entry = compaction_at(journal, at)
    if entry is None or entry.get("why") == "asked" or entry.get("summarised") is True:
        return 0
    return entry.get("after") or 0


def stood_after(journal: Sequence[Entry], at: float) -> int | None:
    """Return the tokens of the context that stood after the change of ours which the host wrote down at that time (seconds), system and
    tools included; None where there was none, or the host summed up what it left."""
    for entry in _changes_at(journal, at):
        if "stands" in entry:
            return entry["stands"]
        if entry["event"] == "compact":
            after, beside = entry.get("after"), entry.get("beside")
            return None if after is None or entry.get("summarised") is True else after + (beside or 0)
    return None


def compacted(journal: Sequence[Entry]) -> Iterator[list[str]]:
    """Yield the handles that each compaction of ours took out and that were not put back, the newest first."""
    back: set[str] = set()
    for entry in reversed(journal):
        handles = entry.get("handles")
        if handles is None:
            continue
        if entry["event"] == "back":
            back.update(handles)
        elif entry["event"] == "compact":
            left = [handle for handle in handles if handle not in back]
            if left:
                yield left


def cleared_tokens(journal: Sequence[Entry], ids: list[str]) -> int:
    """Return the tokens that were noted for the newest clear of exactly these results; 0 where there is none."""
    clears = ((entry, entry.get("ids")) for entry in reversed(journal) if entry["event"] == "clear")
    tokens = next((entry.get("tokens") for entry, listed in clears if listed and sorted(listed) == sorted(ids)), None)
    return tokens or 0
