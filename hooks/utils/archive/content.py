"""The stored form of contents in the archive: bytes, hashed, compressed, with their names. Pure.

Contents are JSON texts from transcripts. They may hold lone surrogates, which SQLite cannot bind as text: contents go in and come out as
bytes, and names are written with escapes.
"""

from __future__ import annotations

import sys
import time
import zlib

from ..errors import PopkitError
from ..io.system import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")

LARGEST = 256 << 20  # bytes of a content that is compressed
LONGEST_NAME = 1024
# A gzip member begins so; UTF-8 never does, as 8b may not follow 1f.
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's word for "with a gzip head and tail"


class RetentionIntegrityError(PopkitError):
    """A record of the archive contradicts itself; the message names the record and says how."""


def to_bytes(content: str) -> bytes:
    return content.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Return the text of such bytes; RetentionIntegrityError for bytes that are no text."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise RetentionIntegrityError("stored bytes are not text") from None


def as_count(value: Any) -> int:
    """Return a number out of a column; 0 for anything else."""
    return value if isinstance(value, int) else 0


def plain(name: str) -> str:
    """Return a name, label or id as SQLite can bind and compare it: a NUL or a lone surrogate as its escape."""
    if "\0" in name:
        name = name.replace("\0", "\\x00")
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def subjects_of(text: Any) -> list[str]:
    """Return the subjects of a record, from the column that holds them; corrupt ones are left out."""
    return [subject for subject in read_json(text, list) or [] if isinstance(subject, str)]


def read_json(text: Any, kind: type[T]) -> T | None:
    """Return the value of a JSON text if it is of this kind, else None: a verification names what somebody may have made of it, a list of
    records goes on."""
    import json

    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return None
    return value if isinstance(value, kind) else None


def names_of(subjects: Iterable[str]) -> set[str]:
    """Return the names by which a record is looked up: the last segment of each path, and a command line as a whole."""
    last = {subject.replace("\\", "/").rpartition("/")[2][:LONGEST_NAME] for subject in subjects}
    return last.union(subject[:LONGEST_NAME] for subject in subjects if " " in subject)


def stamp(seconds: float) -> str:
    """Return a time in UTC as the archive writes it; such texts sort as the times do."""
    milliseconds = round(seconds * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000)) + f".{milliseconds % 1000:03d}Z"


def hash_content(content: str) -> str:
    """Return the SHA-256 of a content's UTF-8 bytes, as 64 lower-case hex digits."""
    loaded = sys.modules.get("hashlib")  # no hook loads it, but where it is, it hashes several times as fast
    return (loaded.sha256 if loaded else sha256)(to_bytes(content)).hexdigest()


def compress_content(content: str, most: int = LARGEST) -> bytes:
    """Return the content gzipped, the same bytes for the same content; its UTF-8 bytes where gzip does not make them fewer, or where there
    are more than `most`, to which it would not be opened again."""
    data = to_bytes(content)
    if len(data) > most:
        return data
    squeezer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)  # writes no time into the head
    squeezed = squeezer.compress(data) + squeezer.flush()
    return squeezed if len(squeezed) < len(data) else data


def decompress_content(data: bytes, most: int = LARGEST) -> str:
    """Return what `compress_content` was given; RetentionIntegrityError for anything that it did not make, and for what grows to more than
    `most` bytes: a small crafted file must not fill the memory."""
    if not isinstance(data, bytes):
        raise RetentionIntegrityError("compressed content has to be bytes, not " + type(data).__name__)
    if data[:2] != _GZIP:
        return to_text(data)
    opened = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = opened.decompress(data, most)
    except zlib.error as error:
        raise RetentionIntegrityError(f"compressed content cannot be decompressed: {error}") from None
    if opened.unconsumed_tail:
        raise RetentionIntegrityError(f"compressed content expands to more than {most:,} bytes")
    if not opened.eof or opened.unused_data:
        raise RetentionIntegrityError("compressed content is cut short or followed by something else")
    return to_text(content)


def gzip_content(content: str) -> str:
    """Return the content gzipped, as base64 text: what the specification keeps of a warm record, for who passes one on as text. The archive
    keeps the bytes, which are a quarter fewer."""
    import base64

    squeezer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)
    return base64.b64encode(squeezer.compress(to_bytes(content)) + squeezer.flush()).decode("ascii")


def gunzip_content(compressed: str, most: int = LARGEST) -> str:
    """Return what `gzip_content` was given; RetentionIntegrityError for anything that is not base64 of gzip, or grows to more than `most`
    bytes."""
    import base64

    try:
        data = base64.b64decode(compressed, validate=True)
    except (ValueError, TypeError):
        raise RetentionIntegrityError("compressed content is not base64") from None
    if data[:2] != _GZIP:
        raise RetentionIntegrityError("compressed content is not gzip")
    return decompress_content(data, most)
