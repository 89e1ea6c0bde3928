"""Domains: data of one kind that a retention policy rules. `memory` is the long-term memory, `rag` the archive of contents that left
contexts. Collection, holds and archives know a domain by this protocol alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .rules import Resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from popkit_retention.core.retention_kit.holds import Hold
    from popkit_retention.core.retention_kit.marks import Mark


# Who did something: a person in a shell, an agent's tool, the hourly job.
USER, TOOL, JOB = "user", "tool", "job"


@dataclass(frozen=True)
class Content:
    """A resource as an archive keeps it: `data` comes back byte for byte; `about` is JSON, whatever the domain needs to restore it."""

    id: str
    data: bytes
    about: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """A resource in words for a person: a label (secrets masked), its project (the key) and session, its bytes, and `stage`, a sentence on
    its stage of life."""

    id: str
    label: str
    project: str
    session: str
    bytes: int
    stage: str


class Domain(Protocol):
    """DomainUnavailable where its store cannot be used. Unknown `ids` are skipped."""

    name: str

    def resources(
        self, now: float, project: str | None = None, ids: Sequence[str] | None = None, without: Collection[str] = ()
    ) -> Iterator[Resource]:
        """Return the stored resources (of one project, by its key; only these ids; not of the projects `without`), with the vetoes of holds
        and pins at a time; never those whose content is already deleted."""
        ...

    def matching_ids(self, word: str, project: str | None = None) -> list[str]:
        """Return the ids that a word can mean: that id itself, else at most five that begin with it."""
        ...

    def describe(self, ids: Sequence[str]) -> dict[str, Description]:
        """Return the descriptions of these for people."""
        ...

    def placeholders(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return id -> the transcripts that have a placeholder for it. Slow: it reads transcripts."""
        ...

    def holds(self) -> list[Hold]:
        """Return all holds, past and present, oldest first."""
        ...

    def add_hold(self, hold: Hold) -> None:
        """Keep a hold; leave an existing one of the same id unchanged."""

    def release_hold(self, id: str, at: float) -> bool:
        """End a hold; return whether it was in force."""
        ...

    def marked(self) -> dict[str, Mark]:
        """Return the marks of resources that are to be deleted, by id."""
        ...

    def mark(self, ids: Sequence[str], at: float, by: str) -> list[str]:
        """Mark resources, except those that are held or marked already; return the ids that were marked."""
        ...

    def unmark(self, ids: Sequence[str]) -> list[str]:
        """Take marks back; return the ids that were marked."""
        ...

    def delete(self, ids: Sequence[str], now: float) -> list[str]:
        """Delete marked resources for good, except those that are held; return the ids that were deleted. In one transaction with their
        marks."""
        ...

    def contents(self, ids: Sequence[str]) -> Iterator[Content]:
        """Yield resources as an archive keeps them, in this order, without those whose content is deleted."""
        ...

    def put_back(self, contents: Iterable[Content], now: float) -> list[str]:
        """Restore archived resources under their ids; return the ids that were missing and now exist. Their age counts from `now`. Existing
        resources stay unchanged, so a second restore changes nothing."""
        ...

    def compact(self) -> bool:
        """Return the space of deleted resources to the system; False where there was no room or time for it."""
        ...

    def close(self) -> None:
        """Close the store."""
