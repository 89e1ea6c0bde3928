"""What the user or an agent's tool wants forgotten leaves no copy once it is deleted: neither in backups, nor in what sessions were given,
nor in what the store's file has freed.

The job calls `prepare` before it deletes and `finish` behind it. A note in the store says what is still to be done, so that a run that was
killed, or met a store in use, leaves it to the next one.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.utils.edges import files
from hooks.utils.edges.codec import loads

from . import backups, forgotten, holds
from .items import BY_TOOL, BY_USER
from .transitions import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .folder import Folder
    from .items import Item
    from .stores import Store

KEY = "unwiped"  # of the value in the store that says so
_JOURNALS = "*/*.journal.jsonl"
_EVENT, _SAID = b'"event":"memory"', b'"said":"'
_STRING = re.compile(rb'(?:[^"\\\n]|\\.)*')
_WORD = re.compile(r"\w+")
_LARGEST = 64 << 20  # bytes of a journal


def prepare(store: Store, folder: Folder | None, now: float) -> None:
    """Strikes what is about to be deleted out of the journals of sessions: afterwards nobody knows its words."""
    going = [item for item in store.scan(marked=True, bare=True) if _goes(item, now)]
    if not going:
        return
    store.set_value(KEY, True)
    if folder is not None:
        strike(folder.home, (text for item in going for text in _texts(store, item)))


def finish(store: Store, folder: Folder | None, now: float) -> None:
    """Takes what is deleted out of the backups, and has the store's file written anew without it."""
    if folder is not None:
        backups.forget(folder.backups, forgotten.gone(store, holds.read(store, now)))
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
    words = {max(found, key=len).casefold() for text in texts if (found := _WORD.findall(text))}
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
    """From where to where texts stand in a journal that hold one of these words."""
    at = 0
    for line in data.splitlines(keepends=True):
        begin = line.find(_SAID) if _EVENT in line else -1
        if begin >= 0:
            begin += len(_SAID)
            match = _STRING.match(line, begin)
            end = match.end() if match else begin
            said = _said(line).casefold()
            if any(word in said for word in words):
                yield at + begin, at + end
        at += len(line)


def _said(line: bytes) -> str:
    """What a line says was given; all of it as it stands where it is no entry (one that was cut short)."""
    try:
        entry = loads(files.text_of(line))
    except ValueError:
        entry = None
    return str(entry.get("said")) if isinstance(entry, dict) else files.text_of(line)
