"""What builds of each conversation handed on, for its next: a bounded number of them, one build of each at a time. In memory alone.

A session may hold several conversations, and parallel agents of one template even begin alike: so what was handed on is found by the
messages that it was handed on over. Those that begin with the same message are built one after the other, so neither of two parallel calls
of one conversation sees half of the other's state.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import NamedTuple

from .said import alike, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

# States that are kept, and those of them that begin with the same message.
MOST, MOST_ALIKE = 2_000, 32


class _Kept(NamedTuple):
    """What was handed on over messages with these digests."""

    digests: Sequence[str]
    state: dict[str, Any]


class _Begun:
    """Conversations that begin with the same message, and what was handed on in them, the newest last."""

    __slots__ = ("kept", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: list[_Kept] = []


class Turn:
    """One build. `state`: what the build before handed on (`ContextResult.state`), None before the first."""

    def __init__(self, begun: _Begun, digests: Sequence[str], most: int) -> None:
        self._kept = begun.kept
        self._digests = digests
        self._most = most
        self._before = max(self._kept, key=self._fit, default=None)
        self.state = self._before.state if self._before else None

    def hand_on(self, state: dict[str, Any], appended: bool) -> None:
        """Keeps what this build hands on. What it went on from goes where all of it stands in that (`appended`); else a conversation that
        branched off there, such as another agent's, may still go on from it."""
        before = self._before
        if before is not None:
            same = alike(before.digests, self._digests)
            if same == len(before.digests) and (appended or same == len(self._digests)):
                self._kept[:] = [kept for kept in self._kept if kept is not before]
        self._kept.append(_Kept(self._digests, state))
        del self._kept[: -self._most]

    def _fit(self, kept: _Kept) -> tuple[int, int]:
        """The more of the messages it was handed on over the better, and the less of others."""
        return alike(kept.digests, self._digests), -len(kept.digests)


class Conversations:
    """The conversations used last, at most so many. One that is left out starts over at its next build."""

    def __init__(self, most: int = MOST, most_alike: int = MOST_ALIKE) -> None:
        self._most = most
        self._most_alike = most_alike
        self._known: OrderedDict[tuple[str, ...], _Begun] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum([max(1, len(begun.kept)) for begun in self._known.values()])

    @contextmanager
    def turn(self, caller: tuple[str, ...], digests: Sequence[str]) -> Iterator[Turn]:
        """The turn of a caller's conversation whose messages have these digests; nobody else has one that begins with the same."""
        key = (*caller, *digests[:1])
        with self._lock:
            begun = self._known.setdefault(key, _Begun())
            self._known.move_to_end(key)
            while len(self) > self._most and len(self._known) > 1:
                self._known.popitem(last=False)
        with begun.lock:
            yield Turn(begun, digests, self._most_alike)


def mark_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The name of a session that nobody has named: by its first message of a user's."""
    return digest_of(next((message for message in messages if message.get("role") == "user"), messages[0]))
