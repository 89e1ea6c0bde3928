"""The shapes of the dashboard's API for stored data: memory, retention, budgets, the bill, the savings. See `shapes.py`."""

from typing import Any, Literal, Optional

from pydantic import Field

from .shapes import Figures, Offer, Shape, Strict

# --- memory ---


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


class MemoryOperationRequest(Strict):
    project: str = Field(max_length=4_000)
    id: str = Field(min_length=1, max_length=400)


# --- retention ---


class RetentionPolicyShown(Shape):
    """`values`, and the same in words, as `popkit retention show` prints them, by key (`said`); `sentences`: what they mean."""

    domain: Literal["memory", "rag"]
    revision: int
    values: dict[str, Any]
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


class RetentionOperationRequest(Strict):
    """`id`: of an Offer, or `hold`: then `session`, `why` and `until` are the session, the reason and the end of the hold."""

    id: str = Field(min_length=1, max_length=400)
    session: str = Field(default="", max_length=400)
    why: str = Field(default="", max_length=400)
    until: Optional[float] = None


# --- budgets and savings ---


class BudgetShown(Shape):
    """One limit. `used_percent` is shown; `remaining_percent` selects the strategy. `unit`: tokens or usd."""

    scope: Literal["session", "month"]
    of: str  # a session's id, or a user
    unit: Literal["tokens", "usd"]
    used: float
    limit: float
    remaining: float
    used_percent: float
    remaining_percent: float
    range: str


class UsageDay(Shape):
    """`usd`: None where no price is known for the day; `unpriced`: requests whose price is not known."""

    day: str  # YYYY-MM-DD, local
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    usd: Optional[float] = None
    unpriced: int = 0


class Budgets(Shape):
    """`configured`: the limits that are set, by their names in the configuration; `limits`: each with its use, those of a session for
    sessions with usage. `how`: how to set one. `usage`: of each of the last 30 days, today the last, by `user` ("": by everybody)."""

    configured: dict[str, float]
    limits: list[BudgetShown]
    user: str
    usage: list[UsageDay]
    users: list[str]
    how: str


class BillRow(Shape):
    """A row of a bill in words; `used`: its last use, "" where that is unknown; `parts`: the rows inside it."""

    words: str
    used: str
    parts: list["BillRow"]


class BillPhrases(Shape):
    """A bill in words, in its order: what prompts contain before the first word (`rows`), what the conversations were made of (`kinds`),
    `proposals`, `drafts` of skills [words, what to run], what is `hidden`; `parts` of the whole by name; `lifetime` of the cache that
    pays, and the lines that set it (`lifetime_settings`); `unknown`: why there are no rows, and how to get them."""

    rows: list[BillRow]
    kinds: list[BillRow]
    proposals: list[str]
    drafts: list[list[str]]
    hidden: list[str]
    parts: dict[str, str]
    lifetime: list[str]
    lifetime_settings: list[str]
    unknown: str


class Bill(Shape):
    """`reading`: the share of the changed transcripts that has been read, None when all have been; until then, the rest is from the earlier
    digests. `bill`: as `popkit bill --json`, of `project`; None before anything is known. `misses`: as `popkit bill misses --json`, over
    all projects; `causes`: cause -> [what happened, what would prevent it]. `projects`: the newest first."""

    reading: Optional[float] = None
    project: str = ""
    projects: list[str] = []
    bill: Optional[dict[str, Any]] = None
    misses: Optional[dict[str, Any]] = None
    phrases: Optional[BillPhrases] = None
    causes: dict[str, list[str]] = {}


class WorthDay(Figures):
    day: str


class WorthProject(Shape):
    project: str
    sessions: int
    figures: Figures


class Stats(Shape):
    """`headline` and `lines`: what `popkit context stats` says. `figures`: of all sessions ever · `saved_by_usd` by gain and
    `cost_by_usd` by cause, in dollars, None where no price is known; `gains` and `causes`: what people call each."""

    headline: str
    lines: list[str]
    days: list[WorthDay]
    projects: list[WorthProject]
    figures: Figures
    saved_by_usd: dict[str, Optional[float]]
    cost_by_usd: dict[str, Optional[float]]
    gains: dict[str, str]
    causes: dict[str, str]
