"""The list of sessions: running ones first, then the newest. For a session that is not open, it has what is cheap to read: the newest usage
in its transcript, and the stored facts of its context. One session: its report, the panel, its results as bars, the operations, keeping
warm; one result in full."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from popkit_retention.core import archive, text
from popkit_retention.core.hosts import KEEPS, recorded_sessions
from popkit_retention.core.hosts.transcripts import usage
from popkit_retention.core.operations import names
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.reclaim import access, restoring
from popkit_retention.core.state import session, store, stored_contexts
from popkit_retention.core.views import one_result, phrases, savings
from popkit_retention.core.views import report as reports
from popkit_retention.core.views.panel import panel

from . import session_operations
from .light import Light
from .shapes import COLUMNS, Bar, Content, Figures, Fill, Layers, NotFound, ResultDetail, SessionDetail, SessionRow, Sessions
from .transcript_heads import head_of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.policy.shapes import Figures as FiguresOf
    from popkit_retention.core.policy.usage import Usage
    from popkit_retention.core.views.shapes import ResultRow

    from .app_state import AppState
    from .catalog import Known
    from .contexts import CachedContext

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
    entries += [_Entry(row.id, row.project, row.running, row.changed_at, row.user, row) for row in app_state.spending.others(set(known))]
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
        stored = session.read(app_state.home, known.id).get("project")
        project = stored if isinstance(stored, str) else ""
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
        update: dict[str, Any] = {
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
        tokens=tokens, measured=not newest.compacted_at, window=window, window_source=source, ratio=round(tokens / window, 4),
        model=newest.model, cache="warm" if newest.is_warm(now) else "cold", cache_until=now + left if left else None,
    )  # fmt: skip


def _stored(app_state: AppState, known: Known, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what was stored of a context: its calls, what has expired of it, and what a clear removes by its last plan, while that is
    valid."""
    paths = store.ContextFiles(app_state.home, known.id)
    try:
        state = stored_contexts.stored_state(paths)
    except (OSError, ValueError):
        return {}  # corrupt: the next hook sets it aside
    if state is None:
        return {}
    stored: dict[str, Any] = {"calls": state.index, "expired_tokens": stored_contexts.expired_of(paths, state)["tokens"]}
    planned = facts.get("planned") or {}
    if planned.get("calls") == state.index and all(isinstance(planned.get(name), int) for name in ("now", "cold")):
        stored.update(reclaimable_now=planned["now"], reclaimable_cold=planned["cold"])
    return stored


# --- one session ---


SHOWN_CHARS = 200_000
_NOTE = 70  # columns


def detail(app_state: AppState, known: Known, columns: int) -> SessionDetail:
    """Return the details of a session. They are made at most once a second, for all pages, unless something is changed here."""
    with app_state.contexts.reading(known) as cached:
        of = int(app_state.now()), columns, app_state.changes
        if cached.detail is None or cached.detail[0] != of:
            cached.detail = of, _detail(app_state, known, cached, columns)
        return cached.detail[1]


def _detail(app_state: AppState, known: Known, cached: CachedContext, columns: int) -> SessionDetail:
    report = cached.report
    return SessionDetail(
        session=row_of(app_state, known),
        report={name: value for name, value in report.items() if name != "results"},
        lines=text.laid_out(panel(report, command=""), text.width_of(columns)),
        layers=cached.sampler.layers(cached.outlook.rebuilt.conversation, report) if cached.outlook.rebuilt else Layers(),
        strategy=app_state.strategy(known.id),
        bars=[_bar(row) for row in report["results"]],
        operations=session_operations.offered_for_session(app_state, known, cached),
        figures=figures_of(report["figures"]) if report["figures"] else None,
        ledger=[savings.ledger_in_words(report["figures"])] if report["figures"] else [],
        doubt="" if KEEPS in report["doubt"] else report["doubt"],  # the verdict says so
    )


def of_others(app_state: AppState, row: SessionRow) -> SessionDetail:
    """Return the details of a session that only the team's database knows."""
    points = app_state.spending.series(row.id, 1).points
    layers = points[-1].layers if points else Layers()
    return SessionDetail(
        session=row,
        report={},
        lines=app_state.spending.lines(row.id),
        layers=layers,
        strategy=app_state.strategy(row.id),
        bars=[],
        operations=[],
    )


def figures_of(figures: FiguresOf) -> Figures:
    """Return the four figures of policy/figures.py."""
    return Figures.model_validate({name: figures.get(name) for name in Figures.model_fields})


def _bar(row: ResultRow) -> Bar:
    alive = row["state"] == "live"
    return Bar(
        number=row["number"],
        label=text.clean(row["label"]),
        tool=text.clean(row["tool"]),
        tier=row["tier"],
        state=row["state"],
        tokens=row["tokens"],
        from_call=row["number"],
        to_call=None if alive else row["ended"]["at_call"],
        note=phrases.ends_until(row) if alive else phrases.how_ended(row, _NOTE),
        pinned=bool(row["pinned_by"]),
        plan=row["plan"]["action"] if row["plan"] else "",
        kept_out_tokens=row["entered"]["kept_out_tokens"] if row["entered"] else None,
    )


def result(app_state: AppState, known: Known, number: int) -> ResultDetail:
    """Return one result: the reasons for its state, and the operations on it."""
    with app_state.contexts.reading(known) as cached:
        row = _row(cached, number)
        lines = text.laid_out(one_result.why(cached.report, row), COLUMNS)
        return ResultDetail(
            row=dict(row), why=lines, operations=session_operations.offered_for_result(known, cached, row), handle=reports.handle_of(row)
        )


def _row(cached: CachedContext, number: int) -> ResultRow:
    try:
        return names.find_result(cached.report, f"T{number}")
    except names.ResultNotFound as error:
        raise NotFound(str(error)) from None


def content(app_state: AppState, known: Known, handle: str) -> Content:
    """Return the content that is archived under a handle of a session, for a person, with secrets masked. It does not count as restored,
    because Claude does not see it."""
    with app_state.contexts.reading(known) as cached:
        handles = {reports.handle_of(row) for row in cached.report["results"]} - {""}
    if handle not in handles:
        raise NotFound("nothing of this session is archived under that handle. The results of the session have their handles")
    try:
        with access.Opened(app_state.home) as db:
            record = archive.record(db, handle)
            printed = restoring.printed(db, [record]) if record else []
    except access.ClearRefused as error:
        raise NotFound(str(error)) from None
    return _content(handle, *printed[0]) if printed else _not_archived()


def _content(handle: str, record: Record, content: str | None) -> Content:
    if content is None:
        return _not_archived()
    shown_text = mask("\n".join(map(text.visible, content[:SHOWN_CHARS].split("\n"))))
    return Content(handle=handle, label=text.clean(record.label), text=shown_text, truncated=max(0, len(content) - SHOWN_CHARS))


def _not_archived() -> Content:
    raise NotFound("its content is no longer in the archive. Run the tool call again")
