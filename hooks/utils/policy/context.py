"""The state of one context: its live results, what expired, its counts. Pure; to and from plain JSON values."""

from __future__ import annotations

from . import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .parts import Part

SCHEMA = 3
# How many expired contents are remembered to notice that one was fetched again unchanged. Bounded, so that a hook's cost does not
# grow with what has expired; an older false expiration goes uncounted by the hooks and by the rebuild alike.
RECENT = 128
# In the place of a handle: what left by other ways than ours, of which nothing is archived. No record has such a name.
OUTSIDE = "outside"

_COLUMNS = (
    "id", "index", "at", "turn", "tool", "kind", "tier", "basis", "label", "parts", "subjects", "tokens", "hash", "error", "verdict",
    "touched", "ended", "cleared",
)  # fmt: skip
_NUMBER = (int, float)
# Field of a stored state, in their order -> its type. One of another type keeps its default, but what _NEEDED names refuses the state.
_FIELDS: dict[str, Any] = {
    "session_id": object, "agent_id": object, "index": int, "at": _NUMBER, "closed": _NUMBER, "cwd": str, "turn": int, "prompt_id": str,
    "prompted": bool, "epoch": int, "profile": str, "pins": list, "edits": dict, "holds": dict, "trees": dict, "calibration": _NUMBER,
    "unit": _NUMBER, "recent": dict,
}  # fmt: skip
_NEEDED = ("index", "turn", "epoch", "pins")


class Result:
    """A tool result: its content, its tier, and how it ended if it did."""

    __slots__ = (*_COLUMNS, "pinned", "stored")

    def __init__(self, id: str, index: int, at: float, turn: int, tool: str, kind: str, tier: str, basis: str, label: str,
                 parts: Sequence[Part], subjects: list[str], tokens: int, hash: str, error: bool, verdict: str,
                 touched: int = 0, ended: list[Any] | None = None, cleared: str = "") -> None:  # fmt: skip
        self.id = id
        self.index = index  # the call's number in its context, from 1
        self.at = at
        self.turn = turn
        self.tool = tool
        self.kind = kind
        self.tier = tier
        self.basis = basis  # why this tier
        self.label = label  # what a person sees of it; secrets masked
        self.parts = parts  # what it shows and is not yet covered or dead: [[key, scope], ...]
        self.subjects = subjects  # what path patterns match: paths, or the command
        self.tokens = tokens  # estimate
        self.hash = hash
        self.error = error
        self.verdict = verdict
        self.touched = touched  # index of the last touch of itself, 0 for none; see ContextState.touched
        self.ended = ended  # [trigger, index, at, by, reasons] once expired; of a live one: how it had ended before a pin held it
        self.cleared = cleared  # handle of what is archived, once a placeholder has replaced it
        self.pinned = False
        self.stored = ""  # its row as the state file has it; "" once it differs

    @property
    def reasons(self) -> list[str]:
        """Return why it has ended, as a list that can grow; [] for one that has not."""
        return self.ended[4] if self.ended else []

    def touch(self, index: int) -> None:
        """Restart its quiet age."""
        self.touched = index
        self.stored = ""

    def to_row(self) -> list[Any]:
        return [
            self.id, self.index, self.at, self.turn, self.tool, self.kind, self.tier, self.basis, self.label, self.parts, self.subjects,
            self.tokens, self.hash, self.error, self.verdict, self.touched, self.ended, self.cleared,
        ]  # fmt: skip


def result_of(row: object) -> Result:
    """Return a Result from its row; ValueError when it is not one."""
    if not isinstance(row, list) or len(row) != len(_COLUMNS):
        raise ValueError("not a result row")
    result = Result(*row)
    if not (isinstance(result.id, str) and isinstance(result.index, int) and isinstance(result.parts, list)
            and isinstance(result.at, (int, float)) and isinstance(result.tokens, int) and isinstance(result.tier, str)
            and isinstance(result.kind, str) and isinstance(result.subjects, list) and isinstance(result.touched, int)
            and isinstance(result.cleared, str) and (result.ended is None or _is_end(result.ended))):  # fmt: skip
        raise ValueError("wrong types in a result row")
    return result


def _is_end(ended: object) -> bool:
    return isinstance(ended, list) and len(ended) == 5 and isinstance(ended[4], list)


def reclaimable(expired: dict[str, Result]) -> dict[str, Result]:
    """Return those expired results that are still in the context."""
    return {id: result for id, result in expired.items() if not result.cleared}


