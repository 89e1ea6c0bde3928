"""Where the builder gets from what is not in the messages: memories and files. Protocols; the builder itself touches no disk."""

from __future__ import annotations

from typing import NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Remembered(NamedTuple):
    """A memory: `id`, its `text`, and what it is worth for the request, from 0 to 1."""

    id: str
    text: str
    score: float


class FileText(NamedTuple):
    """A file of the project: its `path` as people say it (relative), its `text` with secrets masked, its `outline` ("" where its language
    has none), and a `stamp` that changes when the file does."""

    path: str
    text: str
    outline: str
    stamp: str


class MemorySource(Protocol):
    """Memories of the project."""

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        """The best for a request first, at most so many; None for all that are worth anything."""
        ...


class FileSource(Protocol):
    """Files of the project."""

    def read(self, path: str, with_outline: bool = False) -> FileText | None:
        """The file that a path in a conversation means; None for what is outside of the project (by a link, too), is no text, is too
        large, or is not there."""
        ...


class Sources(NamedTuple):
    """What a build may ask; None for what it does without."""

    memory: MemorySource | None = None
    files: FileSource | None = None
