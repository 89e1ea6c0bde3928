"""The answers of governance as JSON objects; only mypy loads this module. Times are ISO 8601, in UTC, unless a field says otherwise."""

from __future__ import annotations

from typing import Any, TypedDict

Json = dict[str, Any]


class Counts(TypedDict):
    """Counts of the resources that a policy releases (within its limit) and keeps; `total` includes those beyond the limit."""

    eligible: int
    protected: int
    total: int


class Label(TypedDict, total=False):
    """The label of a resource, where it is asked for."""

    label: str


class VerdictAnswer(Label):
    """A policy's verdict on a resource: its reason codes, the deciding one first."""

    id: str
    reasons: list[str]
    created_at: str | None


class ProjectKey(TypedDict, total=False):
    """The key of the project, in an answer under that project's own policy."""

    project: str


class ProjectVerdicts(TypedDict, total=False):
    """The verdicts of projects' own policies, in the answer for a domain."""

    own: list[AppliedAnswer]


class AppliedAnswer(ProjectKey, ProjectVerdicts):
    """The verdicts of a domain's policy."""

    success: bool
    domain: str
    cutoff_date: str
    policy_applied: Json
    eligible: list[VerdictAnswer]
    protected: list[VerdictAnswer]
    counts: Counts
    truncated: bool
    left_out: int


class RequestAnswer(TypedDict):
    """A request of an agent; `at`: when it was made, `asked`: the values that it asks for."""

    request: str
    at: str
    domain: str
    project: str
    asked: Json


class PendingRequest(RequestAnswer):
    """A pending request; `now`: the values in force."""

    now: Json


class HoldOnResource(TypedDict):
    """A hold in force, as an explanation lists it."""

    id: str
    scope: str
    target: str
    who: str
    why: str
    created_at: str | None
    until: str | None


class HoldAnswer(HoldOnResource):
    """A hold of a domain, which may have been released."""

    domain: str
    released_at: str | None


class ListedHold(HoldAnswer):
    """A hold in a list, where it may have ended."""

    in_force: bool


class EntryAnswer(TypedDict):
    """An entry of the log."""

    number: int
    at: str
    by: str
    action: str
    domain: str
    ids: list[str]
    details: Json
    hash: str


class NamedResource(TypedDict):
    """A resource, named for a person."""

    id: str
    label: str
    created_at: str | None


class UnmarkedResource(TypedDict):
    """A resource that lost its mark, with the reason codes."""

    id: str
    reasons: list[str]


class CollectionPart(ProjectKey):
    """The collection of one domain under one policy; `kept`: by the deciding reason, `placeholders`: id -> transcripts."""

    domain: str
    params: Json
    marks: list[NamedResource]
    deletes: list[NamedResource]
    waiting: list[NamedResource]
    unmarked: list[UnmarkedResource]
    kept: dict[str, int]
    placeholders: dict[str, list[str]]
    truncated: bool
    left_out: int
    compacted: bool


class CollectionAnswer(TypedDict):
    """A collection, or what one would do (`dry_run`)."""

    domains: list[CollectionPart]
    dry_run: bool


class DueResources(TypedDict):
    """The resources that become eligible soon, if nobody uses them before."""

    count: int
    first_at: str | None


class JobAnswer(TypedDict):
    """The results of the hourly job; `unindexed`: how many archived contents search cannot find yet, None where that was not asked."""

    domains: list[CollectionPart]
    unindexed: int | None


class DomainFigures(TypedDict):
    """The figures of a domain under one policy; `reasons`: protected resources by the deciding reason, `due_at`: when the first mark is
    due, `holds`: those in force."""

    counts: Counts
    left_out: int
    reasons: dict[str, int]
    soon: DueResources
    marked: int
    due_at: str | None
    holds: int


class DomainStatus(DomainFigures):
    """The status of a domain under one policy; `unavailable`: why it cannot be used, or ""."""

    domain: str
    policy: Json
    unavailable: str


class PartStatus(DomainStatus, ProjectKey):
    """The status of a domain, or of one project in it."""


class ArchiveName(TypedDict):
    """The id of an archive, with its domain."""

    archive_id: str
    domain: str


class ArchiveSummary(ArchiveName, total=False):
    """An archive in a list; only `problem`, where its manifest cannot be read."""

    created_at: str
    resource_count: int
    total_size_bytes: int
    note: str
    problem: str


class ArchiveAnswer(TypedDict):
    """An archive that was just written."""

    success: bool
    archive_id: str
    manifest_path: str
    resource_count: int
    total_size_bytes: int


class WrittenArchive(ArchiveAnswer):
    """An archive that was just written, with its domain."""

    domain: str


class ArchivesAnswer(TypedDict):
    """All archives, newest first."""

    archives: list[ArchiveSummary]


class ArchiveTotal(TypedDict):
    """A number of archives, and their size."""

    count: int
    bytes: int


class Status(TypedDict):
    """The status of governance; `own`: that of projects with a policy of their own."""

    revision: int
    updated_at: str
    domains: list[PartStatus]
    own: list[PartStatus]
    archives: ArchiveTotal


class StatusAnswer(Status):
    """The status of governance, with the requests that wait."""

    requests: list[RequestAnswer]


class NextStep(TypedDict):
    """The next change of a resource, and its time; None: with the next collection."""

    what: str
    at: str | None


class MarkAnswer(TypedDict):
    """A mark: when it was made, and by whom."""

    at: str | None
    by: str


class ExplanationAnswer(TypedDict):
    """The explanation of one resource."""

    domain: str
    id: str
    label: str
    project: str
    session: str
    bytes: int
    created_at: str | None
    state: str
    reasons: list[str]
    since: str | None
    next: NextStep | None
    holds: list[HoldOnResource]
    marked: MarkAnswer | None
    placeholders: list[str]
    stands: str


class ProblemAnswer(TypedDict):
    """Something that is not as it was written."""

    where: str
    what: str


class VerificationAnswer(TypedDict):
    """The result of a verification."""

    ok: bool
    problems: list[ProblemAnswer]
    log_entries: int
    archives: int
    unfinished: int


class ResourceName(TypedDict):
    """The id of a resource, with its domain."""

    domain: str
    id: str


class UndoAnswer(TypedDict):
    """The resources that lost their marks."""

    unmarked: list[ResourceName]


class HoldsAnswer(TypedDict):
    """Holds, oldest first."""

    holds: list[ListedHold]


class LogAnswer(TypedDict):
    """Entries of the log, newest first."""

    entries: list[EntryAnswer]


class RequestsAnswer(TypedDict):
    """Pending requests, oldest first."""

    requests: list[PendingRequest]


class RestoreAnswer(TypedDict):
    """The ids that a restore brought back, those that existed already, those that are damaged in the archive."""

    archive_id: str
    domain: str
    restored: list[str]
    already: list[str]
    damaged: list[str]


class UnsetAnswer(TypedDict):
    """The domains in which a project's own policy ended."""

    project: str
    domains: list[str]
    revision: int
