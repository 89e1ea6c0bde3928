"""Things to archive, and what the files of an archive hold."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

from tests.governance.collectors import Desk

LONG = b"value = 1\n" * 100
NOISE = random.Random(1).randbytes(300)


def path_of(desk: Desk, archive_id: str, *names: str) -> Path:
    return Path(desk.folder.archives, archive_id, *names)


def sealed(value: dict) -> bytes:
    """A manifest with the right hash, whatever it says."""
    body = json.dumps({key: each for key, each in value.items() if key != "sha256"}, sort_keys=True, separators=(",", ":"))
    return ('{"sha256":"' + hashlib.sha256(body.encode()).hexdigest() + '",' + body[1:] + "\n").encode()
