"""The shapes of usage in the dashboard's API."""

from typing import Literal, Optional

from ..dashboard.shapes import Shape


class BudgetShown(Shape):
    """A limit. `used_percent` is shown; `remaining_percent` selects the strategy."""

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
