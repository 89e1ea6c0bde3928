"""Find the transcripts of sessions: by session, by project, the newest first. Reads only.

They lie in a folder for each project, below the folder of Claude Code and below ours, where those of other hosts are kept. A session's
start loads this module where memory is on, so only the functions that need `os.path` load it.
"""

from __future__ import annotations

from ...io import files, home
from ...io.system import join, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SUFFIX = ".jsonl"
# The host shortens longer folder names and puts a hash behind them.
_FOLDER_NAME_CHARS = 200


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the host's folder of projects."""
    return join(home.claude_folder(environ), "projects")


def roots(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that have a folder for each project: the host's, and ours, where the helper keeps the transcripts of
    other hosts."""
    return [folder_of(environ), join(home.popkit_home(environ), home.TRANSCRIPTS)]


def session_id_of(path: str) -> str:
    """Return the session of a transcript: the host names the file after it."""
    from os.path import basename

    return basename(path).removesuffix(SUFFIX)


def every(environ: Mapping[str, str]) -> list[str]:
    """Return the transcripts of all main threads, those that are kept of other hosts included."""
    return transcripts(join(root, name) for root in roots(environ) for name in files.names(root))


def newest_first(environ: Mapping[str, str]) -> list[str]:
    """Return the same, the one that was written last first; nothing where nobody knows where the host's folder is."""
    try:
        return sorted(every(environ), key=changed, reverse=True)
    except home.NoHome:
        return []


def transcripts(folders: Iterable[str]) -> list[str]:
    """Return the transcripts of main threads in these folders; the host's older versions keep those of subagents beside them."""
    return [
        join(folder, name) for folder in folders for name in files.names(folder) if name.endswith(SUFFIX) and not name.startswith("agent-")
    ]


def of_session(environ: Mapping[str, str], wanted: str) -> list[str]:
    """Return the transcripts of the session with this id; where there is none, of those whose ids begin so."""
    paths = every(environ)
    return [path for path in paths if session_id_of(path) == wanted] or [
        path for path in paths if wanted and session_id_of(path).startswith(wanted)
    ]


def newest_of_project(environ: Mapping[str, str], folder: str) -> str | None:
    """Return the newest transcript of the project that a folder belongs to: its own, else the nearest one above it that has any. None
    where there is none."""
    from os.path import abspath, dirname

    folders = roots(environ)
    here = abspath(folder)
    while True:
        paths = transcripts(folder for root in folders for folder in _project_folders(root, here))
        if paths:
            return max(paths, key=lambda path: (changed(path), path))
        above = dirname(here)
        if above == here:
            return None
        here = above


def transcript_of_agent(transcript_path: str, agent_id: str) -> str:
    """Return the transcript of a subagent, as the host lays it beside that of the main thread; "" for an id that is no plain name."""
    stem = transcript_path[: -len(SUFFIX)] if transcript_path.endswith(SUFFIX) else ""
    return f"{stem}/subagents/agent-{agent_id}{SUFFIX}" if stem and home.safe_name(agent_id) == agent_id else ""


def context_of(path: str) -> tuple[str, str]:
    """Return (session id, agent id) of a transcript; "" for the main thread."""
    folder, _, name = path.removesuffix(SUFFIX).rpartition("/subagents/agent-")
    return (session_id_of(folder), name) if folder else (session_id_of(path), "")


def transcripts_of_agents(transcript_path: str) -> list[str]:
    """Return the transcripts of a session's subagents."""
    folder = join(transcript_path.removesuffix(SUFFIX), "subagents")
    return [join(folder, name) for name in files.names(folder) if name.endswith(SUFFIX)]


def _project_folders(root: str, project: str) -> list[str]:
    name = folder_name(project)
    if len(name) <= _FOLDER_NAME_CHARS:
        return [join(root, name)]
    return [join(root, other) for other in files.names(root) if other.startswith(name[:_FOLDER_NAME_CHARS])]


def folder_name(project: str) -> str:
    """Return the host's name for a project's folder: everything but ASCII letters and digits becomes a dash, for each UTF-16 unit."""
    return "".join(char if char.isascii() and char.isalnum() else "-" * (2 if ord(char) > 0xFFFF else 1) for char in project)


def changed(path: str) -> float:
    """Return when a file was last written (seconds); 0 for one that is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
