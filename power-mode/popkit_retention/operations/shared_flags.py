"""Flags that operations of several tables have."""

from __future__ import annotations

from hooks.utils.argument_types import FILE, whole
from hooks.utils.flag_parser import Flag

HOST = Flag("--host claude-code|codex|opencode", "whose sessions, where no path is given", default="claude-code")
# Of what works on any number of sessions.
MANY_SESSIONS = (
    Flag("--list FILE", "also the paths and addresses in FILE, one on each line (-: standard input)", FILE),
    Flag("--jobs N", "processes (default: one for each processor)", whole()),
    Flag("--scheduler ADDRESS", "on the Dask cluster of this scheduler instead, such as tcp://10.0.0.5:8786"),
)
