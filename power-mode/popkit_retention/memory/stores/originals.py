"""Full texts as stores keep them: gzipped, with the hash of what they were. Pure."""

from __future__ import annotations

from hooks.utils.archive.content import RetentionIntegrityError, compress_content, decompress_content, hash_content

from ..items import LONGEST_TEXT
from . import StoreUnavailable


def packed(text: str) -> tuple[str, bytes]:
    """The hash of a text, and the text compressed."""
    return hash_content(text), compress_content(text)


def opened(id: str, hash: object, content: object, where: str) -> str:
    """The text that was packed; StoreUnavailable where it is another one, or none."""
    try:
        text = decompress_content(content, 4 * LONGEST_TEXT)  # type: ignore[arg-type]
        what = "" if hash_content(text) == hash else "it is not the text that was kept"
    except RetentionIntegrityError as error:
        what = str(error)
    if what:
        raise StoreUnavailable(f"the original of {id!r:.40} is damaged: {what}. A backup of {where} may have it")
    return text
