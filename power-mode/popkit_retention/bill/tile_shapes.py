"""The shapes of the dashboard's API for the bill."""

from typing import Optional

from ..dashboard.shapes import Shape


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
    bill: Optional[dict[str, object]] = None
    misses: Optional[dict[str, object]] = None
    phrases: Optional[BillPhrases] = None
    causes: dict[str, list[str]] = {}
