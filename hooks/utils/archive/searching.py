"""Search the archive for the lines that hold the words of a question."""

from __future__ import annotations

from ..io.sqlite_file import StoreError, Transaction
from . import index
from .content import RetentionIntegrityError, plain
from .reading import text_of
from .records import record
from .retrieval import retrieve_record
from .terms import terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from sqlite3 import Connection

    from .records import Record

    Term = tuple[int, str, str]  # how many records hold it, the term, the query that finds them

MOST = 20
_LINES = 3  # of a record
_LINE_CHARS = 160
_SEEN_CHARS = 2_000  # of a long line, around a match: secrets are masked whole before the line is cut
_ASKED_CHARS, _ASKED_TERMS = 2_000, 16  # of a question
_COMMON = 20_000  # a word that so many records hold is as common as any
_CONTEXTS = """
SELECT a.seq, z.seq, c.project FROM chains AS c
JOIN thought_records AS a ON a.task_id = c.task_id AND a.place = 1
JOIN thought_records AS z ON z.task_id = c.task_id AND z.place = c.length
WHERE substr(c.session_id, 1, ?) = ?
"""
_WITHIN = """
SELECT i.seq, i.context FROM words AS w CROSS JOIN indexed AS i ON i.seq = w.rowid
WHERE w.words MATCH ? AND w.rowid BETWEEN ? AND ? ORDER BY w.rowid DESC
"""


class SearchUnavailable(StoreError):
    """Texts cannot be searched here; the message says why, and what to do."""


class Match:
    """A record that was found, and the lines of it that hold words of the question, secrets masked; none where only its label does."""

    __slots__ = ("lines", "record")

    def __init__(self, record: Record, lines: list[str]):
        self.record = record
        self.lines = lines


def search(
    db: Connection, question: str, mask: Callable[[str], str], projects: Collection[str] | None = None, session: str | None = None,
    most: int = MOST,
) -> list[Match]:  # fmt: skip
    """Return the records that a question finds, at most so many; `mask` takes secrets out of lines. `projects` (folders, as chains name
    them) and `session` (an id, or its beginning) narrow it. Any text is a question: its terms are asked for, and nothing of it is syntax.

    Words are ranked from the rarest to the most common, what nothing holds left out (or taken as a beginning, if something begins so). A
    record is found if it holds more than half of them in a row of that ranking; where none of those searched does, if it holds any. First
    come those whose row begins with the rarest word, of them those with the longest row, of them the newest. What still waits to be indexed
    (`index.queue_length`) is not found. SearchUnavailable where SQLite has no FTS5."""
    import sqlite3

    try:
        seqs = _at_one_moment(db, lambda: _seqs(db, question, _contexts(db, projects, session), most))
    except sqlite3.DatabaseError as error:
        if index.is_without_fts5(error):
            raise SearchUnavailable("this Python's SQLite has no FTS5, so texts cannot be searched. Use another Python") from None
        if isinstance(error, sqlite3.OperationalError):
            raise
        with Transaction(db):
            index.requeue_all(db)
        index.index_queued(db)
        seqs = _at_one_moment(db, lambda: _seqs(db, question, _contexts(db, projects, session), most))
    needles = needles_of(question)
    matches = []
    for seq in seqs:
        row = db.execute("SELECT id FROM thought_records WHERE seq = ?", (seq,)).fetchone()
        known = record(db, row[0]) if row else None
        if known:
            matches.append(Match(known, _lines_of(db, known.id, needles, mask)))
    return matches


def _at_one_moment(db: Connection, ask: Callable[[], list[int]]) -> list[int]:
    """Return what all questions of `ask` find in the same state of the archive: another process may begin the index again between two of
    them."""
    joined = db.in_transaction
    if not joined:
        db.execute("BEGIN")
    try:
        return ask()
    finally:
        if db.in_transaction and not joined:
            db.execute("ROLLBACK")  # nothing was written


def _contexts(db: Connection, projects: Collection[str] | None, session: str | None) -> dict[int, int] | None:
    """Return the contexts that are searched: the seq of their first record -> that of their last; None for all."""
    if projects is None and session is None:
        return None
    begins = plain(session or "")
    rows = db.execute(_CONTEXTS, (len(begins), begins)).fetchall()
    folders = None if projects is None else set(map(plain, projects))
    return {first: last for first, last, folder in rows if folders is None or folder in folders}


