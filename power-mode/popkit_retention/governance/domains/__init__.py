"""A domain: data of one kind that a retention policy rules over. `memory` is the long-term memory, `rag` the archive of contents that left
contexts. Collection, holds and archives know a domain by this protocol alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hooks.utils.archive.chains import ITEM, PROJECT, SCOPES, SESSION, Hold
from hooks.utils.archive.deletion import Mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ..rules import Resource

__all__ = [
    "ACTORS", "ITEM", "JOB", "PROJECT", "SCOPES", "SESSION", "TOOL", "USER", "Content", "Described", "Domain", "Hold", "Mark",
]  # fmt: skip
# Who did something: a person in a shell, an agent's tool, the hourly job.
USER, TOOL, JOB = ACTORS = ("user", "tool", "job")


@dataclass(frozen=True)
class Content:
    """One resource as an archive keeps it: `data` comes back byte for byte; `about` is JSON, whatever the domain needs to put it back."""

    id: str
    data: bytes
    about: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Described:
    """One resource in words for a person: what it is (secrets masked), of which project (its key) and session, its bytes, and `stands`, a
    sentence on its stage of life."""

    id: str
    label: str
    project: str
    session: str
    bytes: int
    stands: str


class Domain(Protocol):
    """DomainUnavailable where its store cannot be used. Where `ids` are given, those that are unknown are passed over."""

    name: str

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        """Return what is stored (of one project, by its key; these ids only; not of the projects `without`), with the vetoes of holds and
        pins at a time; never those whose content is gone already."""
        ...

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        """Return the ids that a word can mean: the one that it is, else at most five that begin so."""
        ...

    def describe(self, ids: Sequence[str]) -> dict[str, Described]:
        """Return the descriptions of these for people."""
        ...

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return id -> the transcripts that have a placeholder for it. Slow: it reads transcripts."""
        ...

    def holds(self) -> list[Hold]:
        """Return all holds that ever were, oldest first."""
        ...

    def add_hold(self, hold: Hold) -> None:
        """Keep a hold; one of the same id is left as it is."""

    def release_hold(self, id: str, at: float) -> bool:
        """End a hold; return whether it was in force."""
        ...

    def marked(self) -> dict[str, Mark]:
        """Return what is to be deleted."""
        ...

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        """Mark resources, but for those that are held or marked already; return which ones it marked."""
        ...

    def unmark(self, ids: Sequence[str]) -> list[str]:
        """Take marks back; return which ones there were."""
        ...

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        """Delete marked resources for good, but for those that are held; return which ones went. In one transaction with their marks."""
        ...

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        """Yield resources as an archive keeps them, in this order, without those that have no content any more."""
        ...

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        """Bring archived resources back under their ids; return which ones were missing and are there now. Their age counts from `now`.
        What is there already stays as it is. Done twice it changes nothing the second time."""
        ...

    def compact(self) -> bool:
        """Give the space of what was deleted back to the system; False where there was no room or time for it."""
        ...

    def close(self) -> None:
        """Close the store."""
