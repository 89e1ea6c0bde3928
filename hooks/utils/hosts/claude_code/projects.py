"""Find what the host keeps of each project: the transcripts of its sessions, by session, by project, the newest first; and its own memory:
MEMORY.md, which every session is given, and topic files, which the model reads when it needs them. Reads only. A
session's start loads it where memory is on, so only the functions that need `os.path` load it.
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


# --- its own memory ---

DOCUMENT = "MEMORY.md"
# What the host gives a session of its MEMORY.md, and what we read of a topic.
MOST_LINES, MOST_BYTES = 200, 25_000
MOST_TOPICS = 50


class OwnMemory:
    """`folder`: where the host keeps it · `document`: what a session is given · `topics`: file -> text."""

    __slots__ = ("_texts", "document", "folder", "topics")

    def __init__(self, folder: str, document: str = "", topics: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.document = document
        self.topics = topics
        self._texts = [" ".join(text.split()).lower() for text in (document, *topics.values()) if text]

    def contains(self, text: str) -> bool:
        """Return whether it says this text, as whole words, however it is wrapped and written large or small."""
        wanted = " ".join(text.split()).strip(" .!").lower()
        return bool(wanted) and any(_has_whole(known, wanted) for known in self._texts)


def own_memory(environ: Mapping[str, str], root: str) -> OwnMemory:
    """Return what the host remembers of the project whose checkout is at `root`; an empty one where it keeps none."""
    try:
        folder = join(folder_of(environ), folder_name(root), "memory")
    except home.NoHome:
        return OwnMemory("")
    named = [name for name in files.names(folder) if name.endswith(".md")]
    texts = {name: _text(join(folder, name)) for name in named[: MOST_TOPICS + 1]}
    document = "\n".join(texts.pop(DOCUMENT, "").split("\n")[:MOST_LINES])
    return OwnMemory(folder, document, texts)


def _has_whole(text: str, wanted: str) -> bool:
    """Return whether a text has another one anywhere without going on a word of ASCII letters, digits and `_` before or behind it."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not any(char.isascii() and (char.isalnum() or char == "_") for char in text[max(0, at - 1) : at] + text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


def _text(path: str) -> str:
    try:
        return files.read_text(path, MOST_BYTES) or ""
    except OSError:
        return ""
