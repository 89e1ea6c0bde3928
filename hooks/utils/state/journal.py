"""The journal's entries: facts that the transcript lacks.

An entry is a JSON object with `event` and `at` (seconds). `entries_of` checks what is read from disk, once: behind it every field is of its
type, or null. A kind of entry that is not known is ignored. Only this module, `journal_bookings` and `removals` know the form of an
entry, except for receipts (receipts.py).
"""

from __future__ import annotations

from ..io.codec import as_object, text_in_field, text_list, whole
from ..policy import events
from ..policy.estimate import CHARS_PER_TOKEN, TOKENIZER, tokens_of
from . import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypedDict, Union

    class _Event(TypedDict):
        event: str

    class Entry(_Event, total=False):
        """An entry as it is written, or as `entries_of` returns it. Which fields it has depends on its event."""

        after: int | None
        at: float | None
        before: int | None
        beside: int | None
        call: str | None
        changes: dict[str, str] | None
        chars: int | None
        entered_chars: int | None
        files: list[str] | None
        handle: str | None
        handles: list[str] | None
        how: str | None
        id: str | None
        ids: list[str] | None
        in_place: bool
        leans_on: list[str] | None
        reasons: Any  # entered: the texts; clear: id -> text
        said: str | None
        stands: int | None
        summarised: bool
        target: str | None
        tokenizer: str | None
        tokens: int | None
        unasked: bool
        whole: bool
        why: str | None

    Noted = Union[
        events.ClearedOutside, events.ClientEnded, events.Entered, events.FilesChanged, events.ManualClear, events.Pinned,
        events.ProfileChosen, events.Restored, events.Resumed, events.SessionEnded, events.Undone, events.Unpinned,
    ]  # fmt: skip

# The year 5138: no time of a journal is later.
LATEST = 1e11
_REASON_CHARS = 200
_OF_TARGETS: dict[str, Callable[[str, float], Noted]] = {"pin": events.Pinned, "unpin": events.Unpinned}
_OF_TIMES: dict[str, Callable[[float], Noted]] = {"resumed": events.Resumed, "over": events.SessionEnded}


def read(paths: store.ContextFiles) -> list[Entry]:
    """Return the entries of a context's journal, oldest first. OSError where it cannot be read."""
    return entries_of(store.read_lines(paths.journal))


def entries_of(lines: Iterable[object]) -> list[Entry]:
    """Return the entries of stored lines, checked. A line that is no entry is left out."""
    return [entry for entry in map(entry_of, lines) if entry is not None]


def entry_of(line: object) -> Entry | None:
    """Return the entry of a stored line, without fields that are not known; one of another type than it is written in is None. None for a
    line that is no entry."""
    fields = as_object(line)
    event = text_in_field(fields, "event")
    if not event:
        return None
    entry: Any = {name: _FIELDS[name](value) for name, value in fields.items() if name in _FIELDS}
    entry["event"] = event
    if event == "entered" and "reasons" in entry:
        entry["reasons"] = text_list(fields["reasons"])
    if event == "profile" and entry.get("target") is None and fields.get("target") is not None:
        return None  # it does not say which one: null is the configured one
    checked: Entry = entry
    return checked


def seconds(value: object) -> float | None:
    """Return a stored time; None for any other value."""
    return value if isinstance(value, (int, float)) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts_by_name(value: object) -> dict[str, str] | None:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else None


def _amount(value: object) -> int | None:
    return whole(value, LATEST)


def _is_true(value: object) -> bool:
    return value is True


_FIELDS: dict[str, Callable[[object], Any]] = {
    "at": seconds,
    "tokens": lambda value: value if type(value) is int else None,
    "changes": _texts_by_name,
    "reasons": _texts_by_name,
    **dict.fromkeys(("files", "handles", "ids", "leans_on"), text_list),
    **dict.fromkeys(("call", "handle", "how", "id", "said", "target", "tokenizer", "why"), _text),
    **dict.fromkeys(("after", "before", "beside", "chars", "entered_chars", "stands"), _amount),
    **dict.fromkeys(("in_place", "summarised", "unasked", "whole"), _is_true),
}


def pinned(target: str, at: float) -> Entry:
    """Return the entry: the user pins a result or a path pattern."""
    return {"event": "pin", "target": target, "at": at}


def unpinned(target: str, at: float) -> Entry:
    """Return the entry: the user unpins it."""
    return {"event": "unpin", "target": target, "at": at}


def profile_chosen(profile: str | None, at: float) -> Entry:
    """Return the entry: the user chose a profile for the session; None goes back to the configured one."""
    return {"event": "profile", "target": profile, "at": at}


