"""Holds, marks and erasure: which items must stay unchanged whatever the policies say, which ones somebody other than the user has marked
for deletion, and which leave no copy once they are deleted.

Holds and marks are in the store, beside the items. `popkit retention hold` makes and ends holds. Code that marks, deletes or shortens items
reads the holds first, and writes only where they are still the same (`Batch.expected`), and where nobody has made a mark or taken one back
since.

An item that the user or an agent's tool wants forgotten is not learnt again, and leaves no copy in backups, in the text that sessions
received, or in freed space of the store's file. The forgotten ids are kept for each project beside its items. The job calls
`prepare_erasure` before it deletes and `finish_erasure` after it. A note in the store says what remains to be done, so that the next run
takes over from one that was killed or found the store in use.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass, field
from functools import partial

from hooks.utils.archive.holds import PROJECT, SESSION, Hold
from hooks.utils.io import files
from hooks.utils.io.codec import loads
from hooks.utils.state import marked

from . import exchange
from .items import BY_POLICY, BY_TOOL, BY_USER
from .stores.protocol import mapping
from .transitions import GRACE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .folder import Folder
    from .items import Item
    from .stores.protocol import Batch, Store

KEY = "holds"  # of the value in the store: a list of objects, oldest first
MARKS_KEY = "marks"  # of the value that changes whenever somebody makes a mark or takes one back


class OnHold(Exception):
    """A hold forbids the change; the message names the hold, and says what to do. Nothing was changed. `what`: which hold, without what to
    do."""

    def __init__(self, what: str, hold_id: str) -> None:
        super().__init__(f"{what}. Release it first: popkit retention hold release {hold_id}")
        self.what = what


@dataclass
class Holds:
    """The holds of a store that are in force at a time, by the id of an item, a session's id, a project's key. `value`: the stored value
    that they were read from; `marks`: the state of the marks then."""

    value: object
    marks: object
    items: dict[str, Hold] = field(default_factory=dict)
    sessions: dict[str, Hold] = field(default_factory=dict)
    projects: dict[str, Hold] = field(default_factory=dict)

    def on(self, item: Item) -> Hold | None:
        """Return the hold that keeps an item; None where none does."""
        return self.items.get(item.id) or self.projects.get(item.project) or self.sessions.get(item.episode)

    def on_id(self, id: str, project: str) -> Hold | None:
        """Return the hold that keeps an item of this id, whether or not it is in the store."""
        return self.items.get(id) or self.projects.get(project)

    def expected(self) -> dict[str, object]:
        """Return values for `Batch.expected`: the batch is written only if the holds are still these and nobody has touched a mark."""
        return {KEY: self.value, MARKS_KEY: self.marks}


def read(store: Store, now: float) -> Holds:
    """Return the holds that are in force at a time (seconds), including those on everything that a held session has taught. Read them
    before the items that they are about."""
    held = Holds(store.value(KEY), store.value(MARKS_KEY))
    by_scope = {PROJECT: held.projects, SESSION: held.sessions}
    for hold in map(Hold.of, entries(held.value)):
        if hold.in_force(now):
            by_scope.get(hold.scope, held.items)[str(hold.target)] = hold
    if held.sessions:
        for project in {total.project for total in store.totals()}:
            for session, hold in held.sessions.items():
                lesson = mapping(store.value(f"lesson:{project}:{session}"))
                held.items.update((id, hold) for id in mapping(lesson.get("writes")) if id not in held.items)
    return held


def touch_marks(batch: Batch) -> None:
    """Record in a batch that it makes or takes back a mark, so that decisions by the earlier marks are made again."""
    if any("marked_at" in change.to for change in batch.change):
        batch.values[MARKS_KEY] = os.urandom(8).hex()


def entries(value: object) -> list[Mapping[str, object]]:
    """Return all holds, past and present, as the store has them."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def in_words(hold: Hold) -> str:
    """Return who wants a hold, why, and until when: "alice: audit, until 2027-01-01"."""
    end = f", until {time.strftime('%Y-%m-%d', time.gmtime(hold.until))}" if isinstance(hold.until, (int, float)) else ""
    return f"{hold.who}: {hold.why}{end}"


def refuse(items: Iterable[Item], held: Holds) -> None:
    """Raise OnHold for the first of these items that a hold keeps."""
    for item in items:
        hold = held.on(item)
        if hold:
            raise OnHold(f"{item.id} is on hold ({in_words(hold)})", str(hold.id))


def drop(batch: Batch, ids: set[str]) -> list[dict[str, object]]:
    """Remove from a batch all that it would do to these items; return the audit entries that were removed."""
    batch.change = [change for change in batch.change if change.id not in ids]
    batch.remove = [id for id in batch.remove if id not in ids]
    for id in ids:
        batch.originals.pop(id, None)
    dropped = [entry for entry in batch.log if entry.get("id") in ids]
    batch.log = [entry for entry in batch.log if entry.get("id") not in ids]
    return dropped


