"""Long-term memory as hooks see it: the folder of a project, `memory/<key>/` in ours.

Memory itself is `popkit memory`'s, in a process of its own. Both meet in that folder. What a folder says about itself does not count
(`memory_checkouts`).
"""

from __future__ import annotations

import time

from ..errors import PopkitError
from ..io import files, home
from ..io.codec import as_object, dumps, loads, seconds, text_in_field, texts
from ..io.proof import are_one
from ..io.system import join, os
from ..policy.estimate import estimate_tokens
from ..policy.ruleset import MEMORY_TOKENS
from .memory_checkouts import APART, JOINED, CheckoutNotJoined, is_among, is_owned_by, may_use, owner_of
from .memory_records import CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..io.repository import Repository
    from .memory_records import Entry

FOLDER = "memory"  # in our folder
STORE = "memory.sqlite"  # beside it: the items of all projects, unless the user configured another place
DOCUMENT, ENTRIES, SETTINGS, LOCK = "MEMORY.md", "entries.json", "settings.json", "learning.lock"
# The host cuts what is longer, and says nothing of it.
MOST_TOKENS, MOST_LINES, MOST_BYTES = 2_000, 200, 25_000
ENDED, _NOTED = "ended-", ".json"
_NOTE_BYTES = 64 * 1024
_ENTRIES_BYTES = 1 << 20
# Paths of checkouts for which the user has been asked.
ASKED = "asked"
# Paths of checkouts whose sessions have taught the project: they may be gone.
CHECKOUTS = "checkouts"
_MOST_ASKED = _MOST_CHECKOUTS = 100


class MemoryTooLarge(PopkitError, OSError):
    """A MEMORY.md that the host would cut."""


class SettingsCorrupt(PopkitError, OSError):
    """Settings that are not as they were written."""


def is_used(popkit_home: str) -> bool:
    """Return whether memory was ever on for any project."""
    return files.is_there(join(popkit_home, FOLDER))


class Project:
    """The memory of one repository, as far as hooks see it. `folder`: where its files are; made when memory is switched on."""

    __slots__ = ("folder", "repository")

    def __init__(self, popkit_home: str, repository: Repository) -> None:
        self.repository = repository
        self.folder = join(popkit_home, FOLDER, home.safe_name(repository.key))

    @property
    def document_path(self) -> str:
        return join(self.folder, DOCUMENT)

    @property
    def lock_path(self) -> str:
        """Return the path of the lock that a process holds while it learns."""
        return join(self.folder, LOCK)

    def is_on(self) -> bool:
        """Return whether the user has switched memory on and this checkout may use it. Raise OSError where the settings cannot be read."""
        settings = self.settings()
        return settings.get("on") is True and may_use(settings, self.repository)

    def turn_on(self, now: float) -> bool:
        """Switch memory on; return whether it was off before. `now`: seconds."""
        return self._turn(True, now)

    def turn_off(self, now: float) -> bool:
        """Switch memory off and keep its contents; return whether it was on before."""
        return self._turn(False, now)

    def _turn(self, on: bool, now: float) -> bool:
        files.make_private_folder(self.folder, may_be_link=False)
        try:
            before = self.settings()
        except SettingsCorrupt:
            before = {}
        self._refuse(before)
        if (before.get("on") is True) == on and before:
            return False
        self._write_settings({"name": self.repository.name, "root": self.repository.root, **before, "on": on, "since": now})
        return (before.get("on") is True) != on

    def settings(self) -> dict[str, Any]:
        """Return the settings of the project; {} where memory was never switched on. Raise Corrupt where they cannot be read."""
        path = join(self.folder, SETTINGS)
        try:
            value = loads(files.text_of(_bytes_of(path, _NOTE_BYTES) or b"{}"))
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise SettingsCorrupt(22, "not as it was written: popkit memory on (or off) writes it again", path)
        return value

    def owner(self) -> str:
        """Return the checkout that has switched memory on; "" where none has, or where it was this one."""
        settings = self.settings()
        return "" if is_owned_by(settings, self.repository) else owner_of(settings)

    def is_apart(self) -> bool:
        """Return whether the user keeps this checkout apart from the project that it claims to belong to."""
        settings = self.settings()
        return is_among(settings, APART, self.repository) and not is_owned_by(settings, self.repository)

    def check_joined(self) -> None:
        """Raise CheckoutNotJoined where this checkout may not use the memory of the project that it claims to belong to."""
        self._refuse(self.settings())

    def decide(self, joins: bool) -> None:
        """Write down whether the user lets this checkout use the project's memory or keeps it apart."""
        settings, mine = self.settings(), self.repository.claimed_by
        checkouts = {name: [root for root in texts(settings.get(name)) if not are_one(mine, root)] for name in (JOINED, APART)}
        checkouts[JOINED if joins else APART].append(mine)
        self._write_settings({**settings, **checkouts})

    def note_checkout(self) -> None:
        """Note that sessions of this checkout have taught the project, so that it is known when the checkout is gone."""
        settings, root = self.settings(), self.repository.root
        known = texts(settings.get(CHECKOUTS))
        if settings and root not in (*known, owner_of(settings)):
            self._write_settings({**settings, CHECKOUTS: [*known, root][-_MOST_CHECKOUTS:]})

    def asks(self) -> str:
        """Return what to ask the user about this checkout, once; "" where there is nothing to ask."""
        settings, mine = self.settings(), self.repository.claimed_by
        noted = texts(settings.get(ASKED))
        if settings.get("on") is not True or may_use(settings, self.repository) or mine in noted:
            return ""
        self._write_settings({**settings, ASKED: [*noted, mine][-_MOST_ASKED:]})
        return str(CheckoutNotJoined(self.repository, owner_of(settings)))

    def _write_settings(self, settings: dict[str, Any]) -> None:
        files.replace_text(join(self.folder, SETTINGS), dumps(settings))

    def _refuse(self, settings: dict[str, Any]) -> None:
        if not may_use(settings, self.repository):
            raise CheckoutNotJoined(self.repository, owner_of(settings))

    def document(self) -> str:
        """Return the MEMORY.md that a session gets; "" where there is none. Raise TooLarge where the host would cut it, and OSError for
        anything but a regular file of ours, which is not opened; no link is followed."""
        data = _bytes_of(self.document_path, MOST_BYTES + 1)
        text = files.text_of(data).strip()
        if len(data) > MOST_BYTES or text.count("\n") >= MOST_LINES or estimate_tokens(text, CONTENT) > MOST_TOKENS:
            raise MemoryTooLarge(27, "more than a session may get: popkit memory admin file --tokens 500", self.document_path)
        return text

    def write_document(self, document: str, entries: Sequence[Entry] = ()) -> None:
        """Replace MEMORY.md and the entries that it was rendered from; "" removes both."""
        from .memory_checks import stamps_of
        from .memory_json import to_json

        files.make_private_folder(self.folder, may_be_link=False)
        root = self.repository.root
        checked = {"root": root, "stamps": stamps_of(root, entries, time.time_ns())}
        written = dumps({"text": _sum_of(document), "entries": to_json(entries), "checked": checked}) if document else ""
        for path, text in ((self.document_path, document), (join(self.folder, ENTRIES), written)):
            if text:
                files.replace_text(path, text)
            elif files.is_there(path):
                os.unlink(path)

    def entries_of(self, document: str) -> tuple[object, object]:
        """Return (the entries that `write_document` stored with this document, as JSON values of whatever version wrote them; the stamps
        that their files had in this checkout). None for either where none can be read, and for a document that was edited by hand."""
        try:
            value = as_object(loads(files.text_of(_bytes_of(join(self.folder, ENTRIES), _ENTRIES_BYTES))))
        except (OSError, ValueError):
            return None, None
        if value.get("text") != _sum_of(document):
            return None, None
        checked = as_object(value.get("checked"))
        return value.get("entries"), checked.get("stamps") if checked.get("root") == self.repository.root else None

    def note_ended(self, session_id: str, transcript_path: str, now: float) -> None:
        """Note that a session has something to teach, until it is learnt."""
        note = dumps({"session": session_id, "transcript": transcript_path, "at": now})
        files.replace_text(join(self.folder, ENDED + home.safe_name(session_id) + _NOTED), note)

    def to_learn(self) -> list[str]:
        """Return the transcripts that are still to be learnt, in the order in which they ended, without notes that cannot be read."""
        return [transcript for _, transcript in sorted(filter(None, map(self._note, self._notes())))]

    def remove_note(self, transcript_path: str) -> None:
        """Delete the note of a transcript, whose session has been learnt or cannot be, and what is no note."""
        for name in self._notes():
            note = self._note(name)
            if note is None or note[1] == transcript_path:
                os.unlink(join(self.folder, name))

    def _note(self, name: str) -> tuple[float, str] | None:
        """Return (when a session ended, its transcript); None where that cannot be read."""
        note = files.read_object(join(self.folder, name), _NOTE_BYTES)
        at, transcript = seconds(note.get("at")), text_in_field(note, "transcript")
        return (at, transcript) if at is not None and transcript else None

    def _notes(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if name.startswith(ENDED) and name.endswith(_NOTED))
        except OSError:
            return []


