"""The records of usage: tokens and dollars of requests, their sums, snapshots of contexts (without their contents). Pure."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from popkit_retention.core.io.system import day_of
from popkit_retention.core.policy.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.models import Model


# The sources of a request's record: a client of ours that sent it, or a transcript of the host.
CLIENT, TRANSCRIPT = "client", "transcript"
DAY_S = 86_400.0
KEPT_DAYS = 400  # of usage: longer than a month's limit and a chart of a year look back
_MILLION = 1e6
_LEAST_ID_CHARS = 20
_LONGEST = 400  # characters of an external name


class Tokens(NamedTuple):
    """Tokens of a request as the provider counts them; `input`: neither read from the cache nor written to it."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0


class RequestUsage(NamedTuple):
    """The usage of one request. `at`: seconds since 1970; `usd`: None where its price is not known."""

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
    """The usage of several requests. `usd`: of those whose price is known; `unpriced`: requests whose price is not."""

    requests: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Return all tokens: input, cached or not, and output."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class SessionUsage(NamedTuple):
    """The usage of one session; `at`: its newest request (seconds since 1970)."""

    session_id: str
    user_id: str
    project: str
    at: float
    used: Sum


class Snapshot(NamedTuple):
    """The composition of an assembled context. `tier_breakdown`, `pruning_strategy`: JSON in the specification's terms; `created_at`:
    seconds since 1970; `counted`: whether its tokens are exact or an estimate."""

    id: str
    session_id: str
    user_id: str
    tier_breakdown: dict[str, object]
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
    """Return an external name as it is stored: valid in every database, secrets masked, shortened."""
    return mask(name[:_LONGEST].encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd"))


def usd_of(model: Model, tokens: Tokens) -> float | None:
    """Return a request's cost in dollars at the prices of the table of models; None where it has none."""
    written = tokens.cache_write_5m * model.write_5m + tokens.cache_write_1h * model.write_1h
    prompt = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
    input_usd, output_usd = model.usd(prompt)
    if input_usd is None or output_usd is None:
        return None
    return ((tokens.input + tokens.cache_read * model.read + written) * input_usd + tokens.output * output_usd) / _MILLION


def request_id(answer: str) -> str:
    """Return the id under which a client records an answer: the provider's, which transcripts have too; a new one where there is none, or
    one so short that it may be only a number."""
    return answer if len(answer) >= _LEAST_ID_CHARS else str(uuid.uuid4())


def month_of(at: float) -> str:
    """Return the first day of the local month of a time (seconds since 1970), such as "2026-11-01"."""
    return day_of(at)[:8] + "01"
