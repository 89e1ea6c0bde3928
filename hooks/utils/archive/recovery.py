"""Make contents again from a file on disk or in git that still has every byte that a Read showed.

Only what git keeps for a commit of a branch or tag proves that a content can be made again: a file can change, a staged blob be collected.
The client shows a file as numbered lines, and may append a reminder of its own. How such a result is made is found by making it again, and
counts only if that gives the archived JSON text byte for byte.
"""

from __future__ import annotations

import os

from ..io import files, git, repository
from .content import hash_content
from .records import record
from .retrieval import retrieve_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

    Source = dict[str, Any]  # as `source_of` makes it; in the archive it may have been changed

# Bounds: bytes of a file, characters of what the client appends.
FILE_BYTES = 64 << 20
SUFFIX_CHARS = 4096
# Separator and width of the line numbers, as versions of the client have written them.
_FORMS = (("\u2192", 6), ("\t", 0))
_WIDEST = 20
_REMINDER = "<system-reminder>"


def source_of(content: str, path: str) -> Source | None:
    """Return how the content of a Read (its JSON text) can be made again from the file at an absolute path; None where that does not give
    the same text. {"path", "first" (number of the first line), "count" (lines), "separator", "width" (of the line numbers), "suffix", "git"
    (the file's blob, where git has it, else None)}."""
    data = _read(path)
    template = _template(content, data) if data is not None else None
    if data is None or template is None:
        return None
    source = {"path": path, **template, "git": None}
    if _made(data, source) != content:
        return None
    blob = repository.blob_of(data)
    source["git"] = blob if git.git_blob(path, blob) == data else None
    return source


def is_kept(source: Source, content: str) -> bool:
    """Return whether git gives this content from a blob that it keeps for good, now."""
    blob, path = source.get("git"), source.get("path")
    if not isinstance(blob, str) or not isinstance(path, str) or not git.git_keeps(path, blob):
        return False
    data = git.git_blob(path, blob)
    return data is not None and _made(data, source) == content


def recover(db: Connection, id: str) -> str | None:
    """Return the content of a record whatever its zone: a cold one's is made again from its source, and held against its hash. None where
    it is gone for good, or the id is unknown."""
    stored = retrieve_record(db, id)
    if stored is None or stored["content_available"]:
        return stored["content"] if stored else None
    known = record(db, id)  # it may have been pruned meanwhile
    source = known.source or {} if known else {}
    for data in _candidates(source):
        content = _made(data, source)
        if content is not None and hash_content(content) == stored["hash_only"]:
            return content
    return None


def _candidates(source: Source) -> Iterator[bytes]:
    """Yield the bytes that the file has in git, then those that it has on disk."""
    path, blob = source.get("path"), source.get("git")
    if not isinstance(path, str):
        return
    if isinstance(blob, str):
        data = git.git_blob(path, blob)
        if data is not None:
            yield data
    data = _read(path)
    if data is not None:
        yield data


def _read(path: str) -> bytes | None:
    """Return the bytes of a regular file of bearable size."""
    if not os.path.isabs(path):
        return None
    try:
        with files.open_regular(path) as file:
            data = file.read(FILE_BYTES + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= FILE_BYTES else None


def _lines(data: bytes) -> list[str]:
    """Return the lines of a file as the client counts them."""
    text = data.decode("utf-16", "replace") if data[:2] == b"\xff\xfe" else data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").split("\n")


def _template(content: str, data: bytes) -> Source | None:
    """Return what of a source the content has: first, count, separator, width, suffix."""
    import json

    try:
        text = json.loads(content)
    except ValueError:
        return None
    if not isinstance(text, str):
        return None
    for separator, width in _FORMS:
        digits = text[:20].partition(separator)[0].lstrip(" ")
        if not (digits.isascii() and digits.isdigit()):
            continue
        first = int(digits)
        count, at = _shown(text, _lines(data), (first, separator, width))
        suffix = text[at:]
        if count and (not suffix or (suffix.lstrip("\n").startswith(_REMINDER) and len(suffix) <= SUFFIX_CHARS)):
            return {"first": first, "count": count, "separator": separator, "width": width, "suffix": suffix}
    return None


def _shown(text: str, lines: list[str], form: tuple[int, str, int]) -> tuple[int, int]:
    """Return (how many lines of a file the text shows from its beginning, where in the text they end)."""
    first, separator, width = form
    at = count = 0
    for number in range(first, len(lines) + 1):
        line = ("\n" if count else "") + f"{number:>{width}}{separator}{lines[number - 1]}"
        after = at + len(line)
        if not text.startswith(line, at) or text[after : after + 1] not in ("", "\n"):
            break
        at, count = after, count + 1
    return count, at


def _made(data: bytes, source: Source) -> str | None:
    """Return the JSON text that a file's bytes and a source make; None for a source that is none, or that names lines which are not
    there."""
    try:
        first, count, width = source["first"], source["count"], source["width"]
        lines = _lines(data)[first - 1 : first - 1 + count]
        if first < 1 or len(lines) != count or not 0 <= width <= _WIDEST:
            return None
        shown = [f"{first + at:>{width}}{source['separator']}{line}" for at, line in enumerate(lines)]
        return _quoted("\n".join(shown) + source["suffix"])
    except (KeyError, TypeError, ValueError):
        return None


def _quoted(text: str) -> str:
    """Return a JSON string as JSON.stringify writes it: nothing escaped but quotes, backslashes, control characters and lone surrogates."""
    import json

    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isascii():
        return quoted
    return "".join([f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in quoted])
