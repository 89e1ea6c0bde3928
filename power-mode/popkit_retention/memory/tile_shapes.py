"""The shapes of the dashboard's API for memory."""

from typing import Literal

from pydantic import Field

from ..dashboard.shapes import Offer, Shape, StrictModel


class MemoryProject(Shape):
    project: str
    name: str
    on: bool
    items: int


class MemoryProjects(Shape):
    projects: list[MemoryProject]


class MemoryItem(Shape):
    id: str
    kind: str
    text: str
    tier: Literal["HOT", "WARM", "COLD", "ARCHIVE"]
    score: float
    retention: float  # the chance that it is remembered
    pinned: bool
    marked: bool
    waits: bool  # an agent added it, and the user has not accepted it
    written_at: float
    accessed_at: float
    next: str  # what happens next, in words
    operations: list[Offer] = []


class MemoryTierSum(Shape):
    tier: Literal["HOT", "WARM", "COLD", "ARCHIVE"]
    items: int
    tokens: int


class MemoryLevel(Shape):
    """Items of a level below full: how many, their mean tokens and score."""

    level: Literal["summary", "keywords", "embedding"]
    items: int
    mean_tokens: float
    mean_score: float


class MemoryCandidate(Shape):
    id: str
    text: str
    score: float
    accesses: int


class MemoryOverview(Shape):
    """`document`: MEMORY.md as it would be now. `alerts`: what will be deleted soon. `folder`: the project's, "" where it is no longer
    known. `demotion`, `archive`: items that are due to leave HOT, and those that ARCHIVE would take from WARM."""

    project: str
    name: str
    folder: str = ""
    on: bool
    tiers: list[MemoryTierSum]
    levels: list[MemoryLevel]
    demotion: list[MemoryCandidate]
    archive: list[MemoryCandidate]
    items: list[MemoryItem]
    total: int
    alerts: list[str]
    document: str
    document_tokens: int
    document_most: int


class MemoryOperationRequest(StrictModel):
    project: str = Field(max_length=4_000)
    id: str = Field(min_length=1, max_length=400)
