"""Copilot CLI's session files: where they lie, which session each is of, and its newest usage. Read, never changed."""

from __future__ import annotations

import json
import os
import re

from ...io import files, home
from ...io.system import join
from ..transcripts import usage
from .translation import usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...policy.usage import Usage

_TAIL_BYTES = 128 * 1024
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
    """Return (when it was last written in seconds, path) of the files of all sessions, the one that was written last first."""
    folder, found = folder_of(environ), []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        path = join(join(folder, name), "events.jsonl")
        if session_id_of(path):
            try:
                found.append((os.stat(path).st_mtime, path))
            except OSError:
                continue
    return sorted(found, reverse=True)


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a session; None where the end of its file has none, or a compaction has come since."""
    try:
        with files.open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).split(b"\n")
    except (OSError, ValueError):
        return None
    for line in reversed(lines):
        if b'"session.usage_record"' not in line and b'"session.compaction_complete"' not in line:
            continue
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        data = event.get("data") if isinstance(event, dict) else None
        if not isinstance(data, dict) or event.get("agentId"):
            continue
        if event.get("type") == "session.compaction_complete" and data.get("success") is True:
            return None
        used = data.get("usage")
        used = used if isinstance(used, dict) else {}
        counts = usage_of(used)
        if event.get("type") == "session.usage_record" and counts is not None:
            answer = {"model": used.get("model"), "usage": counts}
            return usage.usage_of({"type": "assistant", "timestamp": event.get("timestamp"), "message": answer})
    return None