def tokens_of(config: Mapping[str, Any]) -> int:
    """Return the tokens that MEMORY.md may have, by the user's configuration."""
    configured: int = (config.get("memory") or {}).get("tokens", MEMORY_TOKENS)
    return configured


def project_of(popkit_home: str, folder: str, claimed: bool = False) -> Project:
    """Return the memory of the repository that a folder lies in, or the folder's own where the user keeps it apart (not with `claimed`). A
    folder that is gone belongs to the project that has noted it as one of its checkouts."""
    from ..io import repository

    checkout = repository.of(folder)
    project = Project(popkit_home, checkout if files.is_there(checkout.root) else _remembered(popkit_home, checkout))
    try:
        apart = not claimed and project.is_apart()
    except OSError:
        apart = False  # using its memory raises the error
    return Project(popkit_home, repository.identified_by_path(project.repository)) if apart else project


def _remembered(popkit_home: str, checkout: Repository) -> Repository:
    """Return the repository of a checkout that is gone, where a project has noted it; else the one that its path tells."""
    from ..io.repository import Repository

    for key in files.names(join(popkit_home, FOLDER)):
        try:
            settings = Project(popkit_home, Repository(key, "", "")).settings()
        except OSError:
            continue
        owner = owner_of(settings)
        for root in filter(None, [owner, *texts(settings.get(CHECKOUTS))]):
            if (checkout.root + "/").startswith(root.rstrip("/") + "/"):
                return Repository(key, root, str(settings.get("name") or checkout.name), owner)
    return checkout


def _sum_of(text: str) -> int:
    from zlib import crc32

    return crc32(files.encoded(text.strip()))


def _bytes_of(path: str, limit: int) -> bytes:
    """Return the first bytes of a file of ours and make it private; none where it is missing. Raise OSError for a link or anything else."""
    try:
        files.make_private_file(path, create=False)
    except FileNotFoundError:
        return b""
    return files.read_bytes(path, limit) or b""
