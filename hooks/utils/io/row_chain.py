"""The hash chain of a table's rows."""

from __future__ import annotations

from .system import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

FIRST_PREV_HASH = "0" * 64
COMPACT = (",", ":")


def link_hash(columns: Iterable[object], separators: tuple[str, str] | None = None) -> str:
    """Return the SHA-256 that binds a row, of the JSON text of its columns in their order, the hash of the row before among them.
    `separators`: those of the text. What is not of a column's type gives another hash."""
    import json

    return sha256(json.dumps(list(columns), separators=separators, default=repr).encode("ascii")).hexdigest()


class RowSnapshot:
    """Within the `with`, a connection reads rows of one moment: in a transaction of its own, which is rolled back, or in the caller's. A
    text whose bytes were changed into no text at all is to be named, and not to end the walk: its bytes come as lone surrogates."""

    __slots__ = ("db", "joined", "text_factory")

    def __init__(self, db: Connection):
        self.db = db
        self.joined = db.in_transaction
        self.text_factory = db.text_factory

    def __enter__(self) -> None:
        self.db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        if not self.joined:
            self.db.execute("BEGIN")

    def __exit__(self, *_exc: object) -> None:
        self.db.text_factory = self.text_factory
        if not self.joined:
            self.db.execute("ROLLBACK")
