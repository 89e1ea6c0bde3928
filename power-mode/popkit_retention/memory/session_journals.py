"""Blank out texts in the journals of sessions, which record what each session received."""

from __future__ import annotations

import os
import re
import stat

from popkit_retention.core.io import files
from popkit_retention.core.io.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_JOURNAL = ".journal.jsonl"
_EVENT, _SAID = b'"event":"memory"', b'"said":"'
_STRING = re.compile(rb'(?:[^"\\\n]|\\.)*')
_WORD = re.compile(r"\w+")
_LARGEST = 64 << 20  # bytes of a journal


def blank_out(popkit_home: str, texts: Iterable[str]) -> int:
    """Blank these texts out of what sessions received; return in how many journals. Skip files that are not journals of ours.

    A journal keeps the MEMORY.md that its session began with, so that its savings can be computed later. Hooks append to it at any time and
    without a lock, so it is never replaced: blanks are written over the text, in place. Because MEMORY.md cuts and groups what it says, a
    whole text is blanked where it has the longest word of any item; this costs no more than an estimate.
    """
    words = {max(matches, key=len).casefold() for text in texts if (matches := _WORD.findall(text))}
    if not words:
        return 0
    return sum(_blank_out_in(path, words) for path in _journals(os.path.join(popkit_home, "sessions")))


def _journals(sessions: str) -> Iterator[str]:
    """Yield the journals of all sessions; none behind a link."""
    for folder in (os.path.join(sessions, name) for name in files.names(sessions)):
        if not os.path.islink(folder):
            yield from (os.path.join(folder, name) for name in files.names(folder) if name.endswith(_JOURNAL))


def _blank_out_in(path: str, words: set[str]) -> bool:
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
    """Yield where the texts with one of these words begin and end in a journal."""
    at = 0
    for line in data.splitlines(keepends=True):
        begin = line.find(_SAID) if _EVENT in line else -1
        if begin >= 0:
            begin += len(_SAID)
            match = _STRING.match(line, begin)
            end = match.end() if match else begin
            text = _injected_text(line).casefold()
            if any(word in text for word in words):
                yield at + begin, at + end
        at += len(line)


def _injected_text(line: bytes) -> str:
    """Return the text that a journal line says the session received; the whole line where it is not an entry (it was cut short)."""
    try:
        entry = loads(files.text_of(line))
    except ValueError:
        entry = None
    return str(entry.get("said")) if isinstance(entry, dict) else files.text_of(line)
