"""What outlines are made of, found while nobody waits: a compaction of a long conversation needs it of every result at once."""

from __future__ import annotations

import hashlib  # noqa: TID253  only the helper comes here
import queue
import threading

from ..policy import kinds, outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..policy.outline import Findings

# Names of so many characters are held: more than a tenth of what a window of 1,000,000 tokens shows.
MOST_CHARS = 1_000_000
_ENTRY_CHARS = 100  # of a text in which nothing was found, too


class Outlines:
    """`known`: by the hash of a text and whether it is a run's, what `outline.findings` found in it; what was found last stands last."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self.known: dict[tuple[bytes, bool], Findings] = {}
        self.chars = 0
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        threading.Thread(target=self._find_all, daemon=True).start()

    def prepare(self, text: str, kind: str) -> None:
        """Finds it soon, of a result of this text and kind."""
        if len(text) >= outline.LEAST_CHARS:
            self._waiting.put((text, kinds.is_run(kind)))

    def findings(self, text: str, is_run: bool) -> Findings:
        """As `outline.findings` finds it."""
        key = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), is_run)
        known = self.known.get(key)
        if known is None:
            known = outline.findings(text, is_run)
            with self._lock:
                self._hold(key, known)
        return known

    def _hold(self, key: tuple[bytes, bool], found: Findings) -> None:
        if key not in self.known:
            self.known[key] = found
            self.chars += _chars(found)
        while self.chars > MOST_CHARS and len(self.known) > 1:
            self.chars -= _chars(self.known.pop(next(iter(self.known))))

    def _find_all(self) -> None:
        while True:
            waiting = self._waiting.get()
            try:
                self.findings(*waiting)
            except Exception as error:  # noqa: BLE001  fail open: it is found when it is asked for
                self._failed(error)


def _chars(found: Findings) -> int:
    return _ENTRY_CHARS + sum(map(len, found.names)) + sum(map(len, found.telling))
