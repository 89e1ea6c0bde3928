"""The operations that several skins share. Here are the flags that several commands have."""

from __future__ import annotations

from popkit_retention.core.argument_types import FILE, whole
from popkit_retention.core.operation_tables import Flag

HOST = Flag("--host claude-code|codex|opencode|pi|copilot", "the host whose sessions to use if no path is given", default="claude-code")
# Flags of operations on any number of sessions.
MANY_SESSIONS = (
    Flag("--list FILE", "also read paths and addresses from FILE, one per line (-: standard input)", FILE),
    Flag("--jobs N", "number of processes (default: one per processor)", whole()),
    Flag("--scheduler ADDRESS", "work on this scheduler's Dask cluster instead, such as tcp://10.0.0.5:8786"),
)
DRY_RUN = Flag("--dry-run", "only show what would happen")
YES = Flag("--yes", "do not ask")
JSON = Flag("--json", "as JSON")
PATH_NOTE = (
    "PATH is a transcript, a folder of them, a database of OpenCode, or an address such as s3://company/sessions/; without PATH, it"
    " covers all sessions of this user."
)
# Limits of one call by an agent: matches, characters of a query.
MOST_FOUND, LONGEST_QUERY = 100, 1_000
