"""What the dashboard's API takes and gives, as pydantic models: the contract between server and page, and the OpenAPI document.

Times are seconds since 1970 (UTC) unless a name says otherwise; tokens are whole numbers, estimated unless a field says otherwise. Words
for people (`words`, `lines`, `sum`) are those of the panel (hooks/utils/views), so page and panel agree to the digit. All answers are
JSON; errors are {"error": what is wrong and what to do}.

| method and path | answer |
|---|---|
| GET /api/me | Me: version, where the data is, the token that changes need |
| GET /api/sessions?limit=&offset=&running=&project=&q= | Sessions |
| GET /api/sessions/{id}?columns= | SessionDetail; the panel in so many columns (60 to 110) |
| GET /api/sessions/{id}/series | Series: the context over time |
| GET /api/sessions/{id}/results/{number} | ResultDetail: why, and what can be done |
| GET /api/sessions/{id}/content/{handle} | Content: what is archived under a handle |
| POST /api/sessions/{id}/deeds | DeedDone; body DeedAsked |
| GET /api/context/status?sessionId= | ContextStatus (context/build_types.py) |
| GET /api/memory/projects | MemoryProjects |
| GET /api/memory?project=&tier=&q=&limit= | MemoryOverview |
| POST /api/memory/deeds | DeedDone; body MemoryDeedAsked |
| GET /api/retention | RetentionOverview: policies, marks, holds, zones, sizes |
| GET /api/retention/log?limit= | RetentionLog |
| POST /api/retention/deeds | DeedDone; body RetentionDeedAsked |
| GET /api/budgets?user= | Budgets |
| GET /api/bill?project= | Bill: what stands before the first word, what the whole was paid for, lost caches |
| GET /api/stats?days= | Stats: what PopKit was worth, by day and project |
| GET /api/changes?since= | Changes: what has changed since a token was given |
"""

from typing import Any, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, model_validator

COLUMNS = 80  # of lines, where a request asks for no other number


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Shape(_Asked):
    @model_validator(mode="before")
    @classmethod
    def _encodable(cls, told: Any) -> Any:
        """Return what is told comes from transcripts and names of files, which can hold halves of characters. No JSON can: a question mark
        stands in the place of each, or nothing of the answer could be sent."""
        return _encodable(told)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, (list, tuple)) else value


class Failure(_Shape):
    """What is wrong, and what to do."""

    error: str


class Me(_Shape):
    """`change_token`: goes into the header X-PopKit-Change of every POST. `database`: where usage is ("SQLite on this machine",
    "PostgreSQL at host"), never with a password. `shared`: whether others write to it too."""

    version: str
    home: str
    database: str
    shared: bool
    change_token: str


class Figures(_Shape):
    """What PopKit did, in four quantities (hooks/utils/policy/figures.py): tokens that were kept out and cleared, dollars that it cost and
    that are left of what it saved (net); None where no price is known. `unpriced`: not all of it had a price."""

    kept_out_tokens: int
    cleared_tokens: int
    saved_usd: Optional[float] = None
    cost_usd: Optional[float] = None
    net_usd: Optional[float] = None
    unpriced: bool = False


# --- sessions --------------------------------------------------------------------------------------------------------------------------


class Fill(_Shape):
    """How full a context is, as in the panel. `window_source`: where the window is known from. `cache`: warm or cold; `cache_until`: when
    it goes cold, None where it is."""

    tokens: int
    window: int
    window_source: Literal["configuration", "client", "transcript", "model", "assumed"]
    ratio: float
    model: str
    cache: Literal["warm", "cold"]
    cache_until: Optional[float] = None


class Verdict(_Shape):
    """What to do now, in the panel's words."""

    kind: Literal["clear", "wait", "full", "resume", "nothing"]
    words: str


class SessionRow(_Shape):
    """A session in the list. `host`: the name of the agent that it is of. `running`: a client has it open. `stamp` changes whenever
    something of it does. What a session that is not open costs too much to know is None. `requests`: of a session that only a database
    tells of, which knows nothing of its tool `calls`."""

    id: str
    project: str
    title: str = ""  # the user's first words, masked and cut
    host: str = "Claude Code"
    user: str = ""  # whose, as a database tells
    here: bool = True  # whether its transcript is on this machine
    shared: bool = False  # whether it is known from a database that others write to
    running: bool
    changed_at: float
    stamp: str
    calls: int = 0
    requests: Optional[int] = None
    context: Optional[Fill] = None
    verdict: Optional[Verdict] = None
    expired_tokens: Optional[int] = None
    reclaimable_now: Optional[int] = None
    reclaimable_cold: Optional[int] = None


class Sessions(_Shape):
    """One page of the list, running ones first, then the newest."""

    sessions: list[SessionRow]
    total: int
    running: int
    projects: list[str]


class Deed(_Shape):
    """Something that can be done: `id` goes back to do it, `label` is for the button, `sum` says what it comes to before it is done."""

    id: str
    label: str
    sum: str
    danger: bool = False


