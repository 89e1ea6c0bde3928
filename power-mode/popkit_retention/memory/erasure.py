"""Erasure: what the user or an agent's tool wants forgotten is not learnt again, and leaves no copy once it is deleted, neither in backups,
nor in what sessions were given, nor in what the store's file has freed.

The ids that are forgotten are kept for each project beside its items. The job calls `prepare` before it deletes and `finish` behind it. A
note in the store says what is still to be done, so that a run that was killed, or met a store in use, leaves it to the next one.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.utils.io import files
from hooks.utils.io.codec import loads

from . import exchange, holds
from .items import BY_TOOL, BY_USER
from .transitions import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .folder import Folder
    from .holds import Holds
    from .items import Item
    from .stores import Batch, Store

FORGOTTEN_KEY = "forgotten:"  # and a project


def forgotten_ids(store: Store, project: str) -> Mapping[str, object]:
    """Return the ids that a project is not to learn again, as keys."""
    known = store.value(FORGOTTEN_KEY + project)
    return known if isinstance(known, dict) else {}


def note_forgotten(batch: Batch, store: Store, items: Sequence[Item], forgotten: bool) -> None:
    """Let a batch note that these items are forgotten, or no longer."""
    for project in {item.project for item in items}:
        before = set(forgotten_ids(store, project))
        mine = {item.id for item in items if item.project == project}
        batch.values[FORGOTTEN_KEY + project] = dict.fromkeys(sorted(before | mine if forgotten else before - mine), True)


def _erased_ids(store: Store, held: Holds) -> set[str]:
    """Return the ids of all projects that are forgotten and deleted, except those that a hold keeps."""
    by_project = {key[len(FORGOTTEN_KEY) :]: known for key, known in store.values(FORGOTTEN_KEY).items() if isinstance(known, dict)}
    ids = {id for project, known in by_project.items() for id in known if not held.on_id(id, project)}
    return ids - {item.id for item in store.get(sorted(ids))}


KEY = "unwiped"  # of the value in the store that says so
_JOURNALS = "*/*.journal.jsonl"
_EVENT, _SAID = b'"event":"memory"', b'"said":"'
_STRING = re.compile(rb'(?:[^"\\\n]|\\.)*')
_WORD = re.compile(r"\w+")
_LARGEST = 64 << 20  # bytes of a journal


def prepare(store: Store, folder: Folder | None, now: float) -> None:
    """Strike the words of items that are about to be deleted out of the journals of sessions: afterwards nobody knows them."""
    going = [item for item in store.scan(marked=True, bare=True) if _goes(item, now)]
    if not going:
        return
    store.set_value(KEY, True)
    if folder is not None:
        strike(folder.home, (text for item in going for text in _texts(store, item)))


def finish(store: Store, folder: Folder | None, now: float) -> None:
    """Remove deleted items from the backups, and have the store's file rewritten without them."""
    if folder is not None:
        exchange.erase_from_backups(folder.backups, _erased_ids(store, holds.read(store, now)))
    if store.value(KEY) is not None and store.compact():
        store.set_value(KEY, None)


def _goes(item: Item, now: float) -> bool:
    return item.marked_by in (BY_USER, BY_TOOL) and item.marked_at is not None and now - item.marked_at >= GRACE_S


def _texts(store: Store, item: Item) -> Iterator[str]:
    yield item.text
    if item.original:
        yield store.original(item.id) or ""
    yield from (value for value in item.details.values() if isinstance(value, str))


# --- the journals of sessions ----------------------------------------------------------------------------------------------------


def strike(popkit_home: str, texts: Iterable[str]) -> int:
    """Strike what sessions were given of these texts; return out of how many journals. What is no journal of ours is passed over.

    A journal keeps the MEMORY.md that its session began with, to tell later what that spared. Hooks append to it at any time and without a
    lock, so it is never replaced: blanks are written over the text, in place. A text is struck whole where it holds the longest word of any
    item, because MEMORY.md cuts and groups what it says; what is lost by that is an estimate.
    """
    words = {max(matches, key=len).casefold() for text in texts if (matches := _WORD.findall(text))}
    if not words:
        return 0
    return sum(_strike_in(path, words) for path in sorted(Path(popkit_home, "sessions").glob(_JOURNALS)))


def _strike_in(path: Path, words: set[str]) -> bool:
    if path.parent.is_symlink():
        return False
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with open(fd, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False
        struck = list(_spans(file.read(_LARGEST) or b"", words))
        for begin, end in struck:
            os.pwrite(fd, b" " * (end - begin), begin)
    return bool(struck)


def _spans(data: bytes, words: set[str]) -> Iterator[tuple[int, int]]:
    """Yield where the texts that hold one of these words begin and end in a journal."""
    at = 0
    for line in data.splitlines(keepends=True):
        begin = line.find(_SAID) if _EVENT in line else -1
        if begin >= 0:
            begin += len(_SAID)
            match = _STRING.match(line, begin)
            end = match.end() if match else begin
            given = _given_text(line).casefold()
            if any(word in given for word in words):
                yield at + begin, at + end
        at += len(line)


def _given_text(line: bytes) -> str:
    """Return the text that a line says was given; the whole line where it is no entry (one that was cut short)."""
    try:
        entry = loads(files.text_of(line))
    except ValueError:
        entry = None
    return str(entry.get("said")) if isinstance(entry, dict) else files.text_of(line)
