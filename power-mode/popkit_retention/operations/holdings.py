"""What lies in our folder, part by part, and how large it is."""

from __future__ import annotations

import itertools
import os
import re

from hooks.utils.edges import home
from hooks.utils.state import collecting, marked, memory, sweeping
from hooks.utils.text import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE, MEMORY, CONTEXTS, ARCHIVES, GOVERNANCE, ORIGINALS, SESSIONS, LEARNT, SET_UP, REST, CONFIGURATION = (
    "archive",
    "memory",
    "snapshots and usage",
    "archives of popkit retention",
    "retention policies and their log",
    "kept originals",
    "states of sessions",
    "learnt of projects",
    "what popkit setup installed",
    "logs and the like",
    "your configuration",
)
_CONFIGURATION = "retention-config.json"
# What PopKit writes directly into its folder. SQLite, locks and atomic writes add an ending of their own.
_FILES = {
    "archive.sqlite": ARCHIVE,
    memory.STORE: MEMORY,
    **dict.fromkeys(("usage.sqlite", "context.sqlite", "outbox.jsonl", "outbox.sending", "outbox.left"), CONTEXTS),
    **dict.fromkeys(("need-model.json", "breaks.json"), LEARNT),
    **dict.fromkeys(
        (
            "consents.json",
            "dashboard.json",
            "dashboard.html",
            "doctor.json",
            "hooks.log",
            "interpreter",
            "past.jsonl",
            "statusline.sh",
            "statusline.previous.json",
            "swept",
            "venv.lock",
        ),
        REST,
    ),
    _CONFIGURATION: CONFIGURATION,
}
FOLDERS = ("cache", "data", memory.FOLDER, "projects", "run", "sessions", "venv")
# Below which of them everything may be ours: others may keep much in a folder called data.
TREES = ("cache", "data/archive", "data/state", memory.FOLDER, "projects", "run", "sessions", "venv")
_POLICIES = (collecting.POLICIES, collecting.NOTE, marked.NAME, "retention-log.sqlite", "retention.lock")
_REPLACING = ".tmp-"  # between the name of a policies' file or a manifest and what is to replace it
# Beside the folders of projects that memory keeps: the lock of its job, a folder of backups and the names of these.
_JOB, _BACKUPS, _BACKUP = "job.lock", "backups", "archive-"
_PROJECT = re.compile(r".+-[0-9a-f]{12}")  # the key of a repository: others have a MEMORY.md too
_WAITING = ".missed-"  # what waits to be taken in beside a file
_ENDINGS = ("-journal", "-shm", "-wal", ".lock", ".old", ".tmp")


class Part:
    """One part of what lies there: how many files, and their bytes."""

    __slots__ = ("bytes", "files")

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0

    def to_json(self) -> dict:
        return {"files": self.files, "bytes": self.bytes}


def part_of(popkit_home: str, path: str) -> str:
    """The part that a file below our folder belongs to; "" for what PopKit has not made. The folder may hold other things: POPKIT_HOME can
    be the host's own, or the user's, which have a `projects` of their own."""
    names = os.path.relpath(path, popkit_home).split(os.sep)
    if len(names) == 1:
        return _FILES.get(names[0]) or _FILES.get(_stem(names[0]), "")
    if names[0] == "sessions" and len(names) == 3 and sweeping.is_ours(names[2]):
        return ORIGINALS if names[2].startswith(home.ORIGINAL) else SESSIONS
    if names[0] == "projects" and len(names) == 3 and names[2].startswith("need-model.json"):
        return LEARNT
    if len(names) == 2 and ((names[0] == "cache" and names[1].startswith("config-")) or (names[0] == "run" and names[1].endswith(".sock"))):
        return REST
    if names[0] == memory.FOLDER and _is_of_memory(names[1:]):
        return MEMORY
    if names[0] == "data":
        return _governance(names[1:])
    # Its lock tells that `popkit setup` has made it.
    return SET_UP if names[0] == "venv" and os.path.isfile(os.path.join(popkit_home, "venv.lock")) else ""


def _is_of_memory(names: list[str]) -> bool:
    if len(names) == 1:
        return names[0] == _JOB
    if len(names) != 2:
        return False
    return names[1].startswith(_BACKUP) if names[0] == _BACKUPS else bool(_PROJECT.fullmatch(names[0])) and memory.is_ours(names[1])


def _governance(names: list[str]) -> str:
    """The part of a file below data/."""
    from ..governance import manifests

    name = names[-1].partition(_REPLACING)[0]
    if names[0] == "state" and len(names) == 2 and (name in _POLICIES or _stem(name) in _POLICIES):
        return GOVERNANCE
    if names[0] == "archive" and len(names) == 3 and manifests.is_id(names[1].removeprefix(manifests.UNFINISHED)):
        return ARCHIVES if name in (manifests.MANIFEST, manifests.CONTENTS) else ""
    return ""


def _stem(name: str) -> str:
    """A name without what a writer appends to it: `interpreter.123`, `swept.123.tmp`, `archive.sqlite.missed-1-2`."""
    name = name.partition(_WAITING)[0]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    stem, _, pid = name.rpartition(".")
    return stem if pid.isdigit() else name


def trees(popkit_home: str) -> Iterator[str]:
    """The folders below which files may be ours, links left out."""
    for name in TREES:
        path = os.path.join(popkit_home, name)
        if not os.path.islink(path) and not ("/" in name and os.path.islink(os.path.dirname(path))):
            yield path


def paths(popkit_home: str) -> Iterator[str]:
    """The files where ours may be: directly in our folder, and below the folders that PopKit makes in it."""
    for folder, _, names in itertools.chain(itertools.islice(os.walk(popkit_home), 1), *map(os.walk, trees(popkit_home))):
        yield from [os.path.join(folder, name) for name in names]


def is_shared(popkit_home: str) -> bool:
    """Whether others keep something of their own in our folder: POPKIT_HOME is the host's, or the user's."""
    return any(name not in FOLDERS and not part_of(popkit_home, os.path.join(popkit_home, name)) for name in os.listdir(popkit_home))


def parts(popkit_home: str) -> dict:
    """part -> Part of all that is there, the large ones first; "" is what PopKit has not made, as far as that was looked at."""
    found: dict = {}
    for path in paths(popkit_home):
        part = part_of(popkit_home, path)
        try:
            size = os.lstat(path).st_size
        except OSError:
            continue  # a hook has just replaced it
        found.setdefault(part, Part()).files += 1
        found[part].bytes += size
    return dict(sorted(found.items(), key=lambda each: -each[1].bytes))


def told(found: dict) -> str:
    """The parts and their sizes in words, as in: archive 12 MB, kept originals 47 MB. What is empty is left out."""
    words = [f"{part or 'other files'} {size(each.bytes)}" for part, each in found.items() if each.bytes]
    return ", ".join(words)
