"""Write the rows of a survey to a Parquet file, as they come."""

from __future__ import annotations

import os

from .measure import DEARER
from .survey import COUNTS, SessionScores

# Their types are pyarrow's. A session that was left out has null in the other columns.
COLUMNS = {
    "session": "string", "repository": "string", "model": "string", "requests": "int64", "bytes": "int64", "bad_lines": "int64",
    "cache_ttl_s": "double", "policy": "string", "cost": "double", "cost_share": "double", "carried": "int64", "carried_share": "double",
    "dearer": "bool", **dict.fromkeys(COUNTS, "int64"), "left_out": "string",
}  # fmt: skip
_GROUP = 20_000  # rows that are held before they are written
_OF_SESSION = ("repository", "model", "requests", "bytes", "bad_lines")


class Parquet:
    """A file that exists, whole, at the end of the `with`, and not at all if that ends with an error."""

    def __init__(self, path: str) -> None:
        import tempfile

        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        self.path = path
        self.schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
        self.table_of = pa.Table.from_pylist
        handle, self.unfinished = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".popkit-")
        os.close(handle)
        self.writer = ParquetWriter(self.unfinished, self.schema, compression="zstd")
        self.rows: list[dict[str, object]] = []

    def __enter__(self) -> Parquet:
        return self

    def __exit__(self, kind: object, *_exc: object) -> None:
        try:
            if kind is None:
                self._write()
            self.writer.close()
            if kind is None:
                os.replace(self.unfinished, self.path)
        finally:
            if os.path.exists(self.unfinished):
                os.unlink(self.unfinished)

    def take(self, row: SessionScores) -> None:
        """Add a session."""
        of_session = {"session": row.path, **{name: getattr(row, name) for name in _OF_SESSION}}
        for ttl_s, scores in row.scores.items():
            base = scores["nothing"]
            for policy, score in scores.items():
                shares = {"cost_share": score.cost / base.cost, "carried_share": score.carried / base.carried}
                dearer = score.cost > DEARER * base.cost
                self._add({**of_session, "cache_ttl_s": float(ttl_s), "policy": policy, **score._asdict(), **shares, "dearer": dearer})

    def skip(self, path: str, reason: str) -> None:
        """Add a session that was left out."""
        self._add({"session": path, "left_out": reason})

    def _add(self, row: dict[str, object]) -> None:
        self.rows.append(row)
        if len(self.rows) >= _GROUP:
            self._write()

    def _write(self) -> None:
        self.writer.write_table(self.table_of(self.rows, self.schema))
        self.rows.clear()
