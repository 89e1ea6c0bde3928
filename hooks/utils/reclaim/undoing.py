"""Contents go back to where they stood: the last clear is undone, or single results are restored in place. Every later line stays."""

from __future__ import annotations

from .. import archive
from ..host import transcript
from ..state import journal, live
from ..state.archived import content_of, task_id
from . import places, rewrite
from .access import Opened, Refused, check_understood, original_path, sweep, trouble_of, turnstile, until_whole

_NAMED = 8  # contents that are gone for good, in a message


class PutBack:
    """What went back: `records` whose contents stand in the transcript again, and the `tokens` that each of them adds; those whose
    content is `gone` for good; what did not work afterwards ("" for nothing)."""

    __slots__ = ("gone", "records", "tokens", "trouble")

    def __init__(self):
        self.records: list = []
        self.tokens: list = []
        self.gone: list = []
        self.trouble = ""


def undo(site, transcript_path: str, now: float) -> PutBack:
    """Takes back the newest clear of which something can come back, whichever session made it: a fork has copied placeholders. What of it,
    and of newer ones, is gone for good is named. Refused where nothing can come back, or nothing may be changed; RewriteFailed (OSError)
    where that failed."""
    with turnstile(site), Opened(site.home) as db:
        sweep(site, transcript_path)
        index = _understood(transcript_path)
        standing = list(places.placeholders(transcript_path, index))
        handles = {handle for _, handle in standing}
        lost: dict = {}
        for clear in archive.clears_of_records(db, handles):
            records = [record for record in archive.records_of_clear(db, clear.id) if record.id in handles]
            back = _put_back(site, transcript_path, index, standing, db, records)
            lost.update((record.id, record) for record in back.gone)
            if back.records:
                back.gone = list(lost.values())
                _follow(back, _note_undone, site, db, clear, back, now)
                return back
    raise Refused(_nothing(len(standing), list(lost.values())))


def _nothing(standing: int, lost: list) -> str:
    """Why nothing can be undone."""
    if lost:
        named = "; ".join(record.label for record in lost[:_NAMED])
        more = f"; and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        return f"nothing can be undone: these contents are gone for good: {named}{more}"
    if standing:
        many = "1 placeholder" if standing == 1 else f"{standing:,} placeholders"
        return f"nothing can be undone: the contents of {many} are no longer in the archive"
    return "there is nothing to undo: no clear of this session stands in its transcript"


def _note_undone(site, db, clear, back: PutBack, now: float) -> None:
    if not back.gone and clear.task_id == task_id(site.session_id):
        archive.mark_undone(db, clear.id, now)
    ids = [record.tool_use_id for record in back.records]
    live.note(site, site.paths(), [journal.undone(ids, sum(back.tokens), now)])


def _follow(back: PutBack, work, *given) -> None:
    """What follows a change, if there was one."""
    if back.records:
        back.trouble = " ".join(filter(None, (back.trouble, trouble_of(lambda: work(*given)))))


def restore_in_place(site, transcript_path: str, now: float, records: list) -> PutBack:
    """Puts the contents of these records back where their placeholders stand. Refused where none does."""
    with turnstile(site), Opened(site.home) as db:
        sweep(site, transcript_path)
        index = _understood(transcript_path)
        standing = list(places.placeholders(transcript_path, index))
        handles = {handle for _, handle in standing}
        wanted = [record for record in records if record.id in handles]
        if not wanted:
            raise Refused("none of them has a placeholder in this session's transcript: without --in-place they are printed")
        back = _put_back(site, transcript_path, index, standing, db, wanted)
        entries = [journal.restored(record.tool_use_id, now, tokens) for record, tokens in zip(back.records, back.tokens)]
        _follow(back, live.note, site, site.paths(), entries)
        return back


def _understood(transcript_path: str):
    index = until_whole(lambda: transcript.index(transcript_path), lambda index: index)
    check_understood(index)
    return index


def _put_back(site, transcript_path: str, index, standing: list, db, records: list) -> PutBack:
    check_understood(index, [record.tool_use_id for record in records])
    by_handle = {record.id: record for record in records}
    back = PutBack()
    edits = []
    for place, handle in standing:
        record = by_handle.get(handle)
        if record is None or record.tool_use_id != place.id:
            continue
        content = content_of(db, handle)
        if content is None:
            back.gone.append(record)
            continue
        edits.append(place.edit(content))
        back.records.append(record)
        back.tokens.append(max(0, record.tokens - place.tokens))
    if edits:
        try:
            rewrite.rewrite(transcript_path, edits, places.seen_of(index), keep=original_path(site))
        except rewrite.CarryFailed as error:
            back.trouble = str(error)
    return back
