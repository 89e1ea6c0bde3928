"""The long-term memory of LangGraph's agents: a `BaseStore` over a `Memory`.

    store = PopkitStore(Memory(SqliteStore("agent.sqlite"), "my-agent"))
    graph = builder.compile(store=store)

What LangGraph puts is an item of the memory. Its text is what a search reads; its value comes back as it was put.
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import datetime, timezone
from typing import Any, cast

from ..extras import missing

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )
    from langgraph.store.base.embed import get_text_at_path, tokenize_path
except ModuleNotFoundError as error:
    raise missing("langgraph", error) from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..memory.items import Item as Remembered
    from ..memory.memory import Memory

_NAMESPACE, _KEY, _VALUE, _UPDATED, _TTL = "namespace", "key", "value", "updated_at", "ttl"  # in the metadata of an item
_WHERE = f"metadata.{_NAMESPACE}"
_LAST = "\U0010ffff"  # sorts behind every other character
_SEARCHED = 200  # the most answers to a question that a filter chooses from
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda own, value: own > value,
    "$gte": lambda own, value: own >= value,
    "$lt": lambda own, value: own < value,
    "$lte": lambda own, value: own <= value,
}


class PopkitStore(BaseStore):
    """A store of LangGraph's in a memory. Threads and tasks may share it.

    `memory`: the one that holds the items; close it yourself. Scope it (`memory.scoped(user_id=…)`) and the store is that user's.
    `fields`: the paths of a value that a search reads, as `put` takes them in `index`; None: all of it. `ttl`: when items expire, as
    LangGraph configures it; expired ones are never returned.

    What is deleted is marked as forgotten: the memory's job deletes it after a day, and until then `memory.undo` brings it back. Errors are
    the memory's: BadItem for a value that is not JSON, ItemOnHold, StoreUnavailable."""

    supports_ttl = True

    def __init__(self, memory: Memory, *, fields: Sequence[str] | None = None, ttl: TTLConfig | None = None) -> None:
        self.memory = memory
        self.fields = fields
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of operations, in their order. What they read is as it was before any of them; of several that put the same
        key, the last one counts."""
        listed = list(ops)
        for op in listed:
            _check(op)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in listed]
        puts = {(tuple(op.namespace), op.key): op for op in listed if isinstance(op, PutOp)}
        for op in puts.values():
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Return what `batch` does, from a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        return self._search(op) if isinstance(op, SearchOp) else cast("Result", self._namespaces(op))

    def _put(self, op: PutOp) -> None:
        id = self._id(op.namespace, op.key)
        if op.value is None:
            if self._live(id):
                self.memory.forget([id])
            return
        now = self.memory.now()
        metadata = {_NAMESPACE: _written(op.namespace), _KEY: op.key, _VALUE: dict(op.value), _UPDATED: now, _TTL: op.ttl}
        expires_at = None if op.ttl is None else now + op.ttl * 60
        self.memory.upsert(id, self._text(op), metadata=metadata, expires_at=expires_at)

    def _text(self, op: PutOp) -> str:
        """Return what a search reads of a value; at least its key, since no item is without a text."""
        value = dict(op.value or {})
        fields = self.fields if op.index is None else op.index
        if fields is None:
            leaves = list(_leaves(value))
            text = leaves[0][1] if len(leaves) == 1 else "\n".join(f"{name}: {leaf}" for name, leaf in leaves)
        else:
            text = "\n".join(text for field in fields or () for text in get_text_at_path(value, tokenize_path(field)))
        return text if text.strip() else op.key

    def _get(self, op: GetOp) -> Item | None:
        id = self._id(op.namespace, op.key)
        if not self._live(id):
            return None
        item = self.memory.show(id)
        if op.refresh_ttl:
            self._refresh([item])
        return Item(**_fields(item))

    def _live(self, id: str) -> bool:
        """Return whether there is such an item that is neither forgotten nor expired."""
        now = self.memory.now()
        return any(item.mark is None and not item.has_expired(now) for item in self.memory.store.get([id]))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = _written(op.namespace_prefix)
        where = {_WHERE: {"gte": prefix, "lte": prefix + _LAST}}
        if op.query:
            most = _SEARCHED if op.filter else op.offset + op.limit
            found: list[tuple[Remembered, float | None]] = list(self.memory.search(op.query, most, where=where))
        else:
            items = self.memory.list(where=where, most=None)
            found = [(item, None) for item in sorted(items, key=lambda item: (-_time(item), item.id))]
        wanted = op.filter or {}
        chosen = [(item, score) for item, score in found if _fits(_value(item), wanted)][op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self._refresh([item for item, _ in chosen])
        return [SearchItem(**_fields(item), score=score) for item, score in chosen]

    def _refresh(self, items: Iterable[Remembered]) -> None:
        """Let items that were read expire later."""
        for item in items:
            ttl = item.metadata.get(_TTL)
            if isinstance(ttl, (int, float)):
                self.memory.update(item.id, expires_at=self.memory.now() + ttl * 60)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {_namespace(item) for item in self.memory.list(where={_WHERE: {"gte": ""}}, most=None)}
        listed = {names[: op.max_depth] for names in known if all(_matches(names, condition) for condition in op.match_conditions or ())}
        return sorted(listed)[op.offset : op.offset + op.limit]

    def _id(self, namespace: tuple[str, ...], key: str) -> str:
        """Return the id of the item of a key; ids are those of the whole store, whatever the project and the scope."""
        named = "\0".join([self.memory.project, *map("=".join, sorted(self.memory.scope.items())), _written(namespace), key])
        return "lg" + hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:22]


def _check(op: Op) -> None:
    """Raise InvalidNamespaceError for labels that would read as another namespace, ValueError for what is no operation."""
    if isinstance(op, (GetOp, PutOp)):
        paths: list[tuple[str, ...]] = [op.namespace]
    elif isinstance(op, SearchOp):
        paths = [op.namespace_prefix]
    elif isinstance(op, ListNamespacesOp):
        paths = [condition.path for condition in op.match_conditions or ()]
    else:
        raise ValueError(f"unknown operation {type(op).__name__}")
    for label in (label for path in paths for label in path):
        if not isinstance(label, str) or not label or "." in label:
            raise InvalidNamespaceError(f"a label of a namespace is a text without periods, not {label!r:.60}")


def _written(namespace: Sequence[str]) -> str:
    """Return a namespace as the metadata has it: every label ends with a period, so that a prefix ends with a label."""
    return "".join(f"{label}." for label in namespace)


def _namespace(item: Remembered) -> tuple[str, ...]:
    return tuple(str(item.metadata[_NAMESPACE]).split(".")[:-1])


def _value(item: Remembered) -> dict[str, object]:
    return cast("dict[str, object]", item.metadata[_VALUE])


def _time(item: Remembered) -> float:
    """Return when an item was put last (seconds)."""
    return max(item.created_at, cast("float", item.metadata[_UPDATED]))


def _fields(item: Remembered) -> dict[str, Any]:
    """Return the fields of LangGraph's item."""
    return {
        "namespace": _namespace(item), "key": str(item.metadata[_KEY]), "value": _value(item),
        "created_at": datetime.fromtimestamp(item.created_at, timezone.utc),
        "updated_at": datetime.fromtimestamp(_time(item), timezone.utc),
    }  # fmt: skip


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a value, each with the path that leads to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and value != "":
        yield name, str(value)


def _fits(own: Any, wanted: Any) -> bool:
    """Return whether a value has what a filter names: equal values, or what the operators ask of them. ValueError for an unknown one."""
    if not isinstance(wanted, dict):
        return bool(own == wanted)
    if any(str(key).startswith("$") for key in wanted):
        return all(_holds(own, operator, value) for operator, value in wanted.items())
    return isinstance(own, dict) and all(_fits(own.get(key), value) for key, value in wanted.items())


def _holds(own: Any, operator: str, value: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(own == value) == (operator == "$eq")
    if operator not in _ORDERS:
        raise ValueError(f"unknown operator {operator!r:.40}. Known: $eq, $ne, {', '.join(_ORDERS)}")
    try:
        return _ORDERS[operator](own, value)
    except TypeError:
        return False  # a text is neither above nor below a number


def _matches(names: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins, or ends, with a path, in which * stands for any label."""
    path = condition.path
    if len(names) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unknown type of match {condition.match_type!r:.40}. Known: prefix, suffix")
    part = names[: len(path)] if condition.match_type == "prefix" else names[len(names) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path))