ACTORS_KEY = "governed"  # of the value in the store: id -> who had a policy mark it


def actors(store: Store) -> Mapping[str, object]:
    """Return who had a retention policy mark each marked item, by id."""
    return mapping(store.value(ACTORS_KEY))


def notices(store: Store, project: str | None = None) -> dict[str, list[marked.Marked]]:
    """Return the marks of a project (None: of all) that the user did not make and is notified of: rows of `hooks.utils.state.marked`, by
    its parts."""
    known = actors(store)
    by_part: dict[str, list[tuple[str, str, str, float]]] = {marked.FORGOTTEN: [], marked.MEMORY: []}
    for item in store.scan(project, marked=True, bare=True):
        if item.marked_by == BY_TOOL:
            by_part[marked.FORGOTTEN].append(_mark(item, BY_TOOL))
        elif item.marked_by == BY_POLICY and known.get(item.id) in (marked.BY_TOOL, marked.BY_JOB):
            by_part[marked.MEMORY].append(_mark(item, str(known[item.id])))
    return {part: marked.marked_rows(marks) for part, marks in by_part.items()}


def publish_marks(popkit_home: str, store: Store) -> None:
    """Write for hooks the items that somebody other than the user has marked, in all projects."""
    for part in (marked.FORGOTTEN, marked.MEMORY):
        marked.replace_marked(popkit_home, part, partial(_rows, store, part))


def _rows(store: Store, part: str) -> list[marked.Marked]:
    return notices(store)[part]


def _mark(item: Item, by: str) -> tuple[str, str, str, float]:
    return item.project, by, item.id, (item.marked_at or 0.0) + GRACE_S


# --- erasure ---

FORGOTTEN_KEY = "forgotten:"  # and a project


def forgotten_ids(store: Store, project: str) -> Mapping[str, object]:
    """Return, as keys, the ids that a project must not learn again."""
    return mapping(store.value(FORGOTTEN_KEY + project))


def note_forgotten(batch: Batch, store: Store, items: Sequence[Item], forgotten: bool) -> None:
    """Record in a batch that these items are forgotten, or no longer so."""
    for project in {item.project for item in items}:
        before = set(forgotten_ids(store, project))
        mine = {item.id for item in items if item.project == project}
        batch.values[FORGOTTEN_KEY + project] = dict.fromkeys(sorted(before | mine if forgotten else before - mine), True)


def _erased_ids(store: Store, held: Holds) -> set[str]:
    """Return the ids of all projects that are forgotten and deleted, except those that a hold keeps."""
    by_project = {key[len(FORGOTTEN_KEY) :]: known for key, known in store.values(FORGOTTEN_KEY).items() if isinstance(known, dict)}
    ids = {id for project, known in by_project.items() for id in known if not held.on_id(id, project)}
    return ids - {item.id for item in store.get(sorted(ids))}


UNWIPED_KEY = "unwiped"  # of the value in the store that says so
_JOURNAL = ".journal.jsonl"
_EVENT, _SAID = b'"event":"memory"', b'"said":"'
_STRING = re.compile(rb'(?:[^"\\\n]|\\.)*')
_WORD = re.compile(r"\w+")
_LARGEST = 64 << 20  # bytes of a journal


def prepare_erasure(store: Store, folder: Folder | None, now: float) -> None:
    """Blank the words of items that are about to be deleted out of sessions' journals: afterwards nobody knows them."""
    going = [item for item in store.scan(marked=True, bare=True) if _goes(item, now)]
    if not going:
        return
    store.set_value(UNWIPED_KEY, True)
    if folder is not None:
        blank_out(folder.home, (text for item in going for text in _texts(store, item)))


def finish_erasure(store: Store, folder: Folder | None, now: float) -> None:
    """Remove deleted items from the backups, and rewrite the store's file without them."""
    if folder is not None:
        exchange.erase_from_backups(folder.backups, _erased_ids(store, read(store, now)))
    if store.value(UNWIPED_KEY) is not None and store.compact():
        store.set_value(UNWIPED_KEY, None)


def _goes(item: Item, now: float) -> bool:
    return item.marked_by in (BY_USER, BY_TOOL) and item.marked_at is not None and now - item.marked_at >= GRACE_S


def _texts(store: Store, item: Item) -> Iterator[str]:
    yield item.text
    if item.original:
        yield store.original(item.id) or ""
    yield from (value for value in item.details.values() if isinstance(value, str))


# --- the journals of sessions ---


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
