"""The shapes of answers about sessions."""

from typing import Literal, Optional

from .shapes import Figures, Offer, Shape


class Fill(Shape):
    """The fill of a context, also in the panel's `words`. `cache_until`: when the cache goes cold, None where it is."""

    tokens: int
    words: str
    ratio: float
    model: str
    cache: Literal["warm", "cold"]
    cache_until: Optional[float] = None


class Verdict(Shape):
    """The advice for now, in the panel's words."""

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
    """A page of the list, running ones first, then the newest."""

    sessions: list[SessionRow]
    total: int
    running: int
    projects: list[str]


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
    """A result in the timeline: it came with call `from_call`, and its life ended with `to_call` (None: it is alive). `note`: what ended
    it, in the panel's words. `plan`: clear, hold or keep."""

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
    report: dict[str, object]
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


class Mark(Shape):
    """A change of the context between requests: "cleared", "compacted" or "put back"."""

    at: float
    words: str


class Series(Shape):
    """At most 300 points and all marks, oldest first."""

    points: list[Point]
    marks: list[Mark] = []


class ResultDetail(Shape):
    """`row`: its row of the report; `why`: the lines of `popkit context why`."""

    row: dict[str, object]
    why: list[str]
    operations: list[Offer]
    handle: str = ""


class LostRow(Shape):
    """A row of what a compaction lost: what it is `about`, what is `lost` of that, and the `way` back, in words."""

    about: str
    lost: str
    way: str


class Lost(Shape):
    """The losses of the newest compaction: `when` it was and how much in all, in words ("" where there was none), and its first rows."""

    when: str = ""
    sums: str = ""
    rows: list[LostRow] = []


class Content(Shape):
    """An archived content, as text; `truncated`: characters that are not shown."""

    handle: str
    label: str
    text: str
    truncated: int = 0
