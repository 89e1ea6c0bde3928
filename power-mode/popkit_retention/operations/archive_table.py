"""The operations of `popkit restore` on the archive, of which agents have the search as a tool."""

from __future__ import annotations

from popkit_retention.core.argument_types import AGE, WHEN, text, whole
from popkit_retention.core.operation_tables import DESTROYS, Flag, Operation

from . import DRY_RUN, JSON, LONGEST_QUERY, MOST_FOUND, YES

_SESSION = Flag("--session ID", "only what left this session (its id, or the beginning of one) and its subagents")
ARCHIVE_SEARCH = Operation(
    "search WORDS",
    "find cleared results of this project by the words in them",
    _SESSION,
    Flag("--everywhere", "search all projects"),
    Flag("--limit N", "show at most N", whole(), default=10, agent=("most", whole(1, MOST_FOUND))),
    JSON,
    joined=True,
    agent=("query", text(1, LONGEST_QUERY)),
    more="Words, names (getUserName, get_user_name), paths; case does not matter.",
    does="search",
)
ARCHIVE = (
    Operation("stats", "how much the archive holds", JSON, does="stats"),
    Operation(
        "list [PATTERN]",
        "the records of the archive, newest first",
        _SESSION,
        Flag("--since WHEN", "only records archived since then: 2h, 3d, or a date and time in UTC", WHEN),
        Flag("--limit N", "list at most N", whole(), default=50),
        JSON,
        more="With PATTERN, only records whose path or command matches.",
        does="list_records",
    ),
    ARCHIVE_SEARCH,
    Operation(
        "show ID",
        "one record and its content, as the model saw it",
        Flag("--raw", "only the content, byte for byte, including control characters"),
        JSON,
        more="ID is a handle, or the beginning of one.",
        does="show_record",
    ),
    Operation("verify", "check that every record is as it was written, and name the first broken one of each context", JSON, does="verify"),
    Operation(
        "prune",
        "delete old contents for good",
        Flag("--older-than AGE", "delete contents archived longer ago than this: 12h, 30d, 8w", AGE, needed=True),
        DRY_RUN,
        YES,
        JSON,
        effect=DESTROYS,
        does="prune",
    ),
)
