"""The sources that a build may ask: memory and files."""

from collections.abc import Sequence
from typing import NamedTuple, Optional, Protocol


class Remembered(NamedTuple):
    """A memory: `id`, its `text`, and its worth for the request, from 0 to 1."""

    id: str
    text: str
    score: float


class FileText(NamedTuple):
    """A file of the project: its relative `path`, its `text` with secrets masked, its `outline` ("" where its language has none), and a
    `stamp` that changes when the file does."""

    path: str
    text: str
    outline: str
    stamp: str


class MemorySource(Protocol):
    """Memories of the project."""

    def relevant(self, request: str, most: Optional[int]) -> Sequence[Remembered]:
        """Return at most this many memories, the best for a request first; None: all that are worth anything."""
        ...


class FileSource(Protocol):
    """Files of the project."""

    def read(self, path: str, with_outline: bool = False) -> Optional[FileText]:
        """Return the file that a path in a conversation means; None for one that is outside of the project (even through a link), is not
        text, is too large, or does not exist."""
        ...


class Sources(NamedTuple):
    """The sources that a build may ask; None for a source that it does without."""

    memory: Optional[MemorySource] = None
    files: Optional[FileSource] = None
