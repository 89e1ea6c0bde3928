"""What has changed since: one watcher for all pages. It looks at stats a few times a second, while a page is open or lately was."""

from __future__ import annotations

import os
import threading
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from ..usage.sqlite import FILE
from .sessions import row_of
from .shapes import Event, SessionRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from .catalog import Known
    from .desk import Desk

EVERY_S = 0.25
# A look at everything takes at most this share of the time, and comes at least so often.
SHARE, LEAST_OFTEN_S = 0.05, 0.75
# More rows than these are not sent: the page asks for the list again.
MOST_ROWS = 50
# What PopKit was worth is told anew no more often: to tell it, what sessions did is settled first, which a session that runs would cause
# with every line that it writes.
STATS_S = 10.0
# What of our folder each kind of event is about: files, and folders of them.
_PLACES = {
    "memory": ("memory.sqlite", "memory.sqlite-wal", "memory"),
    "retention": ("archive.sqlite", "archive.sqlite-wal", "data"),
}
_BUDGETS = (FILE, "retention-config.json")


class Watcher:
    """`poll` tells what has changed since it was last asked. `start` asks again and again in a thread of its own, until `stop`, and hands
    every Event to `tell`."""

    def __init__(self, desk: Desk, tell: Callable[[Event], object]) -> None:
        self._desk = desk
        self._tell = tell
        self._known: dict[str, Known] | None = None
        self._others: dict[str, SessionRow] = {}
        self._stats, self._stats_at = "", float("-inf")
        self._stamps: dict[str, str] = {}
        self._late: dict[str, Known] = {}  # rows that were told before their contexts were read
        self._reader: threading.Thread | None = None
        self.polls = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to ask, from how things stand now."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="popkit-watcher")
        self._thread.start()

    def stop(self) -> None:
        """Ends it; does not wait."""
        self._stop.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            began = time.monotonic()
            try:
                for event in self.poll():
                    self._tell(event)
            except Exception as error:  # noqa: BLE001  pages must hear of the next change, whatever was wrong with this one
                self._desk.failure("dashboard-watcher", error)
            pause = min(LEAST_OFTEN_S, max(EVERY_S, (time.monotonic() - began) / SHARE))

    def poll(self) -> list[Event]:
        """The events since the last poll; the first one only learns how things stand."""
        known = self._desk.catalog.sessions()
        stamps = {name: _stamp_of(self._desk.home, places) for name, places in _PLACES.items()}
        # This may wait for a database, and opens one whose files it changes by that.
        others = {row.id: row for row in self._desk.spending.others(set(known))}
        stamps["budgets"] = _stamp_of(self._desk.home, _BUDGETS) + self._desk.spending.stamp()
        stamps["stats"] = self._of_stats(_digest(sorted((each.id, each.stamp) for each in known.values())))
        events = []
        if self._known is not None:
            events = self._of_sessions(known, self._known, others)
            events += [Event(type=name, at=self._desk.now(), stamp=stamp) for name, stamp in stamps.items() if self._stamps[name] != stamp]  # type: ignore[arg-type]
        self._known, self._others, self._stamps = known, others, stamps
        self.polls += 1
        return events

    def _of_stats(self, newest: str) -> str:
        """The stamp that is told: the newest one, but of changes within STATS_S only the first; the last one is told when they are over."""
        now = self._desk.now()
        if self._known is None:
            self._stats = newest
        elif newest != self._stats and not 0 <= now - self._stats_at < STATS_S:
            self._stats, self._stats_at = newest, now
        return self._stats

    def _of_sessions(self, known: dict[str, Known], before: dict[str, Known], others: dict[str, SessionRow]) -> list[Event]:
        changed: list[Known | SessionRow] = [each for id, each in known.items() if id not in before or before[id].stamp != each.stamp]
        changed += [row for id, row in others.items() if id not in self._others or self._others[id].stamp != row.stamp]
        changed.sort(key=lambda each: -each.changed_at)
        told = (each if isinstance(each, SessionRow) else self._row(each) for each in changed[:MOST_ROWS])
        rows = [row for row in told if row is not None]
        rows += self._caught_up(known)
        gone = sorted({*before, *self._others} - {*known, *others})
        if not rows and not gone:
            return []
        everything: list[Known | SessionRow] = [*known.values(), *others.values()]
        stamp = _digest(sorted((each.id, each.stamp) for each in everything))
        return [Event(type="sessions", at=self._desk.now(), stamp=stamp, sessions=rows, gone=gone)]

    def _row(self, known: Known) -> SessionRow | None:
        """The row of a session; None where it cannot be told, which keeps no other from being."""
        try:
            row = row_of(self._desk, known)
        except Exception as error:  # noqa: BLE001  whatever is wrong with this one
            self._desk.failure("dashboard-watcher", error)
            return None
        brief = self._desk.looks.brief(known)
        if known.running and (brief is None or brief.stamp != known.stamp):
            self._late[known.id] = known
        else:
            self._late.pop(known.id, None)
        return row

    def _caught_up(self, known: dict[str, Known]) -> list[SessionRow]:
        """Rows of contexts that took longer to read, and have been read meanwhile. One is read at a time, beside all else."""
        self._late = {id: known[id] for id in self._late if id in known and known[id].running}
        ready = [each for each in self._late.values() if self._desk.looks.is_read(each)]
        waiting = [each for each in self._late.values() if each not in ready and not self._desk.looks.is_unreadable(each)]
        if waiting and (self._reader is None or not self._reader.is_alive()):
            self._reader = threading.Thread(target=self._read, args=(waiting[0],), daemon=True, name="popkit-reader")
            self._reader.start()
        return [row for each in ready if (row := self._row(each)) is not None]

    def _read(self, known: Known) -> None:
        self._desk.looks.brief(known, is_patient=True)


def _stamp_of(popkit_home: str, places: tuple[str, ...]) -> str:
    return _digest([_marks(os.path.join(popkit_home, place)) for place in places])


def _marks(path: str) -> object:
    """The stats of a file, or of what lies in a folder and the folders in it."""
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    if not os.path.isdir(path) or os.path.islink(path):
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
    try:
        return [(name, _marks(os.path.join(path, name))) for name in sorted(os.listdir(path))]
    except OSError:
        return None


def _digest(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
