"""The conversations whose states are kept, only in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .continuity import MOST, MOST_ALIKE, alike
from .message_digests import digest_of


class _State(NamedTuple):
    """A state that was handed on, with the digests of the messages of its conversation."""

    digests: Sequence[str]
    state: dict[str, object]


class _Beginning:
    """Conversations that begin with the same message, and the states that were handed on in them, the newest last."""

    __slots__ = ("lock", "states")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.states: list[_State] = []


class Turn:
    """A build. `state`: the one from the previous build (`ContextResult.state`), None for the first."""

    def __init__(self, begun: _Beginning, digests: Sequence[str], most: int) -> None:
        self._states = begun.states
        self._digests = digests
        self._most = most
        self._before = max(self._states, key=self._rank, default=None)
        self.state = self._before.state if self._before else None

    def hand_on(self, state: dict[str, object], appended: bool) -> None:
        """Keep the state of this build. The state that it continues is dropped where this one has all of it (`appended`); else another
        conversation that branched off there, such as a parallel agent's, may still continue it."""
        before = self._before
        if before is not None:
            same = alike(before.digests, self._digests)
            if same == len(before.digests) and (appended or same == len(self._digests)):
                self._states[:] = [handed_on for handed_on in self._states if handed_on is not before]
        self._states.append(_State(self._digests, state))
        del self._states[: -self._most]

    def _rank(self, earlier: _State) -> tuple[int, int]:
        """Rank a state: the more messages in common the better, and the fewer others."""
        return alike(earlier.digests, self._digests), -len(earlier.digests)


class Conversations:
    """The conversations used last, at most this many. One that was dropped starts over at its next build.

    A session may hold several conversations, and parallel agents of one template even begin alike, so a state is chosen by the messages
    that it was handed on over. Conversations that begin with the same message are built one after the other, so neither of two parallel
    calls of one conversation sees half of the other's state.
    """

    def __init__(self, most: int = MOST, most_alike: int = MOST_ALIKE) -> None:
        self._most = most
        self._most_alike = most_alike
        self._known: OrderedDict[tuple[str, ...], _Beginning] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum([max(1, len(begun.states)) for begun in self._known.values()])

    @contextmanager
    def turn(self, caller: tuple[str, ...], digests: Sequence[str]) -> Iterator[Turn]:
        """Take the turn of a caller's conversation whose messages have these digests, alone among those that begin with the same."""
        key = (*caller, *digests[:1])
        with self._lock:
            begun = self._known.setdefault(key, _Beginning())
            self._known.move_to_end(key)
            while len(self) > self._most and len(self._known) > 1:
                self._known.popitem(last=False)
        with begun.lock:
            yield Turn(begun, digests, self._most_alike)


def mark_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a name for an unnamed session: the digest of its first user message."""
    return digest_of(next((message for message in messages if message.get("role") == "user"), messages[0]))
