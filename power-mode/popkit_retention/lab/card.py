"""What two people need to compare their runs: which code, prices and sessions the figures of a survey come from, as digests.

The same code on the same sessions at the same prices gives the same figures, whatever the machine, the paths or the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from typing import Any

from hooks.utils.hosts.claude_code import entries
from hooks.utils.io import home

from . import loading

SHOWN = 12  # characters of a digest
# What decides the figures: the engine with its model of need, the readers of transcripts, the lab, and the shipped settings and prices.
_SOURCES = ("hooks/utils/policy", "hooks/utils/archive", "hooks/utils/hosts", "hooks/utils/state", "hooks/utils/data")
_CHUNK = 1 << 20


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file's content, and of a session in a host's own storage of its translation; OSError."""
    digest = hashlib.sha256()
    for line in (stored := entries.stored(path)) or ():
        digest.update(line)
    if stored is not None:
        return digest.hexdigest()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def engine() -> str:
    """Return the digest of the code and the shipped settings that the figures come from."""
    root = home.plugin_root()
    lab = os.path.dirname(os.path.abspath(__file__))
    files = [os.path.join(root, "retention-config.json")]
    for folder in (*(os.path.join(root, name) for name in _SOURCES), lab):
        for at, _, names in os.walk(folder):
            files += [os.path.join(at, name) for name in names if name.endswith((".py", ".json"))]
    return _all_of(f"{os.path.basename(path)} {digest_of(path)}" for path in files)


def corpus(digests: list[str]) -> str:
    """Return the digest of sessions by those of their files, in whatever order."""
    return _all_of(digests)


def _all_of(lines: Any) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def card_of(survey: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the card of a survey by this version of PopKit. `policies`: of somebody's own ones the digests of their files."""
    lifetimes = {ttl_s: {loading.shown(name): one for name, one in policies.items()} for ttl_s, policies in survey["ttls"].items()}
    return {
        "popkit": version,
        "engine": engine(),
        "prices": survey["dated"],
        "model": survey["model"],
        "sessions": survey["sessions"],
        "corpus": corpus([row["digest"] for row in survey["rows"]]),
        "policies": {loading.shown(name): loading.load(name).digest for name in survey["descriptions"] if loading.is_own(name)},
        "results": hashlib.sha256(json.dumps(lifetimes, sort_keys=True).encode()).hexdigest(),
    }