def _seqs(db: Connection, question: str, contexts: dict[int, int] | None, most: int) -> list[int]:
    """Return the seqs of the matches, the best first."""
    terms = terms_of(question[:_ASKED_CHARS])
    if not terms or contexts == {} or not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
        return []
    ranked = sorted(term for term in (_term(db, term) for term in terms) if term)[:_ASKED_TERMS]
    return _holding(db, ranked, len(ranked) // 2 + 1, contexts, most) or _holding(db, ranked, 1, contexts, most)


def _holding(db: Connection, ranked: list[Term], least: int, contexts: dict[int, int] | None, most: int) -> list[int]:
    """Return the seqs of what holds so many terms in a row, the best first."""
    holding: dict[int, None] = {}
    for first in range(len(ranked)):
        for end in range(len(ranked), first + least - 1, -1):
            for seq in _matches(db, " AND ".join(query for _, _, query in ranked[first:end]), contexts):
                if len(holding) >= most:
                    return list(holding)
                holding[seq] = None
    return list(holding)


def _term(db: Connection, term: str) -> Term | None:
    """Return a term with how many records hold it; None for one that nothing holds, and that nothing begins with."""
    for query in (f'"{term}"', f'"{term}" *'):
        held = f"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {_COMMON})"  # noqa: S608  a number of our own
        count = db.execute(held, (query,)).fetchone()[0]
        if count:
            return count, term, query
    return None


def _matches(db: Connection, query: str, contexts: dict[int, int] | None) -> Iterator[int]:
    """Yield the seqs of what a query of the index finds, the newest first."""
    if contexts is None:
        for (seq,) in db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC", (query,)):
            yield seq
        return
    for seq, context in db.execute(_WITHIN, (query, min(contexts), max(contexts.values()))):
        if context in contexts:
            yield seq


def needles_of(question: str) -> list[str]:
    """Return what to look for in lines: the words as they were typed and their terms, in small letters."""
    question = question[:_ASKED_CHARS]
    return list(dict.fromkeys([*question.lower().split(), *terms_of(question)]))


def _lines_of(db: Connection, id: str, needles: list[str], mask: Callable[[str], str]) -> list[str]:
    try:
        stored = retrieve_record(db, id)
        text = text_of(stored["content"]) if stored and stored["content_available"] else ""
    except (RetentionIntegrityError, RecursionError, TypeError, ValueError):
        return []
    return matching_lines(text, needles, mask)


def matching_lines(text: str, needles: list[str], mask: Callable[[str], str]) -> list[str]:
    """Return the lines of a text that hold most of these, in its order, masked and cut."""
    scored = []
    for number, line in enumerate(text.splitlines()):
        lowered = line.lower()
        held = sum([needle in lowered for needle in needles])
        if held:
            scored.append((-held, number, line))
    best = sorted(sorted(scored)[:_LINES], key=lambda line: line[1])
    shown = mask("\n".join([_narrowed(line, needles) for _, _, line in best]))
    return [_cut(line.strip(), needles) for line in shown.split("\n") if line.strip()]


def _narrowed(line: str, needles: list[str]) -> str:
    """Return the part of a long line around a match. A word that it begins or ends within is left out: half a secret is not recognised as
    one."""
    if len(line) <= _SEEN_CHARS:
        return line
    begin = max(0, _at(line, needles) - _SEEN_CHARS // 2)
    end = begin + _SEEN_CHARS
    return " ".join(line[begin:end].split(" ")[bool(begin) : -1 if end < len(line) else None]) or "…"


def _cut(line: str, needles: list[str]) -> str:
    if len(line) <= _LINE_CHARS:
        return line
    begin = max(0, min(_at(line, needles) - _LINE_CHARS // 4, len(line) - _LINE_CHARS))
    return ("…" if begin else "") + line[begin : begin + _LINE_CHARS].strip() + ("…" if begin + _LINE_CHARS < len(line) else "")


def _at(line: str, needles: list[str]) -> int:
    """Return where in a line the longest needle that it holds begins."""
    lowered = line.lower()
    return max(((len(needle), lowered.find(needle)) for needle in needles if needle in lowered), default=(0, 0))[1]
