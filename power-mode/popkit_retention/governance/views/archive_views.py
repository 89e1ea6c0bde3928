"""The texts of archives."""

from __future__ import annotations

import os

from popkit_retention.core import text
from popkit_retention.core.units import size

from ...views import ago
from . import wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shapes import ArchiveSummary, RestoreAnswer, WrittenArchive


def archived(written: Sequence[WrittenArchive], command: str) -> list[text.Line]:
    """Return archives that were just written."""
    lines: list[text.Line] = []
    for archive in written:
        what = f"{wording.counted(archive['resource_count'], archive['domain'])} ({size(archive['total_size_bytes'])})"
        # On a line of its own and not wrapped, so that it can be copied.
        lines += [f"Archived {what} in", f"  {text.clean(os.path.dirname(archive['manifest_path']))}"]
    lines += text.wrap("Nothing was deleted. To bring back what is missing later:")
    return lines + [f"  {command} admin restore {text.clean(archive['archive_id'])}" for archive in written]


def archives(listed: Sequence[ArchiveSummary], now: float, command: str) -> list[text.Line]:
    """Return all archives."""
    if not listed:
        return text.wrap(f"There are no archives. {command} admin archive writes one of what may be deleted.")
    return [line for archive in listed for line in _archive(archive, now)]


def to_remove(archives: Sequence[ArchiveSummary], now: float) -> list[text.Line]:
    """Return the archives that are about to be deleted."""
    return [line for archive in archives for line in _archive(archive, now)]


def _archive(archive: ArchiveSummary, now: float) -> list[text.Line]:
    lines: list[text.Line] = [text.clean(archive["archive_id"])]
    if "problem" in archive:
        return lines + text.wrap(f"  Broken: {archive['problem']}", indent="  ")
    amount = f"{wording.counted(archive['resource_count'], archive['domain'])}, {size(archive['total_size_bytes'])}"
    lines += text.wrap(f"  {amount}, {ago(wording.seconds_of(archive['created_at']), now)}", indent="  ")
    return lines + (text.wrap(f"  {text.clean(archive['note'])}", indent="  ") if archive["note"] else [])


def restored(answer: RestoreAnswer) -> list[text.Line]:
    """Return what came back from an archive."""
    back, there, damaged = len(answer["restored"]), len(answer["already"]), len(answer.get("damaged", ()))
    lines = text.wrap(f"Brought back {wording.counted(back, answer['domain'])}." if back else "Nothing was brought back.")
    lines += text.wrap(f"Stored already, and left as it was: {there:,}.") if there else []
    return lines + (text.wrap(f"Damaged in the archive, and left out: {damaged:,}.") if damaged else [])
