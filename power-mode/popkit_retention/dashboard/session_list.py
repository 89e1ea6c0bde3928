"""The list of sessions: running ones first, then the newest. For a session that is not open, it has what is cheap to read: the newest usage
in its transcript, and the stored facts of its context."""

from __future__ import annotations

import time
from typing import NamedTuple

from popkit_retention.core.hosts import recorded_sessions
from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.io.codec import as_text
from popkit_retention.core.state import session, store, stored_contexts
from popkit_retention.core.views import phrases

from .app_state import AppState, Light
from .session_shapes import Fill, SessionRow, Sessions
from .transcript_heads import head_of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.session_facts import SessionFacts
    from popkit_retention.core.policy.usage import Usage

    from .catalog import Known

TAIL_BYTES = 128 * 1024
# How long a list may take to read contexts; the others are read afterwards (contexts.py).
READING_S = 0.2
_KEPT = 4_000
_NAMES_KEPT = 20_000
_NAMED = 300  # characters of a project's path


def listed(app_state: AppState, limit: int, offset: int, running: bool | None, project: str, words: str) -> Sessions:
    """Return a page of the sessions that match: those on this machine, and those in a shared database. `words`: each of them is in the
    title, the project, the user or the id."""
    known = app_state.catalog.sessions()
    entries: list[_Entry] = [_here(app_state, each) for each in known.values()]
    entries += [_Entry(row.id, row.project, row.running, row.changed_at, row.user, row) for row in app_state.others(set(known))]
    entries.sort(key=lambda each: (not each.running, -each.changed_at, each.id))
    wanted = [each for each in entries if (running is None or each.running == running) and (not project or each.project == project)]
    for word in words.lower().split():
        wanted = [each for each in wanted if word in f"{each.id} {each.project} {each.words}".lower()]
    until = time.monotonic() + READING_S
    return Sessions(
        sessions=[
            each.of if isinstance(each.of, SessionRow) else row_of(app_state, each.of, until) for each in wanted[offset : offset + limit]
        ],
        total=len(wanted),
        running=sum(each.running for each in entries),
        projects=sorted({each.project for each in entries if each.project}),
    )


class _Entry(NamedTuple):
    """The fields that the list is ordered and searched by; `of`: the session of its row, or the row."""

    id: str
    project: str
    running: bool
    changed_at: float
    words: str
    of: Known | SessionRow


def _here(app_state: AppState, known: Known) -> _Entry:
    """Return the entry of a session, whose words are read again only after it has changed: there may be ten thousand sessions."""
    stamp, project, words = app_state.named.get(known.id, ("", "", ""))
    if stamp != known.stamp:
        project, words = project_of(app_state, known), head_of(known.transcript).words if known.transcript else ""
        if len(app_state.named) >= _NAMES_KEPT:
            app_state.named.clear()
        app_state.named[known.id] = known.stamp, project, words
    return _Entry(known.id, project, known.running, known.changed_at, words, known)


def project_of(app_state: AppState, known: Known) -> str:
    """Return the folder in which a session began, as it is shown."""
    project = known.project or (head_of(known.transcript).project if known.transcript else "")
    if not project:
        stored = session.read(app_state.home, known.id).project
        project = as_text(stored)
    return shown(project, _NAMED)


def row_of(app_state: AppState, known: Known, until: float = float("inf")) -> SessionRow:
    """Return the row of a session. Contexts of running sessions may be read for it `until` then (of time.monotonic)."""
    brief = app_state.contexts.brief(known, may_read=time.monotonic() < until)
    row = SessionRow(
        id=known.id,
        project=project_of(app_state, known),
        title=head_of(known.transcript).title if known.transcript else "",
        host=known.host,
        here=bool(known.transcript),
        running=known.running,
        changed_at=known.changed_at,
        stamp=known.stamp,
    )
    if brief is not None:
        update: dict[str, object] = {
            "context": brief.context, "verdict": brief.verdict, "calls": brief.calls, "expired_tokens": brief.expired_tokens,
            "reclaimable_now": brief.now, "reclaimable_cold": brief.cold,
        }  # fmt: skip
        return row.model_copy(update=update)
    light = _light(app_state, known)
    return row.model_copy(update={"context": _fill(app_state, light), **light.stored})


def _light(app_state: AppState, known: Known) -> Light:
    """Return the facts of a session, which are read again only after it has changed."""
    light = app_state.light.get(known.id)
    if light is None or light.stamp != known.stamp:
        newest = _newest(known) if known.transcript else None
        facts = session.read(app_state.home, known.id)
        light = Light(known.stamp, newest, facts, _stored(app_state, known, facts))
        if len(app_state.light) >= _KEPT:
            app_state.light.clear()
        app_state.light[known.id] = light
    return light


def _newest(known: Known) -> Usage | None:
    return recorded_sessions.newest_usage(known.transcript) if known.recorded else usage.newest_usage(known.transcript, TAIL_BYTES)


def _fill(app_state: AppState, light: Light) -> Fill | None:
    """Return how full the context was at its newest request, or is since a compaction."""
    newest, facts, rules = light.newest, light.facts, app_state.rules
    tokens = usage.stands(newest, facts) if newest is not None else None
    if newest is None or tokens is None:
        return None
    window, source = usage.window_of(rules, facts, newest)
    now = app_state.now()
    left = newest.seconds_left(now)
    return Fill(
        tokens=tokens, words=phrases.filled(tokens, not newest.compacted_at, window, source), ratio=round(tokens / window, 4),
        model=newest.model, cache="warm" if newest.is_warm(now) else "cold", cache_until=now + left if left else None,
    )  # fmt: skip


def _stored(app_state: AppState, known: Known, facts: SessionFacts) -> dict[str, object]:
    """Return what was stored of a context: its calls, what has expired of it, and what a clear removes by its last plan, while that is
    valid."""
    paths = store.ContextFiles(app_state.home, known.id)
    try:
        state = stored_contexts.stored_state(paths)
    except (OSError, ValueError):
        return {}  # corrupt: the next hook sets it aside
    if state is None:
        return {}
    stored: dict[str, object] = {"calls": state.index, "expired_tokens": stored_contexts.expired_of(paths, state)["tokens"]}
    planned = facts.planned or {}
    if planned.get("calls") == state.index and all(isinstance(planned.get(name), int) for name in ("now", "cold")):
        stored.update(reclaimable_now=planned["now"], reclaimable_cold=planned["cold"])
    return stored
