"""The shapes of requests and answers of the dashboard's API, as pydantic models, and its errors:
the contract between server and page, and the OpenAPI document.

Times are seconds since 1970 (UTC) unless a name says otherwise; tokens are whole numbers, estimated unless a field says otherwise. Words
for people (`words`, `lines`, `sum`) are those of the panel (hooks/utils/views), so page and panel agree to the digit. All answers are
JSON; errors are {"error": what is wrong and what to do}. `app.py` has the addresses, `stored_shapes.py` the shapes of stored data.
"""

from typing import Any, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, model_validator

from popkit_retention.core.errors import PopkitError

COLUMNS = 80  # of lines, unless a request sets another number


class Strict(BaseModel):
    """A model without fields beyond its own."""

    model_config = ConfigDict(extra="forbid")


class Shape(Strict):
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
    """What is wrong, and what to do."""

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
    "PostgreSQL at host"), never with a password. `shared`: whether others write to it, too. `views`: those that the page can show."""

    version: str
    home: str
    database: str
    shared: bool
    change_token: str
    views: list[str]


class Figures(Shape):
    """What PopKit did, in four quantities (hooks/utils/policy/figures.py): tokens that were kept out and cleared, its cost in dollars and
    its net savings; None where no price is known. `unpriced`: not all of it had a price."""

    kept_out_tokens: int
    cleared_tokens: int
    saved_usd: Optional[float] = None
    cost_usd: Optional[float] = None
    net_usd: Optional[float] = None
    unpriced: bool = False


# --- sessions ---


class Fill(Shape):
    """How full a context is, as in the panel. `measured`: whether a request has shown its `tokens`, which are else an estimate.
    `window_source`: the source of the window. `cache`: warm or cold; `cache_until`: when
    it goes cold, None where it is."""

    tokens: int
    measured: bool = True
    window: int
    window_source: Literal["configuration", "client", "compaction", "transcript", "model", "assumed"]
    ratio: float
    model: str
    cache: Literal["warm", "cold"]
    cache_until: Optional[float] = None


class Verdict(Shape):
    """What to do now, in the panel's words."""

    kind: Literal["clear", "wait", "full", "noted", "returning", "nothing"]
    words: str


class SessionRow(Shape):
    """A session in the list. `host`: the name of its agent, or of the program that has recorded it. `running`: a client has it open.
    `stamp` changes with everything of the session. Facts that cost too much to read for a session that is not open are None. `requests`: of
    a session that only a database has, in which its tool `calls` are not known."""

    id: str
    project: str
    title: str = ""  # the user's first words, masked and cut
    host: str = "Claude Code"
    user: str = ""  # whose session it is, as a database says
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


class Sessions(Shape):
    """One page of the list, running ones first, then the newest."""

    sessions: list[SessionRow]
    total: int
    running: int
    projects: list[str]


class Offer(Shape):
    """An operation that is offered: `id` is sent back to run it, `label` is for the button, `sum` says what it does before it is run."""

    id: str
    label: str
    sum: str
    danger: bool = False


class Layers(Shape):
    """Tokens of a context by layer: system and current request, memory, files, history."""

    tier1: int = 0
    tier2: int = 0
    tier3: int = 0
    tier4: int = 0


class LayerRule(Shape):
    """The rule of a layer under a strategy, and under the next tighter one ("" for the same)."""

    layer: str
    now: str
    next: str = ""


class Strategy(Shape):
    """The strategy of an assembled context: its range of what remains, the used percentage of the budget, how many exchanges of the history
    were `sent`, and the next tighter range with the used percentage that it begins at ("" and None where there is none)."""

    range: str
    used_percent: float
    sent: int
    next_range: str = ""
    next_at_percent: Optional[float] = None
    rules: list[LayerRule]


class Bar(Shape):
    """One result in the timeline: it came with call `from_call`, and its life ended with `to_call` (None: it is alive). `state`: live,
    expired or cleared; `note`: what ended it, in the panel's words. `plan`: clear, hold or keep."""

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
    kept_out_tokens: Optional[int] = None  # of a result that entered shorter (an estimate)


class SessionDetail(Shape):
    """`report`: what `popkit context --json` prints, except for its results, which are the `bars`; {} for a session that only a database
    has. `lines`: the panel itself. `strategy`: of a session whose contexts were assembled. `ledger`: what was really saved and charged, in
    words."""

    session: SessionRow
    report: dict[str, Any]
    lines: list[str]
    layers: Layers
    strategy: Optional[Strategy] = None
    bars: list[Bar]
    operations: list[Offer]
    figures: Optional[Figures] = None
    ledger: list[str] = []
    doubt: str = ""


class Point(Shape):
    """The context as one request sent it. `tiers`: live tokens by retention tier; `expired`: dead tokens still carried."""

    at: float
    request: int
    tokens: int
    tiers: dict[str, int]
    expired: int
    layers: Layers


class Series(Shape):
    """At most 300 points, oldest first; `compactions` and `clears`: their times."""

    points: list[Point]
    compactions: list[float] = []
    clears: list[float] = []


class ResultDetail(Shape):
    """`row`: its row of the report; `why`: the lines of `popkit context why`."""

    row: dict[str, Any]
    why: list[str]
    operations: list[Offer]
    handle: str = ""


class Content(Shape):
    """An archived content, as text; `truncated`: characters that are not shown."""

    handle: str
    label: str
    text: str
    truncated: int = 0


class OperationRequest(Strict):
    """`id`: of an Offer. `why`: the reason of a hold."""

    id: str = Field(min_length=1, max_length=400)
    why: str = Field(default="", max_length=400)


class OperationResult(Shape):
    """The result of an operation, in words."""

    done: bool
    text: str


# --- what has changed ---


class Changes(Shape):
    """The answers that may have changed since a token was given. `changed`: how the addresses of such answers begin; "/api/sessions?" is
    the list, "/api/sessions/ID" a session with all that is below it. `everything`: any may, and `changed` is empty: there was no token, or
    one of another start, or too much has changed. `token`: for the next request; `at`: the time here."""

    token: str
    at: float
    everything: bool
    changed: list[str]
