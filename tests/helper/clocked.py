"""`popkit` with the two clocks of a file: the time of day, and what has gone by."""

from __future__ import annotations

import json
import time
from pathlib import Path

from popkit_retention.cli.main import main


def popkit(clocks: str, words: list[str]) -> None:
    """Run `popkit WORDS`."""
    time.time = lambda: json.loads(Path(clocks).read_text())[0]
    time.clock_gettime = lambda _which: json.loads(Path(clocks).read_text())[1]
    time.CLOCK_BOOTTIME = 7
    main(words)
