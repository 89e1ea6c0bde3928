"""Transcripts of the host as a person names them: by session, the newest of a project, the newest of all; NoSession says what to do
where there is none. Reads only."""

from __future__ import annotations

import os

from hooks.utils.hosts import entire, recordings
from hooks.utils.hosts.claude_code import entries, projects
from hooks.utils.hosts.claude_code.projects import session_id_of
from hooks.utils.hosts.codex import rollouts
from hooks.utils.io.codec import loads
from hooks.utils.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLAUDE_CODE = "claude-code"  # as `--host` names it
_ID_SHOWN = 5
_INSTEAD = "`popkit context` without --session takes the newest of this project"
# `newest_with_results` looks into so many files before it gives up.
_LOOKED_INTO = 50


class NoSession(Exception):
    """There is no such session, or the file is none; the message says which and what to do."""


def newest_of_project(environ: Mapping[str, str], folder: str) -> str:
    """Return the newest transcript of the project that a folder belongs to; NoSession for none."""
    found = projects.newest_of_project(environ, folder)
    if found is None:
        raise NoSession(
            f"no Claude Code session of {clean(folder)} under {clean(projects.folder_of(environ))}. Run `popkit try` for the newest of any"
            " project, or name one with --session ID or --transcript FILE"
        )
    return found


def by_id(environ: Mapping[str, str], wanted: str, instead: str = _INSTEAD) -> str:
    """Return the transcript of a session, by its id or the beginning of one. `instead`: what to do where there is none."""
    found = projects.of_session(environ, wanted)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSession(f"no session {clean(wanted)} under {clean(projects.folder_of(environ))}. {instead}")
    ids = ", ".join(clean(session_id_of(path)) for path in found[:_ID_SHOWN])
    raise NoSession(f"{len(found)} sessions begin with {clean(wanted)}: {ids}. Give more of the id")


def newest_with_results(environ: Mapping[str, str], host: str = CLAUDE_CODE) -> str | None:
    """Return the newest transcript of any project in which a tool was called, None where there is none; NoSession where there is none of
    another host."""
    if host == CLAUDE_CODE:
        return next((path for path in projects.newest_first(environ)[:_LOOKED_INTO] if _has_results(path)), None)
    found = next((path for path in rollouts.newest_first(environ)[:_LOOKED_INTO] if _has_results(path)), None)
    if found is None:
        raise NoSession(f"there are no sessions of Codex with a tool call in {clean(rollouts.folder_of(environ))}. Name a file instead")
    return found


def folder_of_host(environ: Mapping[str, str], host: str) -> str:
    """Return the folder in which a host keeps its sessions, as `--host` names it; NoSession where it does not exist."""
    folder = projects.folder_of(environ) if host == CLAUDE_CODE else rollouts.folder_of(environ)
    if not os.path.isdir(folder):
        name = "Claude Code" if host == CLAUDE_CODE else "Codex"
        raise NoSession(f"there are no sessions of {name} here: {clean(folder)} does not exist. Name a folder or a file")
    return folder


def _has_results(path: str) -> bool:
    try:
        return any(b'"tool_result"' in line for _, line in entries.lines(path))
    except OSError:
        return False


def check(path: str) -> str:
    """The folder in which the session of a transcript began ("" when it does not say); NoSession for a file that is none."""
    lines, condensed = 0, False
    try:
        for _, line in entries.lines(path):
            condensed = condensed or (not lines and entire.is_condensed(line))
            lines += bool(line.strip())
            entry = _conversation_entry(line)
            if entry is not None:
                cwd = entry.get("cwd")
                return cwd if isinstance(cwd, str) else ""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NoSession(f"{clean(path)}: cannot be read: {clean(why)}") from None
    host = recordings.host_of(path)
    if host != recordings.CLAUDE_CODE:
        raise NoSession(f"{clean(path)}: is a recording of {host} that holds no conversation")
    if not lines:
        raise NoSession(f"{clean(path)}: is empty")
    if condensed:
        raise NoSession(f"{clean(path)}: is the condensed copy of a checkpoint, without results. Name the {entire.FULL} beside it")
    raise NoSession(
        f"{clean(path)}: is not a Claude Code transcript or a Codex rollout: none of its {lines:,} lines belongs to a conversation"
    )


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