class Counts:
    """Counts of what happened in a context since its beginning, compactions included."""

    __slots__ = (
        "days", "expired", "expired_tokens", "false_expirations", "ledger", "results", "results_tokens", "settled", "superseded",
        "triggers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.results: dict[str, int] = {}  # tier -> results given that tier
        self.results_tokens: dict[str, int] = {}
        self.expired: dict[str, int] = {}  # tier -> results that expired
        self.expired_tokens: dict[str, int] = {}
        self.triggers: dict[str, int] = {}  # trigger -> results that it ended
        self.false_expirations: dict[str, int] = {}  # tier -> expired and fetched again unchanged, or restored
        self.ledger: dict[str, float] = {}  # what was reclaimed and charged (settling.py), as the last reconcile found it
        self.days: dict[str, float] = {}  # the same by day (state/rebuild.py)
        self.settled = 0  # bytes of the transcript that the last reconcile found
        self.superseded = 0

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


def counts_of(value: object) -> Counts:
    counts = Counts()
    if isinstance(value, dict):
        for name in Counts.__slots__:
            have = getattr(counts, name)
            if isinstance(value.get(name), type(have)) and not isinstance(value.get(name), bool):
                setattr(counts, name, value[name])
    return counts


def add(table: dict[str, int], key: str, amount: int) -> None:
    table[key] = table.get(key, 0) + amount


class ContextState:
    """Everything the engine knows of one context. `by_key`, `by_hash`, `due` and `timed` are indexes, never saved."""

    __slots__ = (*_FIELDS, "by_hash", "by_key", "counts", "due", "expired", "live", "timed")

    def __init__(self, session_id: str = "", agent_id: str = ""):
        self.session_id = session_id
        self.agent_id = agent_id  # "" for the main thread
        self.index = 0  # calls completed
        self.at = 0.0  # of the last event
        self.closed = 0.0  # when the client that ran the session has ended, as long as none has resumed it
        self.cwd = ""  # after the last call
        self.turn = 0  # user turns with calls in them
        self.prompt_id: str | None = None  # of the last call, where the host gives one
        self.prompted = False  # the user spoke since the last call
        self.epoch = 0  # compactions so far
        self.profile: str | None = None  # chosen for the session; None: what the configuration says
        self.pins: list[str] = []  # targets: ids and path patterns
        self.edits: dict[str, int] = {}  # turn, as text -> index of the last edit in it, which touches what was read in the turn before it
        self.holds: dict[str, int] = {}  # id -> index up to which a restored result is held like a pinned one
        self.trees: dict[str, dict[str, str]] = {}  # folder of a repository -> the tree that is in it, and others by name (trees.py)
        self.calibration = 1.0  # measured tokens / estimated tokens
        self.unit = 1.0  # the tokens of its results, for one that is estimated (estimate.py)
        self.live: dict[str, Result] = {}  # id -> Result, in order of completion
        self.expired: dict[str, Result] = {}  # id -> Result with `ended`; after a load only what expired since
        self.recent: dict[str, str] = {}  # "kind|hash" -> tier of what expired while its content was still true
        self.counts = Counts()
        self.by_key: dict[str, dict[str, Result]] = {}
        self.by_hash: dict[str, dict[str, Result]] = {}
        self.due: dict[int, dict[str, Result]] = {}
        self.timed: dict[str, Result] = {}

    def in_units(self, tokens: int) -> int:
        """Return estimated tokens as its results have them."""
        return tokens if self.unit == 1.0 else round(tokens * self.unit)

    def touched(self, result: Result) -> int:
        """Return the index of a result's last touch, 0 for none."""
        edited = self.edits.get(str(result.turn), 0) if result.kind == kinds.READ and not result.ended else 0
        return max(result.touched, edited) if edited > result.index else result.touched

    def quiet_age(self, result: Result) -> int:
        """Return the number of calls since a result was last touched."""
        return self.index - max(result.index, self.touched(result))

    def to_json(self) -> dict[str, Any]:
        """Return the plain values of a state, without what expired (that is a log of its own)."""
        return {**self.header(), "live": [result.to_row() for result in self.live.values()]}

    def header(self) -> dict[str, Any]:
        """Return the plain values of a state but for its results."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return {"schema": SCHEMA, **fields, "counts": self.counts.to_json()}


def state_of(value: object) -> ContextState:
    """Return a ContextState from its plain values; ValueError when they are not a state of this schema."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA or not isinstance(value.get("live"), list):
        raise ValueError("not a state of schema " + str(SCHEMA))
    state = ContextState()
    for name, kind in _FIELDS.items():
        if name in value and isinstance(value[name], kind):
            setattr(state, name, value[name])
        elif name in _NEEDED:
            raise ValueError("not a state: " + name)
    # A state that does not tell was estimated in another way, and only its calibration makes tokens of that. It goes on like this, so that
    # all of it is measured alike, until it is rebuilt.
    if "unit" not in value and state.calibration > 0:
        state.unit = 1 / state.calibration
    elif state.unit <= 0:
        state.unit = 1.0
    state.pins = [pin for pin in state.pins if isinstance(pin, str)]
    state.edits, state.holds = _indexes(state.edits), _indexes(state.holds)
    state.trees = {folder: tree for folder, tree in state.trees.items() if _is_tree(tree)}
    state.counts = counts_of(value.get("counts"))
    for row in value["live"]:
        result = result_of(row)
        state.live[result.id] = result
    return state


def _indexes(table: dict[str, int]) -> dict[str, int]:
    return {key: index for key, index in table.items() if isinstance(index, int)}


def _is_tree(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values()) and "at" in value and "before" in value


def shared_facts(state: ContextState) -> dict[str, object]:
    """Return what hooks and a rebuild must agree on: all but times, the measure of tokens, the ledger (which only a transcript has) and
    the host's turn ids (which not every client gives to hooks)."""
    plain = state.to_json()
    for name in ("at", "calibration", "closed", "unit", "prompt_id", "prompted"):
        del plain[name]
    for name in ("ledger", "days", "settled"):
        del plain["counts"][name]
    plain["live"] = [{name: value for name, value in zip(_COLUMNS, row) if name != "at"} for row in plain["live"]]
    return plain
