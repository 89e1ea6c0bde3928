"""The rollouts of Codex's sessions: where they are, and which is the newest. Reads only."""

from __future__ import annotations

import os
import re

from ...io import home
from ...io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SUFFIX = ".jsonl"
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT[\d-]{8}-([0-9a-f-]{36})\.jsonl")


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of Codex's sessions: `sessions` in $CODEX_HOME, else in ~/.codex. NoHome where nobody knows the user's own."""
    folder = environ.get("CODEX_HOME") or ""
    return join(home.absolute(folder) if folder else join(home.user_folder(environ), ".codex"), "sessions")


def session_id_of(path: str) -> str:
    """Return the id of the session that a rollout is named after; "" for a file of another name."""
    found = _NAME.fullmatch(os.path.basename(path))
    return found[1] if found else ""


def newest_first(environ: Mapping[str, str]) -> list[tuple[float, str]]:
    """Return (when it was last written in seconds, path) of the rollouts of all sessions, the one that was written last first."""
    found = []
    for folder, _, names in os.walk(folder_of(environ)):
        for name in names:
            if name.endswith(_SUFFIX):
                path = join(folder, name)
                try:
                    found.append((os.stat(path).st_mtime, path))
                except OSError:
                    continue
    return sorted(found, reverse=True)
