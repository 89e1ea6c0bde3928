"""What `popkit doctor` says of the mod's helper: whether the client can load mods, whether a helper runs for the newest session of the
project, and how it does. Asks it over its socket; changes nothing."""

from __future__ import annotations

import json

from hooks.utils.edges import failures, unix_http
from hooks.utils.state import peek
from hooks.utils.text import clean, counted

from .check import OK, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "helper"
FIRST_CLIENT = (2, 1, 287)
LIMIT_S = 1.0
_SESSION = "CLAUDE_CODE_SESSION_ID"
_OURS = ("serve", "door")


def helper(popkit_home: str, project: str, environ: Mapping[str, str], client: str, version: str) -> Check:
    """`client`: its version, "" where it is unknown; `version`: ours."""
    failed = failures.count(popkit_home, _OURS)
    facts: dict[str, Any] = {"modules": None, "running": False, "failures": failed}
    told = f"; {counted(failed, 'failure')} of it in the log" if failed else ""
    numbers = tuple(int(number) for number in client.split(".")) if client else ()
    if numbers:
        facts["modules"] = numbers >= FIRST_CLIENT
    if facts["modules"] is False:
        first = ".".join(map(str, FIRST_CLIENT))
        said = f"Claude Code {client} loads no code of plugins ({first} does), so results enter as they come"
        return Check(NAME, OK, said + told, **facts)
    session_id = newest(popkit_home, project, environ)
    path = _socket(popkit_home, session_id)
    if not path:
        if not environ.get(_SESSION):  # nobody can tell whether it is at work
            return Check(NAME, OK, f"none runs now; each session starts its own{told}", **facts)
        advice = "Start the session anew with --resume. Lines with `serve` in the log of hooks say what went wrong."
        return Check(NAME, WARNING, f"none runs for session {session_id[:8]}, so its results enter as they come{told}", advice, **facts)
    health = _health(path)
    if health is None:
        advice = "Nothing is lost: results enter as they come. Start the session anew with --resume."
        return Check(NAME, WARNING, f"that of session {session_id[:8]} does not answer within {LIMIT_S:.0f} s{told}", advice, **facts)
    facts.update(running=True, session=session_id, **health)
    said = f"runs for session {session_id[:8]}: {_in_words(health)}{told}"
    if health.get("version") != version:
        advice = "It was started before the update. Start the session anew with --resume."
        return Check(NAME, WARNING, f"{said}; it is {clean(str(health.get('version')))}, this is {version}", advice, **facts)
    return Check(NAME, OK, said, **facts)


def _in_words(health: dict[str, Any]) -> str:
    parts = [f"{counted(health['rows'], 'result')}, {health['rewritten']:,} of them entered shorter"]
    parts += [f"{health['p50_ms']:g} ms each (median)"] if health["p50_ms"] is not None else []
    parts += [f"{health['rss_mb']:g} MB"] if health["rss_mb"] is not None else []
    return ", ".join(parts)


def newest(popkit_home: str, project: str, environ: Mapping[str, str]) -> str:
    """The session that asks, else the newest of the project; "" for none."""
    if environ.get(_SESSION):
        return environ[_SESSION]
    return next((seen.paths.session_id for seen in peek.of_project(popkit_home, project)), "")


def _socket(popkit_home: str, session_id: str) -> str:
    """Where the session's helper listens; "" where none does."""
    from hooks.utils.state import sockets

    return next(iter(sockets.of_session(popkit_home, session_id)), "") if session_id else ""


def _health(path: str) -> dict[str, Any] | None:
    """What the helper says of itself; None where that is not understood."""
    try:
        value = json.loads(unix_http.ask(path, "/health", b"{}", LIMIT_S))
    except (OSError, ValueError):
        return None
    known: dict[str, Any] = {
        "version": str,
        "rows": int,
        "rewritten": int,
        "p50_ms": (float, int, type(None)),
        "rss_mb": (float, int, type(None)),
    }
    if not isinstance(value, dict) or not all(isinstance(value.get(name), kind) for name, kind in known.items()):
        return None
    return {name: value[name] for name in known}