def ended(reason: str, at: float) -> Entry:
    """Return the entry: the client that ran the session has ended, for the host's reason."""
    return {"event": "end", "at": at, "why": reason}


def resumed(at: float) -> Entry:
    """Return the entry: a client runs the session again."""
    return {"event": "resumed", "at": at}


def over(at: float) -> Entry:
    """Return the entry: another session of the project has begun since the end of the client, so nobody resumes this one."""
    return {"event": "over", "at": at}


def committed(call_id: str, files: list[str] | None, at: float) -> Entry:
    """Return the entry: the files of the commit that a call made; None where git could not tell."""
    return {"event": "commit", "call": call_id, "at": at, "files": files}


def files_changed(changes: dict[str, str], at: float, before_call: str = "") -> Entry:
    """Return the entry: path -> how it changed on disk; noticed right before a call completed, or by itself."""
    entry: Entry = {"event": "changed", "at": at, "changes": changes}
    return {**entry, "call": before_call} if before_call else entry


def entered(
    id: str, leans_on: Sequence[str], handle: str, chars: int, entered_chars: int, tokens: int, reasons: Sequence[str], at: float
) -> Entry:
    """Return the entry: a result entered shorter than it was (`chars`), as `entered_chars`, of an estimated `tokens`; `leans_on`: the
    results that its references name."""
    return {
        "event": "entered", "at": at, "id": id, "leans_on": list(leans_on), "handle": handle, "chars": chars,
        "entered_chars": entered_chars, "tokens": tokens, "tokenizer": TOKENIZER, "reasons": list(reasons),
    }  # fmt: skip


def entered_whole(id: str, at: float) -> Entry:
    """Return the entry: a result that was noted as shortened has entered whole, because the answer of the door came too late."""
    return {"event": "entered", "at": at, "id": id, "whole": True}


def made_whole(event: events.Entered, chars: int, at: float) -> Entry:
    """Return the entry: a shortened result is whole from now on, `chars` characters long, because what it referred to has left. From now on
    it saves nothing."""
    tokens = event.tokens + event.kept_out
    return entered(event.id, (), event.handle, chars, chars, tokens, ["whole again: what it referred to was taken out"], at)


def cleared(ids: list[str], tokens: int, reasons: dict[str, str], at: float) -> Entry:
    """Return the entry: results left the transcript; `tokens` is the context's loss, `reasons`: id -> why."""
    entry: Entry = {"event": "clear", "at": at, "ids": ids, "tokens": tokens}
    return {**entry, "reasons": reasons} if reasons else entry


def compacted(why: str, before: int, after: int, handles: Sequence[str], at: float, beside: int = 0, summarised: bool = False) -> Entry:
    """Return the entry: PopKit answered a compaction without a model. What is archived under these handles left, and the conversation went
    from `before` to `after` tokens, with `beside` tokens beside it. `summarised`: the rest went to the host's summariser."""
    entry: Entry = {"event": "compact", "at": at, "why": why, "before": before, "after": after, "beside": beside, "handles": list(handles)}
    return {**entry, "summarised": True} if summarised else entry


def put_back(handles: Sequence[str], at: float, stands: int | None = None) -> Entry:
    """Return the entry: the contents archived under these handles went back into the conversation, which brought the context to so many
    tokens."""
    entry: Entry = {"event": "back", "at": at, "handles": list(handles)}
    return entry if stands is None else {**entry, "stands": stands}


def cleared_outside(ids: list[str], tokens: int, how: str, at: float, by_user: bool = True) -> Entry:
    """Return the entry: results left the context while the transcript still holds them, because the provider or the host took them out;
    `how` in a few words. `by_user`: the user has had the provider do it; otherwise it does not count as ours."""
    entry: Entry = {"event": "outside", "at": at, "ids": ids, "tokens": tokens, "how": how}
    return entry if by_user else {**entry, "unasked": True}


def undone(ids: list[str], tokens: int, at: float) -> Entry:
    """Return the entry: a clear was undone."""
    return {"event": "undo", "at": at, "ids": ids, "tokens": tokens}


def restored(id: str, at: float, tokens: int | None = None) -> Entry:
    """Return the entry: a content was printed; with `tokens` it was put back in its place."""
    entry: Entry = {"event": "restore", "at": at, "id": id}
    return entry if tokens is None else {**entry, "tokens": tokens, "in_place": True}


def advised(tokens: int, at: float) -> Entry:
    """Return the entry: text of ours entered the conversation."""
    return {"event": "advice", "at": at, "tokens": tokens}


