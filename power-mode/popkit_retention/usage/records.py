"""What is booked: the tokens and dollars of requests, and snapshots of how contexts were assembled, without any of their contents. Pure."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.policy.masking import mask
from hooks.utils.state.days import day_of

if TYPE_CHECKING:
    from hooks.utils.policy.models import Model

# Who tells of a request: a client of ours that sent it; the transcript that the host wrote; the journal, of what the code inside the host
# sent to keep the prompt cache warm, which no transcript tells.
CLIENT, TRANSCRIPT, MOD = "client", "transcript", "mod"
DAY_S = 86_400.0
KEPT_DAYS = 400  # of usage: longer than a month's limit and a chart of a year look back
_MILLION = 1e6
_LEAST_ID_CHARS = 20
_LONGEST = 400  # characters of a name from outside


class Tokens(NamedTuple):
    """Tokens of a request, as the provider counts them; `input` is what was neither read from the cache nor written to it."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0


class Used(NamedTuple):
    """What one request used. `at`: seconds since 1970; `usd`: None where its price is not known."""

    source: str
    request_id: str
    session_id: str
    user_id: str
    model: str
    at: float
    tokens: Tokens
    usd: float | None
    project: str = ""


class Sum(NamedTuple):
    """What requests used together. `usd`: of those whose price is known; `unpriced`: requests whose price is not."""

    requests: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """All tokens: what went in, from the cache or not, and what came out."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class SessionUsed(NamedTuple):
    """What one session used; `at`: its newest request (seconds since 1970)."""

    session_id: str
    user_id: str
    project: str
    at: float
    used: Sum


class Snapshot(NamedTuple):
    """How one context was assembled. `tier_breakdown`, `pruning_strategy`: as JSON, in the specification's words; `created_at`: seconds
    since 1970; `counted`: whether its tokens are exact or an estimate."""

    id: str
    session_id: str
    user_id: str
    tier_breakdown: dict[str, Any]
    total_tokens: int
    budget_percent: float  # used: what people see
    pruning_strategy: dict[str, Any]
    created_at: float
    budget_remaining_percent: float
    full_tokens: int
    model: str = ""
    project: str = ""
    agent: str = ""
    counted: str = "estimate"


def name_of(name: str) -> str:
    """Return a name from outside as it is stored: one that a database can hold, secrets masked, not too long."""
    return mask(name[:_LONGEST].encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd"))


def usd_of(model: Model, tokens: Tokens) -> float | None:
    """Return the dollars that a request cost at the prices of the table of models; None where it does not name them."""
    written = tokens.cache_write_5m * model.write_5m + tokens.cache_write_1h * model.write_1h
    prompt = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
    input_usd, output_usd = model.usd(prompt)
    if input_usd is None or output_usd is None:
        return None
    return ((tokens.input + tokens.cache_read * model.read + written) * input_usd + tokens.output * output_usd) / _MILLION


def request_id(answer: str) -> str:
    """Return what a client books an answer under: the provider's own id of it, by which a transcript knows it too; a new one where there
    is none, or one so short that it may be only a number."""
    return answer if len(answer) >= _LEAST_ID_CHARS else str(uuid.uuid4())


def warmed_id(session_id: str, at: float) -> str:
    """Return what a request that kept the cache warm is booked under; `at`: when it was sent (seconds since 1970)."""
    return f"{session_id}@{round(at * 1000)}"


def month_of(at: float) -> str:
    """Return the first day of the month that a time (seconds since 1970) is in, here: "2026-11-01"."""
    return day_of(at)[:8] + "01"
