"""The types of the views' data, for mypy alone. `--json` prints it, so its keys are stable. Token figures are estimates times
the calibration of the session, times are seconds."""

from __future__ import annotations

from typing import Literal, TypedDict

from ..policy.shapes import Agent, Context, KindRow, LedgerFigures, Removals, Sum, Sums, Verdict, WeighedResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.hidden_tools import HiddenTool


class ShownFile(TypedDict):
    """A file that a result shows, of a live one what nothing newer shows. `lines`: all, part, or intervals."""

    path: str
    lines: str


class Expiry(TypedDict):
    """The next ending of a live result. `on` holds edit, commit, rerun, repeat, reread, success, newer, session_end, manual, unpin;
    `held_until`: the call before which a restored one does not end."""

    at_call: int | None
    calls_left: int | None
    seconds_left: int | None
    on: list[str]
    held_until: int | None


class Ending(TypedDict):
    """The ending of a result: its trigger, its call and time, the id and number of the call that caused it."""

    trigger: str
    at_call: int
    at: float
    by: str
    by_number: int | None
    reasons: list[str]


class PlannedResult(WeighedResult):
    """A clear's decision about a result in the context; `cold`: its action once the cache is cold."""

    cold: str | None


class ShortEntry(TypedDict):
    """A result's shortened entry: tokens kept out, the handle of the archived whole, numbers of the results that it leans on."""

    kept_out_tokens: int
    handle: str
    leans_on: list[int]
    reasons: list[str]


class _ResultOfAnyState(TypedDict):
    id: str
    number: int
    label: str
    tool: str
    kind: str
    tier: str
    basis: str
    tokens: int
    at: float
    turn: int
    age: int
    quiet_age: int
    error: bool
    verdict: str
    shows: list[ShownFile]
    subjects: list[str]
    state: Literal["live", "expired", "cleared"]
    pinned_by: str
    plan: PlannedResult | None
    entered: ShortEntry | None


class ResultRow(_ResultOfAnyState, total=False):
    """A result. `plan`: None for one that is not in the context; `entered`: None for what entered whole. A live one has `expires`; any
    other `ended`, and the `handle` of what is archived of it."""

    expires: Expiry
    ended: Ending
    handle: str


class NextExpiration(TypedDict):
    """The live result of a tier that ends first by its lifetime."""

    number: int
    calls_left: int | None
    seconds_left: int | None


class Endings(TypedDict):
    """The possible endings of a tier's live results: the first by lifetime, events, the runs that would end them, kind -> live results."""

    soonest: NextExpiration | None
    on: list[str]
    names: list[str]
    kinds: dict[str, int]


class Tier(TypedDict):
    live: Sums
    expired: Sums
    next: Endings


class PartialReads(TypedDict):
    """A file shown in part by several live results: the lines that they show together, their numbers."""

    path: str
    lines: str
    reads: list[int]


class Reclaimable(TypedDict):
    """The tokens that leave now, and once the cache is cold, placeholders subtracted."""

    now: Removals
    cold: Removals


class HostReductions(TypedDict):
    """Results of the context that the host has shortened itself: left out of requests, written to files, reads that it answered with
    "unchanged". None of them is a saving of ours."""

    cleared: int
    in_files: int
    unchanged: int


class Report(TypedDict):
    """A context. `profile_source`: session or configuration · `context`: None before the first request · `calibration`: tokens for one that
    is estimated, of which `scaled` is what the session's own usage shows beyond what its model is known for, 1.0 where that was not
    measured · `expired`: still in the context · `cleared`: archived, with a placeholder in its place · `figures`: what PopKit did in this
    session, its subagents included; {} where nothing was ever booked · `compacted`: results that have left, whole or in part, by whatever ·
    `compactions`: by the host or instead of it, without clears and their undos; None without a transcript · `abandoned`: results on a
    rewound branch · `results` by number · `doubt`: what of the transcript is not understood, so that PopKit does not change it."""

    schema: int
    session: str
    host: str
    project: str
    transcript: str
    enabled: bool
    profile: str
    profile_source: str
    calls: int
    turns: int
    at: float
    context: Context | None
    calibration: float
    scaled: float
    tiers: dict[str, Tier]
    expired: Sums
    reclaimable: Reclaimable
    cleared: Sums
    by_host: HostReductions
    figures: LedgerFigures
    compactions: int | None
    compacted: int
    abandoned: int
    pins: list[str]
    configured_pins: list[str]
    agents: list[Agent]
    partial_reads: list[PartialReads]
    results: list[ResultRow]
    doubt: str
    verdict: Verdict


