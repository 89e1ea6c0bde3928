"""The types of data that the policy hands up, for mypy alone. Tokens are whole numbers, times seconds, money dollars."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

WindowSource = Literal["configuration", "client", "compaction", "transcript", "model", "assumed"]


class UseRow(TypedDict):
    tool_use_id: str
    tool: str
    input: dict[str, Any]


class ShownRow(TypedDict):
    tool_use_id: str
    text: str
    isError: bool


class _Message(TypedDict):
    role: str
    text: str
    toolUses: list[UseRow]
    toolResults: list[ShownRow]


class MessageRow(_Message, total=False):
    """A message, as the host takes it and the archive keeps it; of a list in another one also the handles of those that it `holds`, and
    where it stood (`list_places.marks_of`)."""

    holds: list[str]
    before: list[Any]


class Sums(TypedDict):
    """A number of results, and their tokens."""

    items: int
    tokens: int


class Removals(Sums):
    """The removals of a plan: `items`, the results that are known to leave; `tokens` of everything that leaves, estimated, `further` of
    which belong to the least needed: other results, and calls."""

    further: int


class Context(TypedDict):
    """The fill of a context, and the source of its window's size. `measured`: whether a request has shown its tokens; if not, they are an
    estimate of what a compaction left."""

    tokens: int
    measured: bool
    window: int
    window_source: WindowSource
    ratio: float
    model: str
    cache: Literal["warm", "cold"] | None
    cache_seconds_left: int


class Agent(TypedDict):
    """A subagent's context."""

    agent: str
    calls: int
    live: Sums
    expired: Sums


class Verdict(TypedDict):
    """The advice for now: `tokens` and `items` that would leave, `thinking` tokens that leave too, `pays_after` (requests, 0 at once),
    `wait_s` (until the cache is cold, None for no wait), `usd` that it saves with a cold cache (None where that is not known), `expired`
    (results)."""

    kind: Literal["clear", "wait", "full", "noted", "returning", "nothing"]
    items: int
    tokens: int
    thinking: int
    pays_after: int | None
    wait_s: int | None
    usd: float | None
    expired: int


class WeighedResult(TypedDict):
    """The decision of a plan about a result: `action` (clear, hold, keep), `reason` (plans.REASONS), the tokens that would leave
    (`gain`), the chance that it is needed again, what its going is worth in units; None where that was not asked."""

    action: str
    reason: str
    gain: int
    need: float | None
    value: float | None


class KindRow(TypedDict, total=False):
    """A part of conversations: a kind of composition.py, `result` of the tool of this `name`, or `server` for the tools of an MCP server,
    its `parts` · `tokens` over all requests · `used`: [times, when last] of calls, None for all but results."""

    kind: str
    name: str
    tokens: int
    parts: list[KindRow]
    usd: float
    used: list[float] | None


class Figures(TypedDict, total=False):
    """The figures of what PopKit did, see figures.py. `saved_by_usd`: by gain. `unpriced`: something was saved or charged at an unknown
    price, which no money here holds; where nothing had a price, all money is None."""

    kept_out_tokens: int
    cleared_tokens: int
    cost_usd: float | None
    net_usd: float | None
    saved_usd: float | None
    saved_by_usd: dict[str, float | None]
    unpriced: bool


class LedgerFigures(Figures, total=False):
    """The figures of a whole ledger, with costs by cause, what compactions were worth by part (ledger.COMPACTION_PARTS), and how often and
    how much of everything there was; {} of an empty one."""

    cost_by_usd: dict[str, float | None]
    compactions_usd: dict[str, float | None]
    kept_out_results: int
    cleared_results: int
    pending_tokens: int
    clears: int
    confirmed: int
    undone: int
    restored: int
    refetched: int
    advice_tokens: int
    memory_tokens: int
    spared: int
    spared_compactions: int


class Sum(TypedDict):
    """The costs and the gains of a clear, see economics.Sum."""

    leaves: int
    rewritten: int
    warm: bool
    share: float
    cost_now: float
    saved_now: float
    saved_per_request: float
    pays_after: int | None
    thinking: int
    thinking_cost: float
    model: str
    read: float
    write: float
    cache_ttl_s: float


class Period(Figures, total=False):
    """The figures since a day, by the local calendar; "" for all there is."""

    since: str
