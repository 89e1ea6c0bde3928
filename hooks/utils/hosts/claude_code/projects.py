"""Where the host keeps the transcripts of sessions and of their subagents. Reads only."""

from __future__ import annotations

import os

from ...edges import home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SUFFIX = ".jsonl"


def folder_of(environ: Mapping[str, str]) -> str:
    """The host's folder of projects."""
    return os.path.join(home.claude_folder(environ), "projects")


def every(environ: Mapping[str, str]) -> list[str]:
    """The transcripts of all main threads."""
    root = folder_of(environ)
    return transcripts(os.path.join(root, name) for name in names(root))


def names(folder: str) -> list[str]:
    """What a folder holds, in order; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def transcripts(folders: Iterable[str]) -> list[str]:
    """The transcripts of main threads in these folders; the host's older versions keep those of subagents beside them."""
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in names(folder)
        if name.endswith(SUFFIX) and not name.startswith("agent-")
    ]


def changed(path: str) -> float:
    """When a file was last written (seconds); 0 for one that is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def agent_transcript(transcript_path: str, agent_id: str) -> str:
    """Return the path of a subagent's transcript, beside that of the main thread; "" for an id that is no plain name."""
    stem = transcript_path[: -len(SUFFIX)] if transcript_path.endswith(SUFFIX) else ""
    return f"{stem}/subagents/agent-{agent_id}{SUFFIX}" if stem and home.safe_name(agent_id) == agent_id else ""
