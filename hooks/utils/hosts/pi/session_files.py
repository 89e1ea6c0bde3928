"""The session files of pi. Read, never changed."""

from __future__ import annotations

import os
import re  # noqa: TID253  no hook on a tool call reads other hosts' records

from ...io import home
from ...io.system import join
from .. import recording_files
from ..transcripts import usage
from .translation import SESSION, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...policy.usage import Usage

_NAME = re.compile(r"\d{4}-\d\d-\d\dT[\d-]{8,12}Z_([\w.-]{1,200})\.jsonl")


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of pi's sessions, with a folder for each project. NoHome where nobody knows the user's own."""
    named = environ.get("PI_CODING_AGENT_SESSION_DIR") or ""
    if named:
        return home.absolute(named)
    agent = environ.get("PI_CODING_AGENT_DIR") or ""
    return join(home.absolute(agent) if agent else join(home.user_folder(environ), ".pi", "agent"), "sessions")


def session_id_of(path: str) -> str:
    """Return the id of the session that a file is named after; "" for a file of another name."""
    match = _NAME.fullmatch(os.path.basename(path))
    return SESSION + match[1] if match else ""


def newest_first(environ: Mapping[str, str]) -> list[tuple[float, str]]:
    return recording_files.newest_first(folder_of(environ), session_id_of)


def newest_usage(path: str) -> Usage | None:
    """Return the usage of the newest request of a session; None where the end of its file has none, or a compaction has come since."""
    for entry in recording_files.newest_records(path, (b'"assistant"', b'"compaction"')):
        if entry.get("type") == "compaction":
            return None
        message = entry.get("message")
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        counts = usage_of(message.get("usage"))
        if counts is not None:
            answer = {"model": message.get("model"), "usage": counts}
            return usage.usage_of({"type": "assistant", "timestamp": entry.get("timestamp"), "message": answer})
    return None
