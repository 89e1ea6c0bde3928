"""What PopKit's processes do in a client test: an interpreter in place of Python that notes each write into the client's own folder, and
each connection to another machine or port.

The launcher takes the first one on PATH, and PopKit starts its other processes with the one that runs it: so all of them run under this
one. What the client itself writes and sends is not looked at.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Imported, so that it is compiled once and not by each hook.
START = f'import sys; sys.path[0] = "{Path(__file__).parent}"; import watched_python; watched_python.main()'


class Watch:
    """An interpreter that watches, in a `folder` of its own, and what it has noted."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.notes = folder / "notes"
        self.interpreter = folder / "python3"
        self.interpreter.write_text(
            f"#!/bin/sh\nPOPKIT_WATCH='{self.notes}' exec '{sys.executable}' -X utf8 -S -E -c '{START}' \"$0\" \"$@\"\n"
        )
        self.interpreter.chmod(0o700)

    def seen(self) -> list[str]:
        """What was noted since the last time."""
        try:
            read = self.notes.rename(self.notes.with_name("read"))
        except FileNotFoundError:
            return []
        return read.read_text().splitlines()
