"""The card of a survey: the code, prices and sessions behind its figures, as digests, so that two people can compare their runs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.io import home

from . import own_policies

DIGEST_CHARS = 12  # characters of a digest
# The code and data behind the figures: the engine with its model of need, readers of transcripts, the lab, shipped settings and prices.
_SOURCES = ("hooks/utils/policy", "hooks/utils/archive", "hooks/utils/hosts", "hooks/utils/state", "hooks/utils/data")
_CHUNK = 1 << 20


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file's content, and for a session in a host's own storage that of its translation; OSError."""
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


def _all_of(lines: Iterable[str]) -> str:
    """Return the digest of lines, whatever their order."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def card_of(survey: dict[str, Any], version: str) -> dict[str, object]:
    """Return the card of a survey by this version of PopKit. `policies`: for users' own ones the digests of their files."""
    lifetimes = {
        ttl_s: {own_policies.shown(name): figures for name, figures in policies.items()} for ttl_s, policies in survey["ttls"].items()
    }
    return {
        "popkit": version,
        "engine": engine(),
        "prices": survey["dated"],
        "model": survey["model"],
        "sessions": survey["sessions"],
        "corpus": _all_of(row["digest"] for row in survey["rows"]),
        "policies": {
            own_policies.shown(name): own_policies.load(name).digest for name in survey["descriptions"] if own_policies.is_own(name)
        },
        "results": hashlib.sha256(json.dumps(lifetimes, sort_keys=True).encode()).hexdigest(),
    }
