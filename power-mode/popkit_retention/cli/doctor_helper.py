"""The check of `popkit doctor` on the helper of a session, which it asks over the helper's socket."""

from __future__ import annotations

import json
from typing import NamedTuple

from popkit_retention.core.io import hook_log
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.state import asking, sockets, stored_contexts
from popkit_retention.core.text import clean
from popkit_retention.core.units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


SESSION = "CLAUDE_CODE_SESSION_ID"
FIRST_CLIENT = (2, 1, 326)
LIMIT_S = 1.0
_OURS = ("serve", "door")


class Health(NamedTuple):
    """The health of the helper: its `version`, the `rows` that it was asked about, those that it has `rewritten`, the median of its
    answers' times (milliseconds) and its memory (megabytes), None where unknown."""

    version: str
    rows: int
    rewritten: int
    p50_ms: float | None
    rss_mb: float | None


def helper(popkit_home: str, project: str, environ: Mapping[str, str], client: str, version: str) -> Check:
    """Check the helper of the session. `client`: its version, "" where it is unknown; `version`: ours."""
    failed = hook_log.count_failures(popkit_home, _OURS)
    facts: dict[str, Any] = {"modules": None, "running": False, "failures": failed}
    note = f"; {counted(failed, 'failure')} of it in the log" if failed else ""
    numbers = tuple(int(number) for number in client.split(".")) if client else ()
    if numbers:
        facts["modules"] = numbers >= FIRST_CLIENT
    if facts["modules"] is False:
        first = ".".join(map(str, FIRST_CLIENT))
        summary = f"Claude Code {client} cannot run the code of plugins ({first} can), so results enter unchanged"
        return Check("helper", OK, summary + note, **facts)
    session_id = newest(popkit_home, project, environ)
    path = _socket(popkit_home, session_id)
    if not path:
        if not environ.get(SESSION):  # whether a session is running is unknown
            return Check("helper", OK, f"none runs now; each session starts its own{note}", **facts)
        advice = "Restart the session with --resume. Lines with `serve` in the log of hooks say what went wrong."
        return Check("helper", WARNING, f"none runs for session {session_id[:8]}, so its results enter unchanged{note}", advice, **facts)
    health = _health(path)
    if health is None:
        advice = "Nothing is lost: results enter unchanged. Restart the session with --resume."
        return Check(
            "helper", WARNING, f"the one of session {session_id[:8]} does not answer within {LIMIT_S:.0f} s{note}", advice, **facts
        )
    facts.update(running=True, session=session_id, **health._asdict())
    summary = f"runs for session {session_id[:8]}: {_in_words(health)}{note}"
    if health.version != version:
        advice = "It was started before the update. Restart the session with --resume."
        return Check("helper", WARNING, f"{summary}; it is {clean(health.version)}, this is {version}", advice, **facts)
    return Check("helper", OK, summary, **facts)


def _in_words(health: Health) -> str:
    parts = [f"{counted(health.rows, 'result')}, {health.rewritten:,} of them entered shorter"]
    parts += [f"{health.p50_ms:g} ms each (median)"] if health.p50_ms is not None else []
    parts += [f"{health.rss_mb:g} MB"] if health.rss_mb is not None else []
    return ", ".join(parts)


def newest(popkit_home: str, project: str, environ: Mapping[str, str]) -> str:
    """Return the session that runs us, else the newest of the project; "" where there is none."""
    if environ.get(SESSION):
        return environ[SESSION]
    return next((paths.session_id for paths in stored_contexts.contexts_of_project(popkit_home, project)), "")


def _socket(popkit_home: str, session_id: str) -> str:
    """Return the socket of the session's helper; "" for none."""
    return next(iter(sockets.of_session(popkit_home, session_id)), "") if session_id else ""


def _health(path: str) -> Health | None:
    """Return the helper's answer to /health; None where it is not understood, as the answer of another version may be."""
    try:
        answer: Any = json.loads(asking.ask(path, "/health", b"{}", LIMIT_S))
        health = Health(*(answer[name] for name in Health._fields))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    has_counts = type(health.rows) is int and type(health.rewritten) is int
    has_measures = all(value is None or type(value) in (int, float) for value in (health.p50_ms, health.rss_mb))
    return health if has_counts and has_measures and type(health.version) is str else None
