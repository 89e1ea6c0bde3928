"""Read what other hosts have recorded, in the one form that all readers take: that of Claude Code's transcripts.

A translation is a module `hosts/NAME/translation.py` with `is_own(head)`, whether a file that begins with these bytes is one of its, and
`entries(file, size)`, the entries of the first `size` bytes of that file, in order, as docs/design/recordings.md says. What the recording
lacks is left out of them. `host` is added here: the tools of such an entry are looked up among those of all hosts.

Nothing is written: a recording is translated while it is read, each time that it is.
"""

from __future__ import annotations

from ..io import files
from ..io.codec import dumps
from ..policy.tools import Tools
from . import CLAUDE_CODE
from . import codex as codex_host
from . import copilot as copilot_host
from . import opencode as opencode_host
from . import pi as pi_host
from .claude_code import TOOLS as CLAUDE_CODE_TOOLS
from .codex import rollouts
from .codex import translation as codex
from .copilot import session_files as copilot_files
from .copilot import translation as copilot
from .opencode import stored_sessions
from .opencode import translation as opencode
from .pi import session_files
from .pi import translation as pi
from .transcripts import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO, Protocol

    class Translation(Protocol):
        """The reader of a host's recordings."""

        NAME: str  # of the host, as people call it

        def is_own(self, head: bytes) -> bool:
            """Return whether a file that begins so is a recording of the host's; the last line of the head may be cut off."""

        def entries(self, file: BinaryIO, size: int) -> Iterator[dict[str, object] | None]:
            """Yield the entries of the first bytes of a file whose position is its beginning; None for a line that is not understood."""


# The translations, in the order in which they are asked, and the tools of each.
TRANSLATIONS: tuple[Translation, ...] = (codex, opencode, pi, copilot)
TOOLS = (codex_host.TOOLS, pi_host.TOOLS, opencode_host.TOOLS, copilot_host.TOOLS)
_UNREADABLE = b"?\n"
# Agents whose recordings are known and not read -> what the beginning of one has.
_UNREAD = {
    "Gemini CLI": (b'"sessionId"', b'"projectHash"'),
}
_HEAD_BYTES = 4_000


def translation_of(head: bytes) -> Translation | None:
    """Return what reads a file that begins with these bytes; None where that is Claude Code's, or nobody's."""
    return next((translation for translation in TRANSLATIONS if translation.is_own(head)), None)


def host_of(path: str) -> str:
    """Return the name of the host whose recording a file is, or whose storage has the session at this address; Claude Code for what nobody
    else knows. OSError when it cannot be read."""
    if stored_sessions.id_of(path):
        return opencode.NAME
    with files.open_regular(path) as file:
        translation = translation_of(file.peek(1))  # type: ignore[attr-defined]  # it is buffered
    return translation.NAME if translation is not None else CLAUDE_CODE


def unread_host_of(path: str) -> str:
    """Return the name of the agent whose recording a file is, where PopKit does not read these; "" for any other file. OSError when it
    cannot be read."""
    with files.open_regular(path) as file:
        head = file.peek(1)[:_HEAD_BYTES]  # type: ignore[attr-defined]  # it is buffered
    return next((name for name, marks in _UNREAD.items() if all(mark in head for mark in marks)), "")


def session_id_of(path: str) -> str:
    """Return the session of a recording: as its address or the export itself says, else the name of the file."""
    known = stored_sessions.id_of(path) or rollouts.session_id_of(path) or session_files.session_id_of(path)
    return known or copilot_files.session_id_of(path) or _exported(path) or projects.session_id_of(path)


def _exported(path: str) -> str:
    """Return the session that a file exports; "" for any other file."""
    if path.endswith(projects.SUFFIX):
        return ""
    try:
        with files.open_regular(path) as file:
            head = file.peek(1)  # type: ignore[attr-defined]  # it is buffered
    except (OSError, ValueError):
        return ""
    return opencode.session_of(head) if opencode.is_own(head) else ""


def stored(address: str) -> Iterator[bytes] | None:
    """Return the translated lines of a session in a host's own storage, by its address; None for the path of a file. OSError where it
    cannot be read, also while the lines are gone through."""
    if not stored_sessions.id_of(address):
        return None
    return _lines(opencode.NAME, opencode.of_session(*stored_sessions.read(address)))


def holds_sessions(path: str) -> bool:
    """Return whether a path is that of a database of sessions, or of a folder in which a host keeps them piece by piece."""
    return stored_sessions.holds_sessions(path)


def is_named_as_database(path: str) -> bool:
    """Return whether a path has the name of a database of sessions."""
    return path.endswith(stored_sessions.DATABASE)


def stores_in(folder: str) -> list[str]:
    """Return the databases in a folder, and the folders there, that hold sessions without files of their own."""
    return stored_sessions.places_in(folder)


def sizes_in(stores: list[str]) -> dict[str, int]:
    """Return how much each session in these holds, about in bytes: address -> at least 1. OSError where one cannot be read."""
    return stored_sessions.sizes(stores)


def size_of(address: str) -> int:
    """Return how much the session at an address holds, about in bytes, at least 1. OSError where it cannot be read."""
    return stored_sessions.size(address)


def is_address(path: str) -> bool:
    """Return whether this is the address of a session that a host keeps in a database, or in files of its own."""
    return bool(stored_sessions.id_of(path))


def changed(path: str) -> float:
    """Return when a recording last changed (seconds), or the session at an address; 0 where that is not known."""
    return stored_sessions.changed(path) if stored_sessions.id_of(path) else projects.changed(path)


def lines(translation: Translation, file: BinaryIO, size: int) -> Iterator[bytes]:
    """Return the translated lines of the first `size` bytes of a file, each with its newline. What was not understood is a line that is no
    entry, so that it is counted."""
    return _lines(translation.NAME, translation.entries(file, size))


def _lines(host: str, entries: Iterable[dict[str, object] | None]) -> Iterator[bytes]:
    for entry in entries:
        if entry is None:
            yield _UNREADABLE
            continue
        entry["host"] = host
        try:
            yield dumps(entry).encode("utf-8", "surrogatepass") + b"\n"
        except ValueError:  # nested a thousand deep, say
            yield _UNREADABLE


def tools() -> Tools:
    """Return the tools of all hosts whose recordings are read, in one table: Claude Code's come first, so that what does the same as one of
    its tools lives as long."""
    return Tools.joined([CLAUDE_CODE_TOOLS, *TOOLS])