class ClearedRow(TypedDict):
    """A result that goes: of its row what names it, and the chance that it is needed again."""

    id: str
    number: int
    label: str
    tool: str
    tier: str
    kind: str
    tokens: int
    state: str
    need: float | None


class ColdRemovals(Removals):
    """The removals once the cache is cold."""

    pays_after: int | None
    usd: float | None


class Clear(TypedDict):
    """The effect of a clear, done or planned. `tier`, `ids`, `pattern`, `now`: what was asked for · `items`: results that are known to
    leave · `further`: of the `tokens` those of what is needed least · `pictures`: numbers of those that show more than text, `shown`: how
    many pictures and documents of the person's leave, too; an undo puts neither back · `usd`: dollars that it saves, None where it leaves
    no cold cache · `later`: it begins as the session is resumed · `kept`: reason -> what of the expired stays, or was named and is pinned ·
    `wait_s`: until the cache is cold."""

    cleared: bool
    later: bool
    dry_run: bool
    tier: str | None
    ids: list[str]
    pattern: str | None
    now: bool
    items: int
    tokens: int
    further: int
    thinking: int
    profile: str
    pays: bool
    likely_requests: int
    usd: float | None
    sum: Sum
    cold: ColdRemovals
    wait_s: int
    pictures: list[int]
    shown: int
    results: list[ClearedRow]
    kept: dict[str, Sums]
    session: str
    verdict: Verdict


class AutoCompaction(TypedDict):
    """Whether the conversation compacts between turns (`setting`: on, off, ask), whether its cache is cold, the estimated tokens that would
    leave now, and the dollars that this saves, or after how many requests it pays. `auto_misses`: look-ups because of PopKit that there may
    be in 100 requests; `look_ups`: those that there have been in so many `requests`; `stays`: the share of the conversation that stays for
    that at least when it compacts by itself, 1 where that waits."""

    setting: str
    is_cold: bool
    tokens: int
    usd: float | None
    pays_after: int | None
    auto_misses: float
    look_ups: int
    requests: int
    stays: float


class MemorySwitch(TypedDict):
    """The effect of `memory on` and `memory off` for a project; `tokens` that MEMORY.md may have."""

    on: bool
    changed: bool
    project: str
    folder: str
    tokens: int
    store: str
    summariser: str


class LossWay(TypedDict):
    """A way back to a lost text: the number of the `line` of the transcript that has it, None where that has no lines, the `entry` there,
    and the `handle` under which it is archived, "" for none."""

    line: int | None
    entry: str
    handle: str


class LossRow(TypedDict):
    """A row of what a compaction lost (policy/losses.py): its `kind`, its `label`, the lost `words`, how many are lost, the ways."""

    kind: str
    label: str
    words: list[str]
    count: int
    ways: list[LossWay]


class CompactionLosses(TypedDict):
    """The losses of a compaction: where it is (`transcript`, `line`), of which host, its time, whether a person `asked` for it, `why`
    PopKit did it ("" where it did not), whether it was `without_model`, whether its summary is only `partly_known`, the tokens before it
    (0: unknown), how many sentences, open errors, names and lines are lost, and the first rows of the list."""

    transcript: str
    host: str
    line: int | None
    at: float
    asked: bool | None
    why: str
    without_model: bool
    partly_known: bool
    tokens: int
    sentences: int
    errors: int
    names: int
    lines: int
    rows: list[LossRow]


class StatusFacts(TypedDict, total=False):
    """The facts for a status line: the `ratio` of the window that is full; tokens that a clear removes by its last plan, `now` and once the
    cache is `cold`, or else only what has `expired`; `limits` of the plan, in words."""

    ratio: float | None
    is_estimated: bool
    now: int
    cold: int
    expired: Sums
    cache_seconds_left: int | None
    limits: str


