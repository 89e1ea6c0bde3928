"""The memory that the host itself keeps of a project: MEMORY.md, which every session is given, and topic files, which the model reads when
it needs them. Read, never written."""

from __future__ import annotations

import re

from ...io import files, home
from ...io.system import join
from . import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = "MEMORY.md"
# What the host gives a session of its MEMORY.md, and what we read of a topic.
MOST_LINES, MOST_BYTES = 200, 25_000
MOST_TOPICS = 50
_BLANKS = re.compile(r"\s+")
_WORD = "[A-Za-z0-9_]"


class OwnMemory:
    """`folder`: where the host keeps it · `document`: what a session is given · `topics`: file -> text."""

    __slots__ = ("_texts", "document", "folder", "topics")

    def __init__(self, folder: str, document: str = "", topics: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.document = document
        self.topics = topics
        self._texts = [_BLANKS.sub(" ", text).lower() for text in (document, *topics.values()) if text]

    def says(self, text: str) -> bool:
        """Return whether it says this text, as whole words, however it is wrapped and written large or small."""
        wanted = _BLANKS.sub(" ", text).strip(" .!").lower()
        if not wanted or not any(wanted in told for told in self._texts):
            return False
        whole = re.compile(rf"(?<!{_WORD}){re.escape(wanted)}(?!{_WORD})")
        return any(whole.search(told) for told in self._texts)


def read(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return what the host remembers of the project whose checkout is at `root`; an empty one where it keeps none."""
    try:
        folder = join(projects.folder_of(environ), projects.folder_name(root), "memory")
    except home.NoHome:
        return OwnMemory("")
    named = [name for name in files.names(folder) if name.endswith(".md")]
    texts = {name: _text(join(folder, name)) for name in named[: MOST_TOPICS + 1]}
    document = "\n".join(texts.pop(DOCUMENT, "").split("\n")[:MOST_LINES])
    return OwnMemory(folder, document, texts)


def _text(path: str) -> str:
    try:
        return files.read_text(path, MOST_BYTES) or ""
    except OSError:
        return ""
