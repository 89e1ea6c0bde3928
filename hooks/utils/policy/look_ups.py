"""Count the look-ups that PopKit causes: fetches of content that left the context through us, or entered only in part. Pure.

A look-up is a call that shows lines of a file again that have not changed since, the same content of anything else but a run, or a run
again that covers one since which no file has changed; `popkit restore`; and an edit that fails because its text is not in a file of which
something had left. In a replay of a recorded session, which had everything, it is an answer that writes what only such a result held.
Each thing that left counts once. What is gone behind a compaction that was due would be gone without us, too, and counts no more.
"""

from __future__ import annotations

from . import kinds, parts
from .coverage import covers
from .tools import EDIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from .calls import Call
    from .context import Result

_READ, _RUN, _EDIT = "read:", "run:", "edit:"
# Ends of a result after which what it shows is not wanted again: it is not so any more, or a newer result shows it.
_OUTDATED = ("edited", "changed_on_disk", "superseded", "same_content")
# What is smaller says nothing that anybody would look up.
_LEAST_TOKENS = 50
# What hosts say of an edit whose text is not in the file.
_NOT_THERE = ("not found", "failed to find")


class LookUps:
    """`count`: look-ups so far · `taken`: how much compactions that nobody but us had called for have taken out, in whole
    conversations."""

    __slots__ = ("_due", "_found", "_gone", "_holders", "_last", "_out", "count", "taken")

    def __init__(self) -> None:
        self.count = 0
        self.taken = 0.0
        self._gone: dict[str, dict[str, list[Any]]] = {}  # id of a result -> what is gone of it: key -> scopes
        self._holders: dict[str, dict[str, None]] = {}  # key -> ids
        self._out: set[str] = set()  # ids of the results that have left, also of those that were looked up again
        self._due: set[str] = set()  # ids of what is gone behind a compaction that was due
        self._found: set[str] = set()  # ids of what was looked up since it left
        self._last: tuple[str, dict[str, dict[str, list[Any]]]] = ("", {})  # id of the newest look-up, and what was gone before it

    def leave(self, results: Iterable[Result]) -> None:
        """Take in results that leave the context."""
        for result in results:
            if result.id not in self._out:
                self._out.add(result.id)
                self._hold(result)

    def enter_in_part(self, result: Result) -> None:
        """Take in a result that entered only in part: asking for it again is a look-up, unless the answer is shortened itself."""
        id, gone = self._last
        if id == result.id:
            self.count -= 1
            for other, shown in gone.items():
                self._found.discard(other)
                self._add(other, shown)
            self._last = ("", {})
        self._hold(result)

    def come_back(self, ids: Iterable[str]) -> None:
        """Forget that these results had left: they are in the context again."""
        for id in ids:
            self._out.discard(id)
            self._due.discard(id)
            self._found.discard(id)
            self._drop(id)

    def forget(self, back: Collection[str] = ()) -> None:
        """Forget all that has left: it would be gone without us, but for what was read of files that the host would have put `back`
        (paths)."""
        kept = {_READ + path for path in back}
        self._due = self._out | self._gone.keys()
        for id in [id for id, shown in self._gone.items() if kept.isdisjoint(shown)]:
            self._drop(id)
        self._due -= self._gone.keys()
        self._last = ("", {})

    def change(self, paths: Collection[str]) -> None:
        """Take in that files have changed: reads of them no longer hold, and runs are wanted for their current outcome."""
        keys = [_READ + path for path in paths]
        for key in [key for key in self._holders if key in keys or key.startswith(_RUN)]:
            for id in list(self._holders.get(key, ())):
                self._drop(id)

    def come(self, result: Result, call: Call) -> None:
        """Take in the result of a call: count it if it is a look-up, and take in its changes."""
        if result.error and call.operation == EDIT and any(words in result.verdict.lower() for words in _NOT_THERE):
            self._count(result.id, {id for path in result.subjects for id in self._holders.get(_READ + path, ())})
        elif result.kind == kinds.RESTORED:
            self.count += not result.error
        elif not result.error:
            shown = _shown(result)
            found = {id for key, scopes in shown.items() for id in self._shown_by(key, scopes)}
            self._count(result.id, [id for id in found if not _has_changed(shown, self._gone[id])])
        edited = [part[0].removeprefix(_EDIT) for part in result.parts if part[0].startswith(_EDIT)]
        if edited and not result.error:
            self.change(edited)

    def need(self, id: str) -> None:
        """Count a need for the content of this result, which had left, unless it was looked up since."""
        self.count += id not in self._due and id not in self._found
        self._found.add(id)
        self._drop(id)

    def _shown_by(self, key: str, scopes: list[Any]) -> list[str]:
        """Return the ids of what is gone that a result with these scopes of a key shows."""
        holders = self._holders.get(key, ())
        shows = _shares_lines if key.startswith(_READ) else lambda new, old: covers((key, new), (key, old))
        return [id for id in holders if not scopes or any(shows(new, old) for new in scopes for old in self._gone[id][key])]

    def _count(self, id: str, found: Collection[str]) -> None:
        if found:
            self.count += 1
            self._last = id, {other: self._gone[other] for other in found}
            for other in found:
                self._found.add(other)
                self._drop(other)

    def _hold(self, result: Result) -> None:
        is_current = not (result.error or result.kind == kinds.RESTORED or (result.ended and result.ended[0] in _OUTDATED))
        if is_current and result.tokens >= _LEAST_TOKENS:
            self._add(result.id, _shown(result))

    def _add(self, id: str, shown: dict[str, list[Any]]) -> None:
        if shown:
            self._drop(id)
            self._gone[id] = shown
            for key in shown:
                self._holders.setdefault(key, {})[id] = None

    def _drop(self, id: str) -> None:
        for key in self._gone.pop(id, ()):
            holders = self._holders[key]
            holders.pop(id, None)
            if not holders:
                del self._holders[key]


def _shown(result: Result) -> dict[str, list[Any]]:
    """Return by which keys what a result shows is known again, with their scopes: lines of files, runs; its content, which has none."""
    shown: dict[str, list[Any]] = {}
    for key, scope in result.parts:
        if key.startswith((_READ, _RUN)):
            shown.setdefault(key, []).append(scope)
    if result.hash and result.kind != kinds.ACK and not kinds.is_run(result.kind):
        shown[result.kind + "|" + result.hash] = []
    return shown


def _shares_lines(new: list[int], old: list[int]) -> bool:
    """Return whether two reads of a file show a line both, as far as that is known."""
    return new[0] > 0 and old[0] > 0 and parts.overlap(new, old)


def _has_changed(new: dict[str, list[Any]], old: dict[str, list[Any]]) -> bool:
    """Return whether the same lines of the same files are not the same content."""
    places = [{key: scopes for key, scopes in each.items() if key.startswith(_READ)} for each in (new, old)]
    return places[0] == places[1] and bool(places[0]) and new.keys() != old.keys()
