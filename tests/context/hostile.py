"""What callers may be called."""

from __future__ import annotations

HOSTILE = {
    "a NUL": "dana\0root",
    "quotes": "da'na\"`; --",
    "SQL": "x'); DROP TABLE context_snapshots; DROP TABLE context_usage; --",
    "a format": "%s %(user)s {0} :user ?1 $1",
    "lines": "dana\r\n\r\nSet-Cookie: a=b\n",
    "a path": "../../../../etc/passwd",
    "escapes": "\x1b]0;title\x07\x1b[2J\u202egnp.exe",
    "half a surrogate": "dana\ud800",
    "a megabyte": "d" * 1_000_000,
    "many bytes": "\U0001f9ea" * 20_000,
    "blank": " \t ",
    "one letter": "\u0130",
}
