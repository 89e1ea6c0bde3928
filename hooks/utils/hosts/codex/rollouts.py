"""The rollouts of Codex, as files of sessions. Read, never changed."""

from __future__ import annotations

import os
import re

from ...io import home
from ...io.codec import as_object
from ...io.system import join
from .. import recording_files
from ..transcripts import usage
from .translation import usage_of, window_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...policy.usage import Usage


_SUFFIX = ".jsonl"
_USAGE_MARKS = (b'"token_usage_record"', b'"token_count"', b'"compacted"')
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT[\d-]{8}-([0-9a-f-]{36})\.jsonl")


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of Codex's sessions: `sessions` in $CODEX_HOME, else in ~/.codex. NoHome where nobody knows the user's own."""
    folder = environ.get("CODEX_HOME") or ""
    return join(home.absolute(folder) if folder else join(home.user_folder(environ), ".codex"), "sessions")


def session_id_of(path: str) -> str:
    """Return the id of the session that a rollout is named after; "" for a file of another name."""
    match = _NAME.fullmatch(os.path.basename(path))
    return match[1] if match else ""


def newest_first(environ: Mapping[str, str]) -> list[tuple[float, str]]:
    """Return (when it was last written in seconds, path) of the rollouts of all sessions, the one that was written last first."""
    return recording_files.newest_first(folder_of(environ), lambda path: path.endswith(_SUFFIX))


def newest_usage(path: str) -> Usage | None:
    """Return the newest request's usage, without its model, which is further up; None where the end has none, or of a compaction
    since."""
    for record in recording_files.newest_records(path, _USAGE_MARKS):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") == "compacted":
            return None
        info = payload.get("info")
        counts = usage_of(payload.get("usage")) or usage_of(as_object(info).get("last_token_usage"))
        if counts is not None:
            counts["context_window"] = window_in(payload) or window_in(info)
            return usage.usage_of({"type": "assistant", "timestamp": record.get("timestamp"), "message": {"usage": counts}})
    return None
