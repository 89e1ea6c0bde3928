"""Put contents back in their places: the last clear is undone, or single results are restored in place. Every later line stays."""

from __future__ import annotations

from .. import archive
from ..hosts.claude_code import transcript
from ..state import journal, reconciling
from ..state.archived import THINKING, content_of, task_id
from . import places, rewrite
from .access import (
    Opened,
    Refused,
    binds,
    chain_of,
    check_understood,
    once_answered,
    original_path,
    sweep,
    trouble_of,
    turnstile,
    until_whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

    from ..archive.records import Record
    from ..hosts.claude_code.transcript import Index
    from ..state.live import Site

_NAMED = 8  # contents that are gone for good, in a message


class PutBack:
    """The outcome of putting contents back: `records` whose contents are in the transcript again, and the `tokens` that each of them adds;
    those whose content is `lost` for good; the estimated tokens of the `thinking` that went back with them, of what left with them and
    stays out (`unthought`: something before it is lost), and of what was thought since and `left`; what did not work afterwards ("" for
    nothing)."""

    __slots__ = ("left", "lost", "records", "thinking", "tokens", "trouble", "unthought")

    def __init__(self) -> None:
        self.thinking = self.left = self.unthought = 0
        self.records: list[Record] = []
        self.tokens: list[int] = []
        self.lost: list[Record] = []
        self.trouble = ""


def undo(site: Site, transcript_path: str, now: float, with_thinking: bool | None = None) -> PutBack:
    """Take back the newest clear of which something can come back, whichever session made it (a fork has copied placeholders), with the
    thinking that it took. What of it, and of newer ones, is gone for good is named. `with_thinking` (None: where the model binds it), which
    holds for a clear that took some anyway, what was thought since leaves: it is bound to what was there. Refused where nothing can come
    back, or nothing may be changed (with thinking also in mid-turn); RewriteFailed (OSError) where that failed."""
    if with_thinking is None:
        with_thinking = binds(site, transcript_path)
    with turnstile(site), Opened(site.home) as db:
        sweep(site, transcript_path)
        return once_answered(lambda: _undo(site, transcript_path, now, db, with_thinking))


def _undo(site: Site, transcript_path: str, now: float, db: Connection, with_thinking: bool) -> PutBack:
    index = _understood(transcript_path)
    placeholders = list(places.placeholders(transcript_path, index))
    handles = {handle for _, handle in placeholders}
    lost: dict[str, Record] = {}
    for clear in archive.clears_of_records(db, handles):
        cleared = archive.records_of_clear(db, clear.id)
        records = [record for record in cleared if record.id in handles]
        thoughts = [record for record in cleared if record.type == THINKING]
        # What was thought after contents that are lost is bound to them.
        may_return = [] if lost else thoughts
        back = _put_back(site, transcript_path, index, placeholders, db, records, with_thinking or bool(thoughts), may_return)
        lost.update((record.id, record) for record in back.lost)
        if back.records:
            back.lost = list(lost.values())
            back.unthought = sum(record.tokens for record in thoughts) - back.thinking
            _follow(back, _note_undone, site, db, clear, back, now)
            return back
    raise Refused(_nothing(len(placeholders), list(lost.values())))


def _nothing(count: int, lost: list[Record]) -> str:
    """Return why nothing can be undone."""
    if lost:
        named = "; ".join(record.label for record in lost[:_NAMED])
        more = f"; and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        return f"nothing can be undone: these contents are gone for good: {named}{more}"
    if count:
        many = "1 placeholder" if count == 1 else f"{count:,} placeholders"
        return f"nothing can be undone: the contents of {many} are no longer in the archive"
    return "there is nothing to undo: this session's transcript has no cleared results"


def _note_undone(site: Site, db: Connection, clear: archive.Clear, back: PutBack, now: float) -> None:
    if not back.lost and clear.task_id == task_id(site.session_id):
        archive.mark_undone(db, clear.id, now)
    ids = [record.tool_use_id for record in back.records]
    reconciling.note(site, site.paths(), [journal.undone(ids, sum(back.tokens), now)])


def _follow(back: PutBack, work: Callable[..., object], *arguments: object) -> None:
    """Do what follows a change, if there was one."""
    if back.records:
        back.trouble = " ".join(filter(None, (back.trouble, trouble_of(lambda: work(*arguments)))))


def restore_in_place(site: Site, transcript_path: str, now: float, records: list[Record], with_thinking: bool | None = None) -> PutBack:
    """Put the contents of these records back in place of their placeholders; `with_thinking` what was thought behind the first of them
    leaves (None: where the model binds it). Refused where none does, with thinking also in mid-turn."""
    if with_thinking is None:
        with_thinking = binds(site, transcript_path)
    with turnstile(site), Opened(site.home) as db:
        sweep(site, transcript_path)

        def change() -> PutBack:
            index = _understood(transcript_path)
            placeholders = list(places.placeholders(transcript_path, index))
            handles = {handle for _, handle in placeholders}
            wanted = [record for record in records if record.id in handles]
            if not wanted:
                raise Refused("none of them has a placeholder in this session's transcript. To print them, omit --in-place")
            return _put_back(site, transcript_path, index, placeholders, db, wanted, with_thinking)

        back = once_answered(change)
        entries = [journal.restored(record.tool_use_id, now, tokens) for record, tokens in zip(back.records, back.tokens)]
        _follow(back, reconciling.note, site, site.paths(), entries)
        return back


def _understood(transcript_path: str) -> transcript.Index:
    index = until_whole(lambda: transcript.index(transcript_path), lambda index: index)
    check_understood(index)
    return index


def _put_back(
    site: Site,
    transcript_path: str,
    index: Index,
    placeholders: list[tuple[places.Place, str]],
    db: Connection,
    records: list[Record],
    with_thinking: bool,
    thoughts: Sequence[Record] = (),
) -> PutBack:
    check_understood(index, [record.tool_use_id for record in records])
    by_handle = {record.id: record for record in records}
    back = PutBack()
    edits = []
    for place, handle in placeholders:
        record = by_handle.get(handle)
        if record is None or record.tool_use_id != place.id:
            continue
        content = content_of(db, handle)
        if content is None:
            back.lost.append(record)
            continue
        edits.append(place.edit(content))
        back.records.append(record)
        back.tokens.append(max(0, record.tokens - place.tokens))
    if edits:
        accept = places.check_no_words if with_thinking else None
        if with_thinking:
            edits = _with_thinking(edits, site, transcript_path, index, db, back, thoughts)
        try:
            rewrite.rewrite(transcript_path, edits, places.seen_of(index), original_path(site), accept)
        except rewrite.CarryFailed as error:
            back.trouble = str(error)
    return back


def _with_thinking(
    edits: list[rewrite.Edit], site: Site, transcript_path: str, index: Index, db: Connection, back: PutBack, thoughts: Sequence[Record]
) -> list[rewrite.Edit]:
    """Return the edits, and those for the thinking behind the first of them that the context still holds: what the clear took goes back
    where all of its results do, up to the first that cannot; what was thought since is archived and leaves."""
    edits = list(edits)
    first = next((edit.start for edit in edits if edit.start >= index.since), None)
    if first is not None:
        since = places.thinking_behind(transcript_path, index, first).check_ended()
        archive.add_records(db, chain_of(site, transcript_path), [thought.record() for thought in since.thoughts])
        edits += [thought.leaving() for thought in since.thoughts]
        back.left = since.tokens
    cleared = {} if back.lost else {record.tool_use_id: record for record in thoughts}
    for place, content in places.messages_of(transcript_path, index, cleared):
        record = cleared[place.id]
        original = content_of(db, record.id)
        if original is None or content != places.without_thinking(original):
            break  # never from the middle
        edits.append(place.edit(original))
        back.thinking += record.tokens
    return sorted(edits, key=lambda edit: edit.start)
