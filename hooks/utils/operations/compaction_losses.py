"""Look up what the compactions of a session have lost, with the way back of each row: from the archive, or a line of the transcript.

The archive is asked without waiting for it. In another host's recording, the lines of which are not those of its translation, a place is
looked for by the text itself; of a session in a host's own storage the entry is named.
"""

from __future__ import annotations

import mmap
from itertools import islice

from ..errors import PopkitError
from ..hosts import CLAUDE_CODE
from ..hosts.transcripts import entries
from ..hosts.transcripts.projects import context_of
from ..io import files, home
from ..io.codec import loads
from ..policy import losses
from ..policy.losses import RESULT, Standing
from ..policy.masking import mask
from ..reclaim.recorded_compactions import compactions
from ..state import archived, journal, removals
from ..state.store import ContextFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

    from ..hosts.transcripts.transcript import Index
    from ..policy.losses import Loss, Passage
    from ..reclaim.recorded_compactions import RecordedCompaction
    from ..state.journal import Entry
    from ..views.shapes import CompactionLosses, LossRow, LossWay

ROWS, FEW_ROWS = 20, 8  # of a list, and of one beside something else
# A text is known again by a piece of so many characters, of those that JSON writes as they are however deep it is quoted.
_FEWEST, _MOST = 12, 64
_SEARCHED = 4_000  # characters of a text in which a piece is looked for
_AS_THEY_ARE = frozenset(map(chr, range(32, 127))) - set('"\\<>&')
_WORD_CHARS = 400
_TRIED = 20  # lines that have the same text
_TELL_WHAT = frozenset(("type", "id", "role", "model", "name", "tool_use_id", "call_id", "usage", "signature", "stop_reason"))


class NoPassage(PopkitError):
    """There is no text of the conversation at this line; the message says what to do."""


def of_transcript(
    path: str, popkit_home: str, most: int = ROWS, newest: bool = False, index: Index | None = None
) -> list[CompactionLosses]:
    """Return what the compactions of a transcript lost, ways back apart, the newest first, in at most so many rows each; `newest`: of that
    alone; `index`: of the transcript, where it is known. OSError when it cannot be read."""
    host = entries.host_of(path)
    noted = journal.read(ContextFiles(popkit_home, *context_of(path))) if host == CLAUDE_CODE else []
    found: list[tuple[RecordedCompaction, Entry | None]] = []
    for compaction in compactions(path, index):
        change = removals.compaction_at(noted, compaction.at)
        if change is None or change["event"] != "back":
            found.insert(0, (compaction, change))
        elif found:
            found[0][0].after += compaction.after  # what was put back is not lost
    return [_losses(compaction, change, path, popkit_home, most, host) for compaction, change in found[: 1 if newest else None]]


def text_at(path: str, number: int) -> str:
    """Return the texts in this line of a transcript or a recording, secrets masked. NoPassage where there is none, OSError when it cannot
    be read."""
    if entries.stored(path) is not None:
        raise NoPassage(f"{path} has no lines. Name a transcript or an export, which is a file")
    with files.open_regular(path) as file:
        line = next(islice(file, number - 1, None), b"").decode("utf-8", "replace").strip()
    try:
        value: Any = loads("{" + line.rstrip(",") + "}" if line.startswith('"') else line)  # or a member of an export
        told = value.get("message") or value.get("attachment") or value.get("payload") or value if isinstance(value, dict) else ""
        shown = "\n".join(_values_in(told)).strip()
    except (ValueError, RecursionError):  # no JSON, or nested hundreds deep
        shown = ""
    if not shown:
        raise NoPassage(f"line {number:,} of {path} has no text. The list names the lines that have")
    return mask(shown)