class Layers(_Shape):
    """Tokens of a context by layer: system and current request, memory, files, history."""

    tier1: int = 0
    tier2: int = 0
    tier3: int = 0
    tier4: int = 0


class LayerRule(_Shape):
    """What a layer gets under a strategy, and what it would get under the next tighter one ("" for the same)."""

    layer: str
    now: str
    next: str = ""


class Strategy(_Shape):
    """The strategy of an assembled context: its range of what remains, the used percentage of the budget, how many exchanges of the history
    were `sent`, and the next tighter range with the used percentage that it begins at ("" and None where there is none)."""

    range: str
    used_percent: float
    sent: int
    next_range: str = ""
    next_at_percent: Optional[float] = None
    rules: list[LayerRule]


class Bar(_Shape):
    """One result in the timeline: it came with call `from_call`, and its life ended with `to_call` (None: it lives). `state`: live, expired
    or cleared; `note`: what ended it, in the panel's words. `plan`: clear, hold or keep."""

    number: int
    label: str
    tool: str
    tier: str
    state: Literal["live", "expired", "cleared"]
    tokens: int
    from_call: int
    to_call: Optional[int] = None
    note: str = ""
    pinned: bool = False
    plan: str = ""
    kept_out_tokens: Optional[int] = None  # of one that entered shorter (an estimate)


class KeptWarm(_Shape):
    """Whether the cache is kept warm and how often it was, in `words` too. `sums`: (what it is about, what there is to say) of what that
    costs and is worth."""

    on: bool
    requests: int
    words: str
    sums: list[tuple[str, str]]


class SessionDetail(_Shape):
    """`report`: what `popkit context --json` prints but for its results, which are the `bars`; {} for a session that only a database tells
    of. `lines`: the panel itself. `strategy`: of a session whose contexts were assembled. `ledger`: what was really saved and charged, in
    words."""

    session: SessionRow
    report: dict[str, Any]
    lines: list[str]
    layers: Layers
    strategy: Optional[Strategy] = None
    bars: list[Bar]
    deeds: list[Deed]
    warm: Optional[KeptWarm] = None
    figures: Optional[Figures] = None
    ledger: list[str] = []
    doubt: str = ""


class Point(_Shape):
    """The context as one request sent it. `tiers`: live tokens by retention tier; `expired`: dead tokens still carried."""

    at: float
    request: int
    tokens: int
    tiers: dict[str, int]
    expired: int
    layers: Layers


class Series(_Shape):
    """At most 300 points, oldest first; `compactions` and `clears`: when they were."""

    points: list[Point]
    compactions: list[float] = []
    clears: list[float] = []


class ResultDetail(_Shape):
    """`row`: its row of the report; `why`: the lines of `popkit context why`."""

    row: dict[str, Any]
    why: list[str]
    deeds: list[Deed]
    handle: str = ""


class Content(_Shape):
    """An archived content, as text; `truncated`: characters that are not shown."""

    handle: str
    label: str
    text: str
    truncated: int = 0


class DeedAsked(_Asked):
    """`id`: of a Deed that was offered. `why`: the reason of a hold."""

    id: str = Field(min_length=1, max_length=400)
    why: str = Field(default="", max_length=400)


class DeedDone(_Shape):
    """What came of it, in words."""

    done: bool
    text: str


# --- memory ----------------------------------------------------------------------------------------------------------------------------


class MemoryProject(_Shape):
    project: str
    name: str
    on: bool
    items: int


class MemoryProjects(_Shape):
    projects: list[MemoryProject]


class MemoryItem(_Shape):
    id: str
    kind: str
    text: str
    tier: Literal["HOT", "WARM", "COLD", "ARCHIVE"]
    score: float
    retention: float  # the chance that it is remembered
    pinned: bool
    marked: bool
    waits: bool  # an agent added it, and nobody has said yes
    written_at: float
    accessed_at: float
    next: str  # what comes next, in words
    deeds: list[Deed] = []


class MemoryTierSum(_Shape):
    tier: Literal["HOT", "WARM", "COLD", "ARCHIVE"]
    items: int
    tokens: int


class MemoryLevel(_Shape):
    """Items of a level below full: how many, their mean tokens and score."""

    level: Literal["summary", "keywords", "embedding"]
    items: int
    mean_tokens: float
    mean_score: float


class MemoryCandidate(_Shape):
    id: str
    text: str
    score: float
    accesses: int


class MemoryOverview(_Shape):
    """`document`: MEMORY.md as it would be now. `alerts`: what goes soon. `folder`: where the project is, "" where nobody knows any
    more. `demotion`, `archive`: items that are due to leave HOT, and those that ARCHIVE would take from WARM."""

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


class MemoryDeedAsked(_Asked):
    project: str = Field(max_length=4_000)
    id: str = Field(min_length=1, max_length=400)


