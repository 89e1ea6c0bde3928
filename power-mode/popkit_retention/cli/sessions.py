"""Finds transcripts of the host: by session, by file, the newest of a project, the newest of all. Reads only."""

from __future__ import annotations

import os

from hooks.utils.answers.text import clean
from hooks.utils.edges import home
from hooks.utils.edges.codec import loads
from hooks.utils.edges.files import open_regular
from hooks.utils.hosts.claude_code.projects import SUFFIX, changed, every, folder_of, names, transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The host shortens longer folder names and puts a hash behind them.
_FOLDER_NAME_CHARS = 200
_ID_SHOWN = 5
_INSTEAD = "`popkit context` without --session takes the newest of this project"
# `newest_with_results` looks into so many files before it gives up.
_LOOKED_INTO = 50


class NoSession(Exception):
    """There is no such session, or the file is none; the message says which and what to do."""


def folder_name(project: str) -> str:
    """The host's name for a project's folder: everything but ASCII letters and digits becomes a dash, for each UTF-16 unit."""
    return "".join(char if char.isascii() and char.isalnum() else "-" * (2 if ord(char) > 0xFFFF else 1) for char in project)


def session_id_of(path: str) -> str:
    """The session of a transcript file: the host names the file after it."""
    return os.path.basename(path)[: -len(SUFFIX)] if path.endswith(SUFFIX) else os.path.basename(path)


def newest_of_project(environ: Mapping[str, str], folder: str) -> str:
    """The newest transcript of the project that a folder belongs to: its own, else the nearest one above it that has any."""
    root = folder_of(environ)
    here = os.path.abspath(folder)
    while True:
        found = _newest(transcripts(_project_folders(root, here)))
        if found:
            return found
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    raise NoSession(
        f"no Claude Code session of {clean(folder)} under {clean(root)}. Run `popkit try` for the newest of any project, or name one with"
        " --session ID or --transcript FILE"
    )


def _project_folders(root: str, project: str) -> list:
    name = folder_name(project)
    if len(name) <= _FOLDER_NAME_CHARS:
        return [os.path.join(root, name)]
    return [os.path.join(root, other) for other in names(root) if other.startswith(name[:_FOLDER_NAME_CHARS])]


def by_id(environ: Mapping[str, str], wanted: str, instead: str = _INSTEAD) -> str:
    """The transcript of a session, by its id or the beginning of one. `instead`: what to do where there is none."""
    root = folder_of(environ)
    paths = every(environ)
    found = [path for path in paths if session_id_of(path) == wanted] or [
        path for path in paths if wanted and session_id_of(path).startswith(wanted)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSession(f"no session {clean(wanted)} under {clean(root)}. {instead}")
    ids = ", ".join(clean(session_id_of(path)) for path in found[:_ID_SHOWN])
    raise NoSession(f"{len(found)} sessions begin with {clean(wanted)}: {ids}. Give more of the id")


def newest_with_results(environ: Mapping[str, str]) -> str | None:
    """The newest transcript of any project in which a tool was called; None where there is none."""
    try:
        paths = sorted(every(environ), key=changed, reverse=True)
    except home.NoHome:
        return None
    return next((path for path in paths[:_LOOKED_INTO] if _has_results(path)), None)


def _newest(paths: list) -> str | None:
    return max(paths, key=lambda path: (changed(path), path), default=None)


def _has_results(path: str) -> bool:
    try:
        with open_regular(path) as file:
            return any(b'"tool_result"' in line for line in file)
    except OSError:
        return False


def check(path: str) -> str:
    """The folder in which the session of a transcript began ("" when it does not say); NoSession for a file that is none."""
    lines = 0
    try:
        with open_regular(path) as file:
            for line in file:
                lines += bool(line.strip())
                entry = _conversation_entry(line)
                if entry is not None:
                    cwd = entry.get("cwd")
                    return cwd if isinstance(cwd, str) else ""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NoSession(f"{clean(path)}: cannot be read: {clean(why)}") from None
    if not lines:
        raise NoSession(f"{clean(path)}: is empty")
    raise NoSession(f"{clean(path)}: is not a Claude Code transcript: none of its {lines:,} lines belongs to a conversation")


def _conversation_entry(line: bytes) -> dict | None:
    if b'"uuid"' not in line:
        return None
    try:
        entry = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("uuid"), str):
        return None
    return entry if entry.get("type") in ("user", "assistant", "system", "attachment") else None