def remembered(text: str, tokens: int, at: float) -> Entry:
    """Return the entry: the session was given a MEMORY.md: its `text`, of so many `tokens`."""
    return {"event": "memory", "at": at, "tokens": tokens, "said": text}


def event_of(entry: Entry) -> Noted | None:
    """Return the event of the engine that an entry records; None for any other entry."""
    kind, at, target, ids = entry["event"], time_of(entry), entry.get("target"), entry.get("ids")
    if kind in _OF_TARGETS and target is not None:
        return _OF_TARGETS[kind](target, at)
    if kind == "profile":
        return events.ProfileChosen(target, at)
    if kind == "end":
        return events.ClientEnded(at, entry.get("why") or "")
    if kind in _OF_TIMES:
        return _OF_TIMES[kind](at)
    changes = entry.get("changes")
    if kind == "changed" and changes is not None:
        return events.FilesChanged(changes, at)
    if kind == "clear" and ids is not None:
        reasons = entry.get("reasons") or {}
        return events.ManualClear(ids, at, {id: text[:_REASON_CHARS] for id, text in reasons.items()})
    if kind == "outside" and ids is not None:
        return events.ClearedOutside(ids, at, (entry.get("how") or "")[:_REASON_CHARS])
    if kind == "undo" and ids is not None:
        return events.Undone(ids, at)
    if kind == "entered":
        return shortening_of(entry, at)
    id = entry.get("id")
    if kind == "restore" and id is not None:
        return events.Restored(id, entry.get("in_place") is True, at)
    return None


def shortening_of(entry: Entry, at: float) -> events.Entered | None:
    id, handle, leans_on, reasons = entry.get("id"), entry.get("handle"), entry.get("leans_on"), entry.get("reasons")
    tokens, chars, entered_chars = whole(entry.get("tokens"), LATEST), entry.get("chars"), entry.get("entered_chars")
    if id is None or handle is None or leans_on is None or reasons is None or tokens is None or chars is None or entered_chars is None:
        return None
    if entry.get("tokenizer") != TOKENIZER:  # estimated in another way: most of what the door shortens is code or output
        tokens = tokens_of(entered_chars, 0, "code")
    left_out = chars - entered_chars
    kept_out = _kept_out(tokens, entered_chars, left_out)
    return events.Entered(id, tokens, tuple(leans_on), handle, left_out, tuple(reason[:_REASON_CHARS] for reason in reasons), at, kept_out)


def _kept_out(tokens: int, entered_chars: int, left_out: int) -> int:
    """Return the tokens that were kept out, estimated by those of what entered. These were rounded to whole tokens, so half a token is
    taken off."""
    per_char = (tokens - 0.5) / entered_chars if entered_chars else 1 / max(CHARS_PER_TOKEN.values())
    return max(0, round(left_out * per_char))


class SortedEntries:
    """The entries of a journal by how they meet the transcript. `before`: call id -> events that belong right before that call, for calls
    in `known` · `timed`: the other events, by their time · `commits`: call id -> files of its commit · `entered`: call id -> what of its
    result has entered, where that is less than all."""

    __slots__ = ("before", "commits", "entered", "timed")

    def __init__(self, journal: Sequence[Entry], known: set[str]) -> None:
        self.before: dict[str, list[Noted]] = {}
        self.timed: list[Noted] = []
        self.commits: dict[str, list[str] | None] = {}
        self.entered: dict[str, events.Entered] = {}
        for entry in journal:
            event, call = event_of(entry), entry.get("call")
            if entry["event"] == "entered":
                self._enter(entry, event)
            elif call is not None and entry["event"] == "commit":
                self.commits[call] = entry.get("files")
            elif event is not None and call in known:
                self.before.setdefault(call, []).append(event)
            elif event is not None:
                self.timed.append(event)
        self.timed.sort(key=lambda event: event.at)

    def _enter(self, entry: Entry, event: Noted | None) -> None:
        if isinstance(event, events.Entered):
            self.entered[event.id] = event
            return
        id = id_made_whole(entry)
        if id is not None:
            self.entered.pop(id, None)


def id_made_whole(entry: Entry) -> str | None:
    """Return the id of the result that an entry says is whole after all, or again; None for any other entry."""
    is_whole = entry.get("whole") is True or entry.get("chars") == entry.get("entered_chars")
    return entry.get("id") if entry["event"] == "entered" and is_whole else None


def time_of(entry: Entry) -> float:
    """Return the time of an entry (seconds); 0.0 where it has none."""
    return bounded_time(entry.get("at"))


def bounded_time(at: float | None) -> float:
    """Return a time that was read; 0.0 for None and for what is no time of a session."""
    return at if at is not None and abs(at) < LATEST else 0.0
