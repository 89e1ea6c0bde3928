"""Find the content that an undo puts back into a conversation: the removals of our newest compaction, or of the newest clear of an earlier
version, which left placeholders in the transcript."""

from __future__ import annotations

from .. import archive
from ..hosts.transcripts import transcript
from ..state import journal, removals
from ..state.archived import THINKING, content_of
from ..state.receipts import REMINDERS
from . import contents, restoring
from .access import ClearRefused, OpenArchive, check_understood

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..archive.records import Record
    from ..state.site import Site

_NAMED = 8  # contents that are gone for good, in a message


def taken_last(site: Site, transcript_path: str) -> tuple[list[str], list[Record]]:
    """Return (the handles of what comes back, the Records of pictures and documents that left with it, and cannot); compactions first. A
    clear may be another session's, of which this one is a fork. Refused where nothing can come back, or the transcript is not
    understood."""
    stays: list[Record] = []
    for handles in removals.compacted(journal.read(site.paths())):
        with OpenArchive(site.home) as db:
            found = filter(None, (archive.record(db, handle) for handle in handles))
            back, pictures = restoring.parted(db, [record for record in found if record.type != REMINDERS])
        if back:
            return [record.id for record in back], pictures
        stays += pictures
    index = transcript.index(transcript_path)
    check_understood(index)
    placed = set(contents.placeholders(transcript_path, index)) - {record.id for record in stays}
    if not placed:
        why = ". " + restoring.stays_out(stays) if stays else ": nothing that was cleared can come back into this conversation"
        raise ClearRefused("there is nothing to undo" + why)
    lost: list[Record] = []
    with OpenArchive(site.home) as db:
        for number in archive.clears_of_records(db, placed):
            records = [record for record in archive.records_of_clear(db, number) if record.id in placed and record.type != THINKING]
            check_understood(index, [record.tool_use_id for record in records])
            kept = [record.id for record in records if content_of(db, record.id) is not None]
            if kept:
                return kept, []
            lost += records
        if not lost:  # as in a fork
            back, pictures = restoring.parted(db, [record for handle in placed if (record := archive.record(db, handle))])
            if back:
                return [record.id for record in back], pictures
    raise ClearRefused(_nothing(len(placed), lost))


def _nothing(count: int, lost: list[Record]) -> str:
    """Return why nothing can be undone."""
    if lost:
        named = "; ".join(record.label for record in lost[:_NAMED])
        more = f"; and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        return f"nothing can be undone: these contents are gone for good: {named}{more}"
    many = "1 placeholder" if count == 1 else f"{count:,} placeholders"
    return f"nothing can be undone: the contents of {many} are no longer in the archive"
