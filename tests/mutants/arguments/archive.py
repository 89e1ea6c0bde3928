"""Arguments for mutants of archive/ that survive."""

from __future__ import annotations

from .argument import Argument

ARGUMENTS = [
    Argument(
        "hooks/utils/archive/zones.py",
        "compute_zone(1, hot_max, warm_max)",
        "1 -> 2",
        "any position does: it is the boundaries that are checked",
    ),
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "2 -> (1)",
        "the only two neighbours of a run of two are the run",
    ),
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "len(run) > 2 -> (len(run) >= 2)",
        "as above",
    ),
    *(
        Argument(
            "hooks/utils/archive/terms.py",
            "def _of_word(word: str) -> set[str]:",
            change,
            "how many words are remembered is a matter of speed",
        )
        for change in ("2_048 -> 2049", "2_048 -> (2047)")
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> 20001",
        "where about so many records hold a word, nobody asks for one more or less",
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> (19999)",
        "as above",
    ),
    Argument(
        "hooks/utils/archive/index.py",
        'self.db.execute("RELEASE entering")',
        'self.db.execute("RELEASE entering") -> pass',
        "the end of the transaction releases it, and a name means the newest savepoint",
    ),
    *(
        Argument(f"hooks/utils/archive/{module}.py", line, "0 -> (-1)", "the row has one column")
        for module, line in (
            ("index", 'return db.execute("SELECT count(*) FROM unindexed").fetchone()[0]'),
            ("searching", "known = record(db, row[0]) if row else None"),
            ("index", 'if 2 * len(rows) > db.execute("SELECT count(*) FROM indexed").fetchone()[0]:'),
            (
                "index",
                'missing = db.execute(f"SELECT count(*) FROM ({held} EXCEPT SELECT * FROM ({known}))").fetchone()[0] # noqa: S608',
            ),
            ("index", 'surplus = db.execute(f"SELECT count(*) FROM (SELECT seq FROM indexed EXCEPT {held})").fetchone()[0] # noqa: S608'),
            ("searching", "count = db.execute(held, (query,)).fetchone()[0]"),
            ("sizes", 'pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]'),
            ("sizes", "return {"),
        )
    ),
    *(
        Argument(
            "hooks/utils/archive/searching.py",
            "return max(((len(needle), lowered.find(needle)) for needle in needles if needle in lowered), default=(0, 0))[1]",
            change,
            "the default is compared with nothing, and a line is cut at its beginning for every place near that",
        )
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument(
        "hooks/utils/archive/records.py",
        "for length in range(HANDLE_CHARS, LONGEST_HANDLE + 1):",
        "1 -> 2",
        "no two hashes agree in 255 bits",
    ),
]
