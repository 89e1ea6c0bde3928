"""Arguments for mutants of reclaim/ that survive."""

from __future__ import annotations

from .argument import Argument

ARGUMENTS = [
    Argument(
        "hooks/utils/reclaim/restoring.py",
        "with closing(archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=WAIT_S)) as db:",
        "archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=WAIT_S) -> "
        "archive.open_archive(home.archive_path(popkit_home), create=False)",
        "how long it waits for another process is nobody's to assert",
    ),
    Argument(
        "hooks/utils/reclaim/restoring.py",
        """mark = b'"' + tool_use_id.encode("utf-8", "surrogatepass") + b'"'""",
        "b'\"' -> b''",
        "it spares the reading of lines; what a line holds is asked exactly behind it",
    ),
    Argument(
        "hooks/utils/reclaim/refusing.py",
        'entry = entries.entry_of(line) if b"tool_result" in line else None',
        "b\"tool_result\" -> b''",
        "as above",
    ),
    Argument(
        "hooks/utils/reclaim/access.py",
        "_TRIES, _PAUSE_S = 5, 0.05",
        "0.05 -> 1.05",
        "how long it waits between two looks at a line that is being written is nobody's to assert",
    ),
    *(
        Argument(
            "hooks/utils/reclaim/compaction_advice.py",
            "_LOOKED_AT = 4_000 # masked before it is cut: half a secret is one too",
            change,
            "300 characters of it are shown: how many more are masked is a matter of speed",
        )
        for change in ("4_000 -> 4001", "4_000 -> (3999)")
    ),
    *(
        Argument(
            "hooks/utils/reclaim/cooling.py",
            "ASKED, PATIENCE_S = 25, 2.0",
            change,
            "about how many git is asked at once, and for how long, is a matter of speed: the others keep their contents until later",
        )
        for change in ("25 -> 26", "25 -> (24)", "2.0 -> 3.0")
    ),
    *(
        Argument("hooks/utils/reclaim/in_place.py", "def __init__(", change, "whether one token leaves or none is nobody's question")
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument(
        "hooks/utils/reclaim/in_place.py",
        'if window and sizes.after > _MOST_OF_WINDOW * window["window"]:',
        "sizes.after > _MOST_OF_WINDOW * window[\"window\"] -> (sizes.after >= _MOST_OF_WINDOW * window['window'])",
        "the share is a round one, and the sizes are estimates",
    ),
    *(
        Argument(
            "hooks/utils/reclaim/in_place.py",
            "entries = [journal.undone(ids, noted or max(0, grown), now), journal.put_back(handles, now, sizes.after)]",
            change,
            "what comes back is longer than the words in its place",
        )
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument("hooks/utils/reclaim/in_place.py", 'content = content_of(db, at) or ""', "\"\" -> 'mutant'", "neither has a handle in it"),
    *(
        Argument("hooks/utils/reclaim/recorded_compactions.py", "chain.add(entry, 0)", change, "nobody asks where a boundary ends")
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    *(
        Argument(
            "hooks/utils/reclaim/recorded_compactions.py",
            "if index is None and entries.host_of(path) != CLAUDE_CODE:",
            change,
            "a recording is translated once or twice: it tells the same",
        )
        for change in (
            "index is None -> (index is not None)",
            "index is None and entries.host_of(path) != CLAUDE_CODE -> (index is None or entries.host_of(path) != CLAUDE_CODE)",
            "index is None and entries.host_of(path) != CLAUDE_CODE -> (not (index is None and entries.host_of(path) != CLAUDE_CODE))",
            "entries.host_of(path) != CLAUDE_CODE -> (entries.host_of(path) == CLAUDE_CODE)",
        )
    ),
]
