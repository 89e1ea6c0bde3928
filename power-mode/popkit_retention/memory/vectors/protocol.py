"""The protocol of all stores of vectors. `popkit_retention.conformance.run_vector_store_conformance` tests whether a store follows it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The fields of an item that place it: a query within some of them sees vectors of no others.
PLACES = ("project", "user_id", "agent_id", "session_id")


class Vector(NamedTuple):
    """The vector of an item. `numbers`: of unit length, or zeros · `embedder`: what it is comparable with, all of one length · `stamp`:
    what it was made of, which only the index understands · the other fields are the item's, see PLACES."""

    id: str
    numbers: Sequence[float]
    embedder: str
    stamp: str = ""
    project: str = ""
    user_id: str = ""
    agent_id: str = ""
    session_id: str = ""


class VectorStore(Protocol):
    """A store of vectors, each known by the id of its item. It can be made again from the items at any time, so it decides nothing: what
    is in it and no longer among the items is not shown. Every method is all or nothing, and any thread may call it. StoreUnavailable where
    it cannot be used."""

    def put(self, vectors: Sequence[Vector]) -> None:
        """Add vectors; one takes the place of another of its id, the last of several."""

    def remove(self, ids: Sequence[str]) -> None:
        """Delete vectors for good, with every trace in its files that the store has power over; ids that are not there are skipped."""

    def stamps(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return the stamps of these vectors (None: of all) by id, without those that are not there."""
        ...

    def nearest(self, numbers: Sequence[float], embedder: str, most: int, within: Mapping[str, str]) -> list[tuple[str, float]]:
        """Return the ids of the vectors of this embedder that are nearest, the best first, ties by id, each with its cosine (0 where either
        is zeros). `within`: the values that fields of PLACES have to have, exactly. At most so many, and as many as there are within these
        places: an approximate index that may miss some is not enough."""
        ...

    def close(self) -> None:
        """Release the store; once more does nothing."""


def can_be_kept(within: Mapping[str, str]) -> bool:
    """Return whether an item may have these values: no item has NUL characters or lone surrogates, and a database refuses both."""
    try:
        return "\0" not in "".join(within.values()).encode().decode()
    except UnicodeEncodeError:
        return False