def _values_in(value: object) -> list[str]:
    """Return the texts in a JSON value, without the names of its fields and what only tells what it is."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, item in value.items() if name not in _TELL_WHAT for text in _values_in(item)]
    return [text for item in value for text in _values_in(item)] if isinstance(value, list) else []


def _losses(compaction: RecordedCompaction, change: Entry | None, path: str, popkit_home: str, most: int, host: str) -> CompactionLosses:
    lost = losses.ranked(compaction.before, Standing(compaction.after), most)
    ways = [passage for row in lost.rows for passage in row.ways]
    handles = _handles(popkit_home, ways)
    is_translated = host != CLAUDE_CODE
    lines = _lines_in(path, ways) if is_translated else {passage.place: passage.place for passage in ways}
    return {
        "transcript": path,
        "host": host,
        "line": None if is_translated else compaction.line,
        "at": compaction.at,
        "asked": compaction.asked,
        "why": (change.get("why") if change is not None else None) or "",
        "without_model": compaction.without_model,
        "partly_known": compaction.is_partly_known,
        "tokens": compaction.tokens,
        "sentences": lost.sentences,
        "errors": lost.errors,
        "names": lost.names,
        "lines": lost.lines,
        "rows": [_row(row, handles, lines) for row in lost.rows],
    }


def _row(row: Loss, handles: dict[int, str], lines: dict[int, int]) -> LossRow:
    ways: list[LossWay] = [
        {"line": lines.get(passage.place), "entry": passage.entry, "handle": handles.get(id(passage), "")} for passage in row.ways
    ]
    return {
        "kind": row.kind,
        "label": mask(row.label),
        "words": [mask(word[:_WORD_CHARS]) for word in row.words],
        "count": row.count,
        "ways": ways,
    }


def _handles(popkit_home: str, passages: Iterable[Passage]) -> dict[int, str]:
    """Return id() of a passage -> handle of the archived content that has its text."""
    wanted = [passage for passage in passages if passage.id and passage.kind == RESULT]
    if not wanted:
        return {}
    from .. import archive

    try:
        db = archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=0.0)
    except archived.errors():
        return {}
    try:
        return {id(passage): handle for passage in wanted if (handle := _handle(db, passage))}
    except archived.errors():
        return {}
    finally:
        db.close()


def _handle(db: Connection, passage: Passage) -> str:
    from ..archive import records

    piece = _piece(passage.text)
    for record in records.records_of_tool_use(db, passage.id):
        if piece in (archived.content_of(db, record.id) or ""):
            return record.id
    return ""


def _lines_in(path: str, passages: Iterable[Passage]) -> dict[int, int]:
    """Return place of a passage -> number of the line of a recording that has its text."""
    if entries.stored(path) is not None or not entries.size_of(path):
        return {}  # it has entries in a database, or a file for each
    with files.open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as recording:
        found: dict[int, int] = {}  # place -> where in the file
        begin = 0
        for passage in sorted(passages, key=lambda passage: passage.place):  # a translation keeps the order
            at = _position(recording, passage, begin)
            at = _position(recording, passage, 0) if at < 0 < begin else at
            if at >= 0 and passage.place not in found:
                found[passage.place] = begin = at
        lines: dict[int, int] = {}
        number, begin = 1, 0
        for place, at in sorted(found.items(), key=lambda each: each[1]):
            number, begin = number + recording[begin:at].count(b"\n"), at
            lines[place] = number
        return lines


def _position(recording: mmap.mmap, passage: Passage, begin: int) -> int:
    """Return where from `begin` on a line has the text of a passage, best with the id of its call; -1 for nowhere."""
    piece, tool_id = _piece(passage.text).encode(), passage.id.encode("utf-8", "surrogatepass")
    if len(piece) < _FEWEST:
        return (recording.rfind(tool_id) if passage.kind == RESULT else recording.find(tool_id, begin)) if tool_id else -1
    first = at = recording.find(piece, begin)
    for _ in range(_TRIED):
        if at < 0 or not tool_id:
            break
        ends = recording.find(b"\n", at)
        if recording.find(tool_id, recording.rfind(b"\n", 0, at) + 1, ends if ends >= 0 else len(recording)) >= 0:
            return at
        at = recording.find(piece, ends) if ends >= 0 else -1
    return first


def _piece(text: str) -> str:
    """Return the longest piece of a text that any JSON writes as it is."""
    best, begin, text = "", 0, text[:_SEARCHED]
    for at, char in enumerate(text):
        if char not in _AS_THEY_ARE:
            best, begin = max(best, text[begin:at], key=len), at + 1
            if len(best) >= _MOST:
                break
    return max(best, text[begin : begin + _MOST], key=len)[:_MOST]
