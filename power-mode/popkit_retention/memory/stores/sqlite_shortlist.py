"""The items of a SQLite file from which a document is drafted: see `Store.shortlist`."""

from __future__ import annotations

from itertools import islice

from ..filters import matches
from .protocol import Shortlist
from .sqlite_schema import BARE_ITEMS, LISTABLE, clause_of, is_narrow, item_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    from ..filters import Condition
    from ..items import Item

_ORDERS = (("items_by_sessions", "sessions"), ("items_by_last_session", "session"))
_NEXT_KIND = "SELECT min(kind) FROM items INDEXED BY items_by_sessions WHERE project = ? AND kind > ? AND "


def find_shortlist(db: Connection, project: str, at: float, where: Sequence[Condition], whole: int, of_each_kind: int) -> Shortlist:
    """Return the shortlist of a project: see `Store.shortlist`."""
    clause, values = clause_of(where)
    bound = (project, *values)
    counted = f"SELECT count(*) FROM (SELECT 1 FROM items i WHERE i.project = ?{clause} LIMIT {int(whole) + 1})"  # noqa: S608
    if db.execute(counted, bound).fetchone()[0] <= whole:
        return Shortlist(list(_items(db, f"WHERE i.project = ?{clause} ORDER BY i.id", bound, where)))

    def chosen(index: str, more: str, *own: object) -> Iterator[Item]:
        # A scope has few items, which are quickly sorted; an order of the whole project has them far apart.
        forced = "" if any(map(is_narrow, where)) else f"INDEXED BY {index} "
        listable = LISTABLE if forced else LISTABLE.replace("marked_at", "+marked_at")
        query = f"{forced}WHERE i.project = ? AND {listable} AND (i.expires_at IS NULL OR i.expires_at > ?){clause}{more}"
        return _items(db, query, (project, at, *values, *own), where)

    items = {item.id: item for item in chosen("items_pinned", " AND i.held")}
    for kind in _kinds(db, project):
        for index, used in _ORDERS:
            ordered = chosen(index, f" AND i.kind = ? ORDER BY i.{used} DESC, i.created_at DESC, i.id", kind)
            items.update((item.id, item) for item in islice(ordered, of_each_kind))
    return Shortlist([items[id] for id in sorted(items)], True)


def _items(db: Connection, query: str, bound: Sequence[object], where: Sequence[Condition]) -> Iterator[Item]:
    rows = db.execute(BARE_ITEMS + query, bound)
    return (item for item in map(item_of, rows) if matches(item, where))


def _kinds(db: Connection, project: str) -> Iterator[str]:
    """Yield the kinds of the items that can be listed: one look into the index for each."""
    kind: str | None = ""
    while (kind := db.execute(_NEXT_KIND + LISTABLE, (project, kind)).fetchone()[0]) is not None:
        yield kind