class PromptRow(TypedDict, total=False):
    """A row of the prompt before the first word. `tokens`: in each, 0 for what is `deferred`, whose size is `on_demand` · `used`: [times,
    when last], None where that is unknown · `key`: what hides a server or tool, "" where nothing does · `server` of a tool, `source` of a
    file, `level` of a section in it."""

    kind: str
    name: str
    tokens: int
    used: list[float] | None
    parts: list[PromptRow]
    deferred: bool
    on_demand: int
    key: str
    server: str
    source: str
    level: int


class Problem(TypedDict):
    why: str
    at: float


class Breakdown(TypedDict):
    """The client's breakdown that the rows are from: what of it was not understood (`missing`), and the `problem` of a newer one."""

    at: float | None
    session: str | None
    model: str | None
    missing: list[str] | None
    problem: Problem | None


class Pace(TypedDict):
    """The cost of a token in each prompt: `usd` and `requests` a month, `unpriced` of them of models without a known price. Some hours do
    not show a month's pace: unless it `is_told`, requests are only counted."""

    usd: float
    requests: int
    unpriced: int
    is_told: bool


class AddedRow(TypedDict):
    """An addition of a host, and how much of it while the same stood in the prompt."""

    name: str
    times: int
    tokens: int
    times_again: int
    tokens_again: int


class BillTotal(TypedDict):
    """The payment for requests, by part. `parts`: name -> dollars; their sum is `usd` · `kinds` of what the part `conversation` was made of
    · `unpriced`: requests of models without a known price, whose dollars are in no sum."""

    usd: float
    parts: dict[str, float]
    kinds: list[KindRow]
    added: list[AddedRow]
    requests: int
    sessions: int
    hosts: list[str]
    unpriced: int


class Lifetime(TypedDict):
    """The lifetime of the cache that `pays`: 5m, 1h, "" where they cost nearly the same · `share` of the dearer bill that it saves ·
    `usd_per_month`: None where dollars are unknown or mean nothing · `has`: of the newest session · `pauses` that only an hour bridges."""

    pays: str
    share: float
    usd_per_month: float | None
    has: str
    requests: int
    pauses: int
    days: float


class Draft(TypedDict):
    """A section of a `file` that could be a skill."""

    name: str
    file: str
    tokens: int


class Messages(TypedDict):
    """The messages of the newest session: as its host counted them since the last request, else estimated."""

    is_counted: bool
    rows: list[KindRow]


class Bill(TypedDict):
    """A project's bill. `rows`: [] where the client has not said · `first_prompt`: tokens before the first word
    of the newest session · `cache_lifetime` of `main` threads and `subagents`, None where too few requests tell · `proposals`: rows that
    could go · `prices_of`: the month of the prices."""

    project: str
    since: float
    rows: list[PromptRow]
    tokens: int
    estimated: Breakdown
    first_prompt: int | None
    pace: Pace
    whole: BillTotal
    cache_lifetime: dict[str, Lifetime | None]
    proposals: list[PromptRow]
    drafts: list[Draft]
    hidden: dict[str, HiddenTool]
    prices_of: str
    messages: Messages


class Part(TypedDict):
    """The usage of a session's main thread, or of all its `subagents`; `share`: of all dollars."""

    session: str
    cwd: str
    subagents: bool
    used: dict[str, int]
    tokens: int
    usd: float | None
    share: float | None


class Consumption(TypedDict):
    """The use of a window. `used`: plain, read, written, output · `unpriced`: tokens of models without a known price · `sources` of all
    tokens, `kinds` of those of conversations."""

    used: dict[str, int]
    tokens: int
    usd: float
    unpriced: int
    sources: dict[str, int]
    kinds: list[KindRow]
    parts: list[Part]


class WindowUse(TypedDict):
    """The fill of a window of the plan, as read `at`; `began` and `took` are None where the reading does not tell when it began."""

    kind: str
    percent: float
    at: float
    percent_per_hour: float | None
    full_at: float | None
    resets_at: float | None
    began: float | None
    took: Consumption | None


class PlanLimits(TypedDict):
    last_reading_at: float | None
    prices_of: str
    windows: list[WindowUse]
