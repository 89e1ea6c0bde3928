"""The rollouts of Codex's sessions: where they are, and which is the newest. Reads only."""

from __future__ import annotations

import os

from ...io import home
from ...io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SUFFIX = ".jsonl"


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of Codex's sessions: `sessions` in $CODEX_HOME, else in ~/.codex. NoHome where nobody knows the user's own."""
    folder = environ.get("CODEX_HOME") or ""
    return join(home.absolute(folder) if folder else join(home.user_folder(environ), ".codex"), "sessions")


def newest_first(environ: Mapping[str, str]) -> list[str]:
    """Return the rollouts of all sessions, the one that was written last first."""
    found = []
    for folder, _, names in os.walk(folder_of(environ)):
        for name in names:
            if name.endswith(_SUFFIX):
                path = join(folder, name)
                try:
                    found.append((os.stat(path).st_mtime, path))
                except OSError:
                    continue
    return [path for _, path in sorted(found, reverse=True)]
