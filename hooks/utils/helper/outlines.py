"""Compute what outlines are made of ahead of a compaction, which needs those of every result at once."""

from __future__ import annotations

import queue
import threading

from ..policy import kinds
from ..policy.messages import ShownResult
from ..policy.outlines import LEAST_CHARS, Findings, findings
from ..policy.ways import Pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..policy.messages import Use

# Names of at most this many characters together are held: more than a fifth of what a window of 1,000,000 tokens shows.
MOST_CHARS = 2_000_000
_ENTRY_CHARS = 100  # of a text that has no names, too
_BETWEEN = "\n\n"  # names and failures: neither are empty, nor hold a line's end


class Outlines:
    """The parts of outlines. `known`: by the hash of a text, its length, and whether it is a run's, the packed result of `findings`; the
    newest is last. What a list says of a call is masked ahead, too, and remembered there (policy/masking)."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self.known: dict[tuple[int, int, bool], str] = {}
        self.chars = 0
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[str, bool, Use | None]] = queue.SimpleQueue()
        threading.Thread(target=self._find_all, daemon=True).start()

    def prepare(self, text: str, kind: str, use: Use | None = None) -> None:
        """Queue a result of this text and kind, and its call, to be outlined and masked soon."""
        self._waiting.put((text, kinds.is_run(kind), use))

    def findings(self, text: str, is_run: bool) -> Findings:
        """Return what `outlines.findings` of the policy does, from memory where it is known."""
        key = (hash(text), len(text), is_run)  # as in policy/hashed.py, hardly ever that of two texts
        packed = self.known.get(key)
        if packed is not None:
            return _unpacked(packed)
        new = findings(text, is_run)
        with self._lock:
            self._hold(key, _packed(new))
        return new

    def _hold(self, key: tuple[int, int, bool], packed: str) -> None:
        if key not in self.known:
            self.known[key] = packed
            self.chars += _ENTRY_CHARS + len(packed)
        while self.chars > MOST_CHARS and len(self.known) > 1:
            self.chars -= _ENTRY_CHARS + len(self.known.pop(next(iter(self.known))))

    def _find_all(self) -> None:
        while True:
            text, is_run, use = self._waiting.get()
            try:
                if use is not None:
                    Pair(use, ShownResult(use.id, text))
                if len(text) >= LEAST_CHARS:
                    self.findings(text, is_run)
            except Exception as error:  # noqa: BLE001  fail open: it is found when it is asked for
                self._failed(error)


def _packed(findings: Findings) -> str:
    """Return findings as one string: names are many and short, and each string of its own takes 49 bytes more than it says."""
    return "\n".join(findings.names) + _BETWEEN + "\n".join(findings.failures)


def _unpacked(packed: str) -> Findings:
    names, _, failures = packed.partition(_BETWEEN)
    return Findings(*(part.split("\n") if part else [] for part in (names, failures)))
