"""Keep live results as unparsed text, so that a hook parses only the rows that concern its call, however many results are live.

A result that never ends by age can only end, or be touched, by what names one of its keys, its content or its id: its row is found in the
file then, and parsed ("woken"). That an edit touches what was read in its turn is kept with the turn. A walk over all results wakes all.
Rows that stay asleep are written back unchanged.
"""

from __future__ import annotations

from ..io.codec import dumps, loads
from ..io.files import encoded
from ..policy import engine
from ..policy.context import ContextState, result_of
from ..policy.ruleset import TIERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..policy.context import Result
    from ..policy.ruleset import Ruleset


def signature(rules: Ruleset) -> list[list[float | None]]:
    """Return the part of the rules that says which rows may stay asleep; where it has changed, all wake."""
    return [[rules.tier_rule(tier).ttl_calls, rules.tier_rule(tier).ttl_s] for tier in TIERS]


def awake(state: ContextState, rules: Ruleset) -> list[str]:
    """Return the ids of the live, parsed results that end by age."""
    return [result.id for result in dict.values(state.live) if rules.tier_rule(result.tier).ends_by_age]


class Rows:
    """The rows of a state in its file: "\\n" + row for each, "," between them, from `begin` to `end`. The file is as large as what lives:
    no copies are made of it on the way. `all_awake` once every row is parsed."""

    def __init__(self, data: bytes, begin: int, end: int, noted: list[Any]):
        self.data, self.begin, self.end = data, begin, end
        self.signature, self.awake = noted
        self.spans: dict[int, tuple[int, Result]] = {}  # where a woken row begins -> (its end, the Result)
        self.all_awake = False
        self.state: ContextState  # these three from `open` on
        self.rules: Ruleset
        self.keys: Index

    def open(self, state: ContextState, rules: Ruleset) -> None:
        """Give the state the parsed results and indexes that wake the rows of the keys they are asked for."""
        self.state, self.rules = state, rules
        state.live, state.by_key, state.by_hash = LiveResults(self, dumps), Index(self, dumps), Index(self, _text_of_hash)
        for id in self.awake:
            self.wake(dumps(id))
        if self.signature != signature(rules):
            self.wake_all()
        state.live = dict(dict.items(state.live))
        engine.reindex(state, rules)
        if not self.all_awake:
            self.keys = Index(self, dumps, state.by_key)
            state.live, state.by_key = LiveResults(self, dumps, state.live), self.keys
            state.by_hash = Index(self, _text_of_hash, state.by_hash)

    def wake(self, needle: str) -> None:
        """Wake every row that holds a text."""
        sought = encoded(needle)
        at = self.data.find(sought, self.begin, self.end)
        while at != -1:
            end = self._wake(self.data.rfind(b"\n", self.begin, at))
            at = self.data.find(sought, end, self.end)

    def wake_all(self) -> None:
        """Wake every row, and put live results back in order of completion."""
        begin = self.begin
        while begin < self.end:
            begin = self._wake(begin)
        self.all_awake = True
        state = self.state
        for table in (state.live, *dict.values(state.by_key), *dict.values(state.by_hash)):
            _sort(table)

    def _wake(self, begin: int) -> int:
        """Wake the row that begins at a position; return where the next one begins."""
        if begin in self.spans:
            return self.spans[begin][0]
        state = self.state
        end = self.data.find(b"\n", begin + 1, self.end)
        end = self.end if end == -1 else end
        row = self.data[begin + 1 : end].removesuffix(b",").decode()
        result = result_of(loads(row))
        result.stored = row
        result.pinned = engine.is_pinned(state, result, self.rules)
        self.spans[begin] = (end, result)
        dict.__setitem__(state.live, result.id, result)
        for part in result.parts:
            dict.setdefault(state.by_key, part[0], {})[result.id] = result
        if result.hash and not result.error:
            dict.setdefault(state.by_hash, result.kind + "|" + result.hash, {})[result.id] = result
        return end

    def written(self) -> list[bytes | memoryview]:
        """Return the rows as they are now, in pieces of bytes: each row behind a line break, "," between them."""
        live = self.state.live
        pieces: list[bytes | memoryview] = []
        at = self.begin
        for begin in sorted(self.spans):
            end, result = self.spans[begin]
            is_live = dict.get(live, result.id) is result
            if is_live and result.stored:
                continue
            pieces.append(self._rows(at, begin))
            if is_live:
                pieces.append(_row(result))
            at = end
        pieces.append(self._rows(at, self.end))
        pieces.extend(_row(result) for result in _new(live, self.spans))
        return [part for piece in pieces if piece for part in (b",", piece)][1:]

    def _rows(self, begin: int, end: int) -> memoryview:
        return memoryview(self.data)[begin : end - 1 if self.data[end - 1 : end] == b"," else end]


def _row(result: Result) -> bytes:
    return encoded("\n" + dumps(result.to_row()))


def _new(live: dict[str, Result], spans: dict[int, tuple[int, Result]]) -> list[Result]:
    """Return results that have no row yet."""
    old = {id(result) for _, result in spans.values()}
    return [result for result in dict.values(live) if id(result) not in old]


def _by_index(item: tuple[str, Result]) -> int:
    return item[1].index


def _sort(table: dict[str, Result]) -> None:
    items = sorted(dict.items(table), key=_by_index)
    dict.clear(table)
    dict.update(table, items)


def _text_of_hash(key: str) -> str:
    return dumps(key.rpartition("|")[2])


class Index(dict):
    """A dict over rows that may stay unparsed: key -> the results that have it. `text_of` a key is what each of their rows contains;
    `awake`: the keys whose rows are all awake."""

    __slots__ = ("awake", "rows", "text_of")

    def __init__(self, rows: Rows, text_of: Callable[[str], str], known: dict[str, Any] = {}):  # noqa: B006  only read
        dict.__init__(self, known)
        self.rows = rows
        self.text_of = text_of
        self.awake: set[str] = set()

    def _wake(self, key: str) -> None:
        if not self.rows.all_awake and key not in self.awake:
            self.awake.add(key)
            self.rows.wake(self.text_of(key))
            held = dict.get(self, key)
            if type(held) is dict:  # of an index
                _sort(held)

    def get(self, key: str, default: Any = None) -> Any:
        self._wake(key)
        return dict.get(self, key, default)

    def __getitem__(self, key: str) -> Any:
        self._wake(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: Any) -> bool:
        self._wake(key)
        return dict.__contains__(self, key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._wake(key)
        return dict.setdefault(self, key, default)


class LiveResults(Index):
    """id -> Result. A walk over it wakes all rows."""

    __slots__ = ()

    def _all(self) -> None:
        if not self.rows.all_awake:
            self.rows.wake_all()

    def __iter__(self) -> Iterator[str]:
        self._all()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self._all()
        return dict.__len__(self)

    def keys(self) -> dict_keys[str, Result]:
        self._all()
        return dict.keys(self)

    def values(self) -> dict_values[str, Result]:
        self._all()
        return dict.values(self)

    def items(self) -> dict_items[str, Result]:
        self._all()
        return dict.items(self)
