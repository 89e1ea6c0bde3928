"""What views are drawn from beside the report, as types: mypy alone loads this. `--json` prints them, so their keys are stable."""

from __future__ import annotations

from typing import Any, TypedDict

from ..policy.shapes import Share, Sum, Sums, Verdict

# --- a clear ---------------------------------------------------------------------------------------------------------------------------


class ClearedRow(TypedDict):
    """A result that goes: of its row what names it, the chance that it is needed again, its handle once it is archived."""

    id: str
    number: int
    label: str
    tool: str
    tier: str
    kind: str
    tokens: int
    state: str
    need: float | None
    handle: str | None


class OnceCold(Sums):
    """What would go once the cache is cold."""

    pays_after: int | None


class Clear(TypedDict):
    """What a clear did or would do. `tier`, `ids`, `pattern`, `now`: what was asked for · `planned_tokens`: by the plan, of which `tokens`
    are what left · `share`: of a window of the plan that it is worth ·
    `kept`: reason -> what of the expired stays, or was named and is pinned · `wait_s`: until the cache is cold ·
    `original`: the transcript as it was · `in_place`: the running conversation is changed, not its transcript."""

    cleared: bool
    dry_run: bool
    in_place: bool
    tier: str | None
    ids: list[str]
    pattern: str | None
    now: bool
    items: int
    tokens: int
    planned_tokens: int
    thinking: int
    profile: str
    pays: bool
    likely_requests: int
    sum: Sum
    share: Share | None
    cold: OnceCold
    wait_s: int
    results: list[ClearedRow]
    kept: dict[str, Sums]
    session: str
    original: str | None
    trouble: str
    verdict: Verdict


# --- the prompt cache ------------------------------------------------------------------------------------------------------------------


class Costs(TypedDict):
    """Tokens of input that cost as much; dollars, None where the price is not known; the share of a window of the plan, None where
    nobody knows."""

    tokens: int
    usd: float | None
    share: Share | None


class WarmLimits(TypedDict):
    """What is allowed: requests in a row, dollars a session."""

    requests: int
    usd: float


class WarmPast(TypedDict):
    """What keeping it warm would have cost and saved in the user's own sessions. `known`: whether anybody has looked; `hour`: sessions
    whose cache lasts an hour."""

    known: bool
    sessions: int
    hour: int
    breaks: int
    bridged: int
    requests: int
    paid_usd: float
    saved_usd: float


class WarmSent(TypedDict):
    """What was sent in this session."""

    requests: int
    in_a_row: int
    usd: float


class KeptWarm(TypedDict("From", {"from": str})):
    """Whether the prompt cache is kept warm, `from` the session or the configuration · `refused`: why it cannot be switched on, "" where it
    can · `one`: what one request costs, `bridged`: what the request after a break then costs less · `most`: requests in a row that are
    allowed · `last`: a journal entry · `next_s`: None for none · `ended`: why nothing is sent, "" where that is not so; `about` what."""

    on: bool
    refused: str
    model: str
    lifetime_s: float
    every_s: int
    prompt_tokens: int
    one: Costs
    bridged: Costs
    most: int
    limits: WarmLimits
    past: WarmPast
    sent: WarmSent
    last: dict[str, Any] | None
    next_s: int | None
    ended: str
    about: str


class CompactsCold(TypedDict):
    """Whether the conversation compacts once the prompt cache is cold (`setting`: on, off, ask), whether it is, and what would leave
    now; `share` of a window of the plan, None where nobody knows."""

    setting: str
    is_cold: bool
    tokens: int
    usd: float | None
    share: Share | None
    ids: list[str]


# --- memory ----------------------------------------------------------------------------------------------------------------------------


class Switched(TypedDict):
    """What came of `memory on` and `memory off` for a project; `tokens` that MEMORY.md may have."""

    on: bool
    changed: bool
    project: str
    folder: str
    tokens: int
    store: str
    summariser: str
