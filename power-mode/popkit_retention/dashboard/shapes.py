"""The shapes that all parts of the dashboard's API share, as pydantic models: the contract between server, page and OpenAPI document.

Times are seconds since 1970 (UTC) unless a name says otherwise; tokens are whole numbers, estimated unless a field says otherwise. Words
for people (`words`, `lines`, `sum`) are those of the panel (hooks/utils/views), so page and panel agree to the digit. All answers are
JSON; errors are {"error": what is wrong and what to do}. A tile has shapes of its own.
"""

from typing import Any, Optional

from pydantic import BaseModel, ConfigDict, Field, model_validator

from popkit_retention.core.errors import PopkitError

COLUMNS = 80  # of lines, unless a request sets another number


class StrictModel(BaseModel):
    """A model without fields beyond its own."""

    model_config = ConfigDict(extra="forbid")


class Shape(StrictModel):
    """An answer."""

    @model_validator(mode="before")
    @classmethod
    def _encodable(cls, value: Any) -> Any:
        """Replace halves of characters, which transcripts and names of files can hold, by question marks: no JSON can be sent with them."""
        return _encodable(value)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, (list, tuple)) else value


class Failure(Shape):
    """A failure, with the way out of it."""

    error: str


class Problem(PopkitError):
    """Nothing was changed; the message says what is wrong, and what to do. `status`: of HTTP."""

    status = 400


class NotFound(Problem):
    """There is nothing by that name."""

    status = 404


class NotOffered(Problem):
    """The operation is not offered, or no longer offered, because something has changed."""

    status = 409


class StoreUnusable(Problem):
    """A store that the answer needs cannot be used now."""

    status = 503


class Me(Shape):
    """`change_token`: goes into the header X-PopKit-Change of every POST. `database`: where usage is stored ("SQLite on this machine",
    "PostgreSQL at host", "" for nowhere), never with a password. `shared`: whether others write to it, too. `views`: those that the page
    can show."""

    version: str
    home: str
    database: str
    shared: bool
    change_token: str
    views: list[str]


class Figures(Shape):
    """The effect of PopKit, in four quantities (hooks/utils/policy/figures.py): tokens that were kept out and cleared, its cost in dollars
    and its net savings; None where no price is known. `unpriced`: not all of it had a price."""

    kept_out_tokens: int
    cleared_tokens: int
    saved_usd: Optional[float] = None
    cost_usd: Optional[float] = None
    net_usd: Optional[float] = None
    unpriced: bool = False


class Offer(Shape):
    """An operation that is offered: `id` is sent back to run it, `label` is for the button, `sum` says what it does before it is run."""

    id: str
    label: str
    sum: str
    danger: bool = False


class OperationRequest(StrictModel):
    """`id`: of an Offer. `why`: the reason of a hold."""

    id: str = Field(min_length=1, max_length=400)
    why: str = Field(default="", max_length=400)


class OperationResult(Shape):
    """The result of an operation, in words."""

    done: bool
    text: str


class Changes(Shape):
    """The answers that may have changed since a token was given. `changed`: how the addresses of such answers begin; "/api/sessions?" is
    the list, "/api/sessions/ID" a session with all that is below it. `everything`: any may, and `changed` is empty: there was no token, or
    one of another start, or too much has changed. `token`: for the next request; `at`: the time here."""

    token: str
    at: float
    everything: bool
    changed: list[str]
