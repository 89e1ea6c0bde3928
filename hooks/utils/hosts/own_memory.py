"""The memory that a host itself gives to its sessions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class OwnMemory:
    """`folder`: where the host keeps it · `document`: what a session is given · `topics`: file -> text."""

    __slots__ = ("_texts", "document", "folder", "topics")

    def __init__(self, folder: str, document: str = "", topics: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.document = document
        self.topics = topics
        self._texts = [" ".join(text.split()).lower() for text in (document, *topics.values()) if text]

    def contains(self, text: str) -> bool:
        """Return whether it says this text, as whole words, however it is wrapped and written large or small."""
        wanted = " ".join(text.split()).strip(" .!").lower()
        return bool(wanted) and any(_has_whole(known, wanted) for known in self._texts)


def _has_whole(text: str, wanted: str) -> bool:
    """Return whether a text has another one anywhere without going on a word of ASCII letters, digits and `_` before or behind it."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not any(char.isascii() and (char.isalnum() or char == "_") for char in text[max(0, at - 1) : at] + text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False
