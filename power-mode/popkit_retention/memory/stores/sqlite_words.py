"""The words that items are found by, in SQLite: an FTS5 index over their numbers, and how many items of a project hold each.

What is marked for deletion is not in it. Everything here is a part of the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from ..terms import terms_of
from . import Candidates
from .checks import in_batches, rarity
from .sqlite_tables import ITEMS, item_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from ..items import Item

# About so many rows of the index are walked through for one search.
LOOKED_AT = 3_000

_MORE = "INSERT INTO words (term, project, items) VALUES (?, ?, ?) ON CONFLICT (term, project) DO UPDATE SET items = items + excluded.items"
_EXTEND = """INSERT INTO extents VALUES (?, ?, ?)
ON CONFLICT (project) DO UPDATE SET items = items + excluded.items, length = length + excluded.length"""
_ASTRAY = """
SELECT (SELECT count(*) FROM items WHERE marked_at IS NULL AND seq NOT IN (SELECT rowid FROM found)),
       (SELECT count(*) FROM found WHERE rowid NOT IN (SELECT seq FROM items WHERE marked_at IS NULL))
"""


def enter(db: Connection, ids: Sequence[str]) -> None:
    """Indexes items that are not indexed, but for the marked ones among them."""
    for batch in in_batches(ids):
        rows = db.execute(f"SELECT seq, project, text FROM items WHERE marked_at IS NULL AND id IN ({marks(batch)})", batch).fetchall()  # noqa: S608
        spoken = [(seq, project, terms_of(text)) for seq, project, text in rows]
        held = Counter((term, project) for _, project, terms in spoken for term in set(terms))
        db.executemany(_MORE, ((*word, items) for word, items in held.items()))
        numbers = _numbers(db, held)
        db.executemany(
            "INSERT INTO found (rowid, words, length) VALUES (?, ?, ?)",
            ((seq, " ".join(str(numbers[term, project]) for term in dict.fromkeys(terms)), len(terms)) for seq, project, terms in spoken),
        )
        _extend(db, ((project, 1, len(terms)) for _, project, terms in spoken))


def take_out(db: Connection, ids: Sequence[str]) -> None:
    """Takes items out of the index, with the words that it was told of them then."""
    for batch in in_batches(ids):
        asked = f"SELECT f.rowid, f.words, f.length, i.project FROM items i JOIN found f ON f.rowid = i.seq WHERE i.id IN ({marks(batch)})"  # noqa: S608
        rows = db.execute(asked, batch).fetchall()
        held = Counter(int(number) for _, words, _, _ in rows for number in words.split())
        db.executemany("UPDATE words SET items = items - ? WHERE number = ?", ((items, number) for number, items in held.items()))
        db.executemany("DELETE FROM words WHERE number = ? AND items <= 0", ((number,) for number in held))
        db.executemany("DELETE FROM found WHERE rowid = ?", ((seq,) for seq, _, _, _ in rows))
        _extend(db, ((project, -1, -length) for _, _, length, project in rows))


def look_up(db: Connection, terms: Sequence[str], project: str | None, most: int) -> Candidates:
    """See `Store.candidates`."""
    chosen, bound = ("", ()) if project is None else (" WHERE project = ?", (project,))
    total, length = db.execute("SELECT total(items), total(length) FROM extents" + chosen, bound).fetchone()  # noqa: S608
    holding = dict.fromkeys(terms, 0)
    shelves: dict[str, list[tuple[int, int, str]]] = {}  # project -> how many hold a word, its number, its term
    for batch in in_batches(list(holding)):
        asked = f"SELECT project, items, number, term FROM words WHERE term IN ({marks(batch)})"  # noqa: S608  question marks
        for shelf, *word in db.execute(asked + ("" if project is None else " AND project = ?"), (*batch, *bound)):
            shelves.setdefault(shelf, []).append((word[0], word[1], word[2]))
            holding[word[2]] += word[0]
    worth = {term: rarity(total, items) for term, items in holding.items()}
    ranked: list[tuple[float, list[int]]] = []
    for words in shelves.values():
        words.sort()
        for mask, seqs in _held(db, words).items():
            ranked.append((sum(worth[term] for at, (_, _, term) in enumerate(words) if mask >> at & 1), seqs))
    ranked.sort(reverse=True)
    best = list(islice((seq for _, seqs in ranked for seq in seqs), most))
    items = {seq: item for batch in in_batches(best) for seq, item in _items(db, batch)}
    return Candidates([items[seq] for seq in best], int(total), length / total if total else 0.0, holding)


def _held(db: Connection, words: Sequence[tuple[int, int, str]]) -> dict[int, list[int]]:
    """Which of some words, the rarest of which comes first, a bit for each -> the items of their project that hold these of them. Terms
    that many hold are only looked for among what holds a rare one; where all are common, what holds all or the rarest is found."""
    left, rare, asked = LOOKED_AT, "", []
    for at, (items, number, _) in enumerate(words):
        if items <= left:
            asked.append((str(number), 1 << at))
            left -= items
            rare += f" OR {number}" if rare else str(number)
        elif rare:
            asked.append((f"{number} AND ({rare})", 1 << at))
    if not rare:
        first = words[0][1]
        asked = [(f"{first} AND {number}", 1 | 1 << at) for at, (_, number, _) in enumerate(words) if at]
        asked += [(" AND ".join(str(number) for _, number, _ in words), (1 << len(words)) - 1), (str(first), 1)]
    held: dict[int, int] = {}
    for query, bits in asked:
        for (seq,) in db.execute("SELECT rowid FROM found WHERE found MATCH ? ORDER BY rowid DESC LIMIT ?", (query, LOOKED_AT)):
            held[seq] = held.get(seq, 0) | bits
    alike: dict[int, list[int]] = {}
    for seq, mask in held.items():
        alike.setdefault(mask, []).append(seq)
    return alike


def _items(db: Connection, seqs: Sequence[int]) -> Iterator[tuple[int, Item]]:
    asked = ITEMS.replace("SELECT ", "SELECT i.seq, ", 1) + f"WHERE i.seq IN ({marks(seqs)})"
    return ((row[0], item_of(row[1:])) for row in db.execute(asked, seqs))


def problems(db: Connection) -> list[str]:
    """What is wrong with the index."""
    found = []
    try:
        db.execute("INSERT INTO found (found) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        found.append(f"the index of words is damaged: {error}")
    missing, left = db.execute(_ASTRAY).fetchone()
    if missing:
        found.append(f"{missing} items are not in the index of words")
    if left:
        found.append(f"{left} items are in the index of words that should not be")
    held: Counter[int] = Counter()
    for (words,) in db.execute("SELECT words FROM found"):
        held.update(map(int, words.split()))
    if held != dict(db.execute("SELECT number, items FROM words")):
        found.append("the words were counted wrongly")
    counted = "SELECT i.project, count(*), sum(f.length) FROM found f JOIN items i ON i.seq = f.rowid GROUP BY i.project"
    if sorted(db.execute(counted)) != sorted(db.execute("SELECT * FROM extents WHERE items > 0")):
        found.append("the items in the index were counted wrongly")
    return found


def _extend(db: Connection, grown: Iterable[tuple[str, int, int]]) -> None:
    """Books items and terms that were added to projects, or taken away."""
    extents: dict[str, list[int]] = {}
    for project, items, length in grown:
        extent = extents.setdefault(project, [0, 0])
        extent[0] += items
        extent[1] += length
    db.executemany(_EXTEND, ((project, *extent) for project, extent in extents.items()))


def _numbers(db: Connection, words: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The numbers of words: (term, project) -> number."""
    by_project: dict[str, list[str]] = {}
    for term, project in words:
        by_project.setdefault(project, []).append(term)
    found: dict[tuple[str, str], int] = {}
    for project, terms in by_project.items():
        for batch in in_batches(terms):
            asked = f"SELECT term, number FROM words WHERE project = ? AND term IN ({marks(batch)})"  # noqa: S608  question marks
            found.update(((term, project), number) for term, number in db.execute(asked, (project, *batch)))
    return found


def marks(values: Sequence[object]) -> str:
    """A question mark for each value."""
    return ", ".join("?" * len(values))
