"""The session files of Copilot CLI. Read, never changed."""

from __future__ import annotations

import re

from ...io import home
from ...io.codec import as_object
from ...io.system import join
from .. import recording_files
from ..transcripts import usage
from .translation import usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...policy.usage import Usage

_PATH = re.compile(r"(?:.*[/\\])?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[/\\]events\.jsonl", re.DOTALL)


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of the sessions: `session-state` in $COPILOT_HOME, else in ~/.copilot. NoHome where nobody knows the user's own."""
    named = environ.get("COPILOT_HOME") or ""
    return join(home.absolute(named) if named else join(home.user_folder(environ), ".copilot"), "session-state")


def session_id_of(path: str) -> str:
    """Return the id of the session that a file, or the folder of its events, is named after; "" for any other file."""
    match = _PATH.fullmatch(path)
    return match[1] if match else ""


def newest_first(environ: Mapping[str, str]) -> list[tuple[float, str]]:
    return recording_files.newest_first(folder_of(environ), session_id_of)


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a session; None where the end of its file has none, or a compaction has come since."""
    for event in recording_files.newest_records(path, (b'"session.usage_record"', b'"session.compaction_complete"')):
        data = event.get("data")
        if not isinstance(data, dict) or event.get("agentId"):
            continue
        if event.get("type") == "session.compaction_complete" and data.get("success") is True:
            return None
        used = as_object(data.get("usage"))
        counts = usage_of(used)
        if event.get("type") == "session.usage_record" and counts is not None:
            answer = {"model": used.get("model"), "usage": counts}
            return usage.usage_of({"type": "assistant", "timestamp": event.get("timestamp"), "message": answer})
    return None
