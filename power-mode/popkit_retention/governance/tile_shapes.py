"""The shapes of the dashboard's API for the retention of stored data."""

from typing import Literal, Optional

from pydantic import Field

from ..dashboard.shapes import Offer, Shape, StrictModel


class RetentionPolicyShown(Shape):
    """`values`, and the same in words, as `popkit retention show` prints them, by key (`said`); `sentences`: what they mean."""

    domain: Literal["memory", "rag"]
    revision: int
    values: dict[str, object]
    said: dict[str, str]
    sentences: list[str]
    words: list[str]
    eligible: int
    marked: int
    held: int


class HoldShown(Shape):
    """A hold that is in force."""

    id: str
    domain: str
    scope: str
    target: str
    who: str
    why: str
    since: float
    until: Optional[float] = None
    operations: list[Offer] = []


class Zone(Shape):
    """A zone of the archive: records, bytes as stored, bytes as they were."""

    name: Literal["hot", "warm", "cold"]
    records: int
    stored_bytes: int
    original_bytes: int


class RetentionOverview(Shape):
    policies: list[RetentionPolicyShown]
    holds: list[HoldShown]
    zones: list[Zone]
    sizes: dict[str, int]  # name of a store -> bytes in our folder; "" is for files that PopKit did not make
    log_whole: bool
    operations: list[Offer] = []
    problems: list[str] = []


class LogEntry(Shape):
    number: int
    at: float
    who: str
    action: str
    domain: str
    words: str


class RetentionLog(Shape):
    entries: list[LogEntry]
    total: int


class RetentionOperationRequest(StrictModel):
    """`id`: of an Offer, or `hold`: then `session`, `why` and `until` are the session, the reason and the end of the hold."""

    id: str = Field(min_length=1, max_length=400)
    session: str = Field(default="", max_length=400)
    why: str = Field(default="", max_length=400)
    until: Optional[float] = None
