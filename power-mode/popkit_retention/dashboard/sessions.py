"""The list of sessions: running ones first, then the newest. Of a session that is not open it says what is cheap to know: the newest usage
in its transcript, and what of its context was stored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.utils.hosts.claude_code import usage
from hooks.utils.state import peek, session, store

from .heads import head_of, shown
from .shapes import Fill, SessionRow, Sessions

if TYPE_CHECKING:
    from hooks.utils.policy.conversation import Usage

    from .catalog import Known
    from .desk import Desk

TAIL_BYTES = 128 * 1024
# So long a list may take to read contexts; what is left out of it then is read behind it (looking.py).
READING_S = 0.2
_KEPT = 4_000
_NAMES_KEPT = 20_000
_NAMED = 300  # characters of a project's path


def listed(desk: Desk, limit: int, offset: int, running: bool | None, project: str, words: str) -> Sessions:
    """A page of the sessions that are wanted: those here, and those that a shared database tells of. `words`: every one of them stands in
    the title, the project, the user or the id."""
    known = desk.catalog.sessions()
    found: list[_Found] = [_here(desk, each) for each in known.values()]
    found += [_Found(row.id, row.project, row.running, row.changed_at, row.user, row) for row in desk.spending.others(set(known))]
    found.sort(key=lambda each: (not each.running, -each.changed_at, each.id))
    wanted = [each for each in found if (running is None or each.running == running) and (not project or each.project == project)]
    for word in words.lower().split():
        wanted = [each for each in wanted if word in f"{each.id} {each.project} {each.words}".lower()]
    until = time.monotonic() + READING_S
    return Sessions(
        sessions=[each.of if isinstance(each.of, SessionRow) else row_of(desk, each.of, until) for each in wanted[offset : offset + limit]],
        total=len(wanted),
        running=sum(each.running for each in found),
        projects=sorted({each.project for each in found if each.project}),
    )


class _Found(NamedTuple):
    """What the list is ordered and searched by; `of`: what its row is made of, or the row."""

    id: str
    project: str
    running: bool
    changed_at: float
    words: str
    of: Known | SessionRow


def _here(desk: Desk, known: Known) -> _Found:
    """Its words are read once for as long as nothing of the session changes: there may be ten thousand."""
    stamp, project, said = desk.named.get(known.id, ("", "", ""))
    if stamp != known.stamp:
        project, said = project_of(desk, known), head_of(known.transcript).said if known.transcript else ""
        if len(desk.named) >= _NAMES_KEPT:
            desk.named.clear()
        desk.named[known.id] = known.stamp, project, said
    return _Found(known.id, project, known.running, known.changed_at, said, known)


def project_of(desk: Desk, known: Known) -> str:
    """The folder in which a session began, as people are shown it."""
    found = head_of(known.transcript).project if known.transcript else ""
    if not found:
        told = session.read(desk.home, known.id).get("project")
        found = told if isinstance(told, str) else ""
    return shown(found, _NAMED)


def row_of(desk: Desk, known: Known, until: float = float("inf")) -> SessionRow:
    """The row of a session. `until` (of time.monotonic) contexts that run may be read for it."""
    brief = desk.looks.brief(known, may_read=time.monotonic() < until)
    row = SessionRow(
        id=known.id,
        project=project_of(desk, known),
        title=head_of(known.transcript).title if known.transcript else "",
        here=bool(known.transcript),
        running=known.running,
        changed_at=known.changed_at,
        stamp=known.stamp,
    )
    if brief is not None:
        told: dict[str, Any] = {
            "context": brief.context, "verdict": brief.verdict, "calls": brief.calls, "expired_tokens": brief.expired_tokens,
            "reclaimable_now": brief.now, "reclaimable_cold": brief.cold,
        }  # fmt: skip
        return row.model_copy(update=told)
    light = _light(desk, known)
    return row.model_copy(update={"context": _fill(desk, light), **light.stored})


class Light(NamedTuple):
    """What is cheap to know of a context: whose stamp it had, its newest request, what its session shares, what was stored of it."""

    stamp: str
    newest: Usage | None
    facts: dict[str, Any]
    stored: dict[str, Any]


def _light(desk: Desk, known: Known) -> Light:
    """Read once for as long as nothing of the session changes."""
    found = desk.light.get(known.id)
    if found is None or found.stamp != known.stamp:
        newest = usage.newest_usage(known.transcript, TAIL_BYTES) if known.transcript else None
        facts = session.read(desk.home, known.id)
        kept = (facts.get("warming") or {}).get("used")
        if newest is not None and isinstance(kept, (int, float)):
            newest.keep(kept)
        found = Light(known.stamp, newest, facts, _stored(desk, known, facts))
        if len(desk.light) >= _KEPT:
            desk.light.clear()
        desk.light[known.id] = found
    return found


def _fill(desk: Desk, light: Light) -> Fill | None:
    """How full the context was at its newest request."""
    newest, facts, rules = light.newest, light.facts, desk.rules
    if newest is None:
        return None
    window, source = usage.window_of(rules, facts, newest)
    now = desk.now()
    left = newest.seconds_left(now)
    return Fill(
        tokens=newest.tokens, window=window, window_source=source, ratio=round(newest.tokens / window, 4), model=newest.model,
        cache="warm" if newest.is_warm(now) else "cold", cache_until=now + left if left else None,
    )  # fmt: skip


def _stored(desk: Desk, known: Known, facts: dict[str, Any]) -> dict[str, Any]:
    """What was stored of a context: its calls, what has expired of it, and what a clear takes as it was last planned, while that holds."""
    paths = store.ContextFiles(desk.home, known.id)
    try:
        state = peek.state(paths)
    except (OSError, ValueError):
        return {}  # corrupt: the next hook sets it aside
    if state is None:
        return {}
    found: dict[str, Any] = {"calls": state.index, "expired_tokens": peek.expired(paths, state)["tokens"]}
    planned = facts.get("planned") or {}
    if planned.get("calls") == state.index and all(isinstance(planned.get(name), int) for name in ("now", "cold")):
        found.update(reclaimable_now=planned["now"], reclaimable_cold=planned["cold"])
    return found