# --- retention -------------------------------------------------------------------------------------------------------------------------


class RetentionPolicyShown(_Shape):
    """`values` and what they are in words, as `popkit retention show` prints them, by key (`said`); `sentences`: what they mean."""

    domain: Literal["memory", "rag"]
    revision: int
    values: dict[str, Any]
    said: dict[str, str]
    sentences: list[str]
    words: list[str]
    eligible: int
    marked: int
    held: int


class HoldShown(_Shape):
    """A hold that is in force."""

    id: str
    domain: str
    scope: str
    target: str
    who: str
    why: str
    since: float
    until: Optional[float] = None
    deeds: list[Deed] = []


class Zone(_Shape):
    """A zone of the archive: records, bytes as stored, bytes as they were."""

    name: Literal["hot", "warm", "cold"]
    records: int
    stored_bytes: int
    original_bytes: int


class RetentionOverview(_Shape):
    policies: list[RetentionPolicyShown]
    holds: list[HoldShown]
    zones: list[Zone]
    sizes: dict[str, int]  # what of our folder takes how many bytes; "": what PopKit has not made
    log_whole: bool
    deeds: list[Deed] = []
    problems: list[str] = []


class LogEntry(_Shape):
    number: int
    at: float
    who: str
    action: str
    domain: str
    words: str


class RetentionLog(_Shape):
    entries: list[LogEntry]
    total: int


class RetentionDeedAsked(_Asked):
    """A deed that was offered, or `hold`: then `session` and `why` say of which session and why, `until` how long."""

    id: str = Field(min_length=1, max_length=400)
    session: str = Field(default="", max_length=400)
    why: str = Field(default="", max_length=400)
    until: Optional[float] = None


# --- budgets and what it was worth -----------------------------------------------------------------------------------------------------


class BudgetShown(_Shape):
    """One limit. `used_percent` is what people see; `remaining_percent` is what chooses the strategy. `unit`: tokens or usd."""

    scope: Literal["session", "month"]
    of: str  # a session's id, or a user
    unit: Literal["tokens", "usd"]
    used: float
    limit: float
    remaining: float
    used_percent: float
    remaining_percent: float
    range: str


class UsageDay(_Shape):
    """`usd`: None where no price is known for anything of the day; `unpriced`: requests whose price is not known."""

    day: str  # YYYY-MM-DD, local
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    usd: Optional[float] = None
    unpriced: int = 0


class Budgets(_Shape):
    """`configured`: the limits that are set, by their names in the configuration; `limits`: how they stand, those of a session for
    sessions that have used something. `how`: how to set one. `usage`: of each of the last 30 days, today the last, by `user` ("": by
    everybody)."""

    configured: dict[str, float]
    limits: list[BudgetShown]
    user: str
    usage: list[UsageDay]
    users: list[str]
    how: str


class BillRow(_Shape):
    """A row of a bill in words; `used`: when it was last, "" where that cannot be told; `parts`: the rows that it opens to."""

    words: str
    used: str
    parts: list["BillRow"]


class BillPhrases(_Shape):
    """A bill in words, in its order: what stands (`rows`), what the conversations were made of (`kinds`), `proposals`, `drafts` of skills
    [words, what to run], what is `hidden`; `parts` of the whole by name; `unknown`: why there are no rows, and how to get them."""

    rows: list[BillRow]
    kinds: list[BillRow]
    proposals: list[str]
    drafts: list[list[str]]
    hidden: list[str]
    parts: dict[str, str]
    unknown: str


class Bill(_Shape):
    """`reading`: the share of the changed transcripts that has been read, None when all have; until then the rest is of what was known
    before. `bill`: as `popkit bill --json`, of `project`; None before anything is known. `misses`: as `popkit misses --json`, over all
    projects; `causes`: cause -> [what happened, what would prevent it]. `projects`: the newest first."""

    reading: Optional[float] = None
    project: str = ""
    projects: list[str] = []
    bill: Optional[dict[str, Any]] = None
    misses: Optional[dict[str, Any]] = None
    phrases: Optional[BillPhrases] = None
    causes: dict[str, list[str]] = {}


class WorthDay(Figures):
    day: str


class WorthProject(_Shape):
    project: str
    sessions: int
    figures: Figures


class Stats(_Shape):
    """`headline` and `lines`: what `popkit context stats` says. `figures`: of all sessions there were · `saved_by_usd` by gain and
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


# --- what has changed ------------------------------------------------------------------------------------------------------------------


class Changes(_Shape):
    """What may be answered otherwise since a token was given. `changed`: how the addresses of such answers begin; "/api/sessions?" is the
    list, "/api/sessions/ID" a session with all that is below it. `everything`: any may, and `changed` says nothing: nobody gave a token, or
    one of another start, or too much has changed. `token`: asks for what changes from now on; `at`: the time here."""

    token: str
    at: float
    everything: bool
    changed: list[str]
