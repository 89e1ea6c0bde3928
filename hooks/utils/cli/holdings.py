"""What lies in our folder, part by part, and how large it is."""

from __future__ import annotations

import os

from ..answers import text
from ..edges import home

ARCHIVE, ORIGINALS, SESSIONS, LEARNT, REST, CONFIGURATION = (
    "archive",
    "kept originals",
    "states of sessions",
    "learnt of projects",
    "logs and the like",
    "your configuration",
)
_CONFIGURATION = "retention-config.json"
# Files and folders that PopKit makes in its folder, by how their names begin.
_OURS = {
    "archive.sqlite": ARCHIVE,
    "sessions": SESSIONS,
    "projects": LEARNT,
    "need-model.json": LEARNT,
    **dict.fromkeys(("cache", "doctor.json", "hooks.log", "interpreter", "pack", "past.jsonl", "statusline.", "swept"), REST),
    _CONFIGURATION: CONFIGURATION,
}


class Part:
    """One part of what lies there: how many files, and their bytes."""

    __slots__ = ("bytes", "files")

    def __init__(self):
        self.files = 0
        self.bytes = 0

    def to_json(self) -> dict:
        return {"files": self.files, "bytes": self.bytes}


def part_of(name: str) -> str:
    """The part that a name in our folder belongs to; "" for what PopKit has not made."""
    return next((part for ours, part in _OURS.items() if name.startswith(ours)), "")


def parts(popkit_home: str) -> dict:
    """part -> Part of all that is there, the large ones first; "" is what PopKit has not made."""
    found: dict = {}
    for folder, _, names in os.walk(popkit_home):
        top = os.path.relpath(folder, popkit_home).split(os.sep)[0]
        for name in names:
            part = part_of(name if top == os.curdir else top)
            part = ORIGINALS if part == SESSIONS and name.startswith(home.ORIGINAL) else part
            try:
                size = os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # a hook has just replaced it
            found.setdefault(part, Part()).files += 1
            found[part].bytes += size
    return dict(sorted(found.items(), key=lambda each: -each[1].bytes))


def told(found: dict) -> str:
    """The parts and their sizes in words, as in: archive 12 MB, kept originals 47 MB. What is empty is left out."""
    words = [f"{part or 'other files'} {size(each.bytes)}" for part, each in found.items() if each.bytes]
    return ", ".join(words)


def size(count: int) -> str:
    """Bytes as a person says them: 820 bytes, 1.2 kB, 15 kB, 1.3 MB."""
    if count < 1_000:
        return text.counted(count, "byte")
    scaled, unit = next(((count / each, unit) for each, unit in ((1e3, "kB"), (1e6, "MB")) if count < 999.5 * each), (count / 1e9, "GB"))
    return f"{scaled:.1f} {unit}" if scaled < 9.95 else f"{scaled:.0f} {unit}"
