"""The details of a session: its report, the panel, its results as bars, the operations that are offered. A result has its own,
with the archived content."""

from __future__ import annotations

from popkit_retention.core import archive, text
from popkit_retention.core.hosts import KEEPS
from popkit_retention.core.operations import compaction_losses, names
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.reclaim import access, restoring
from popkit_retention.core.state import prompt_contents
from popkit_retention.core.views import losses, one_result, phrases, savings
from popkit_retention.core.views import report as reports
from popkit_retention.core.views.panel import panel

from . import session_operations
from .session_list import row_of
from .session_shapes import Bar, Content, Layers, Lost, LostRow, ResultDetail, SessionDetail, SessionRow
from .shapes import COLUMNS, Figures, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.policy.shapes import Figures as FiguresOf
    from popkit_retention.core.views.shapes import ResultRow

    from .app_state import AppState
    from .catalog import Known
    from .contexts import CachedContext
    from .tile import Tile

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
    contents = prompt_contents.contents_of(cached.site.home, report["project"], report["transcript"])
    return SessionDetail(
        session=row_of(app_state, known),
        report={**{name: value for name, value in report.items() if name != "results"}, "contents": contents},
        lines=text.laid_out(panel(report, command="", contents=contents), text.width_of(columns)),
        layers=cached.sampler.layers(cached.outlook.rebuilt.conversation, report) if cached.outlook.rebuilt else Layers(),
        strategy=app_state.strategy(known.id),
        bars=[_bar(row) for row in report["results"]],
        operations=session_operations.offered_for_session(app_state, known, cached),
        figures=figures_of(report["figures"]) if report["figures"] else None,
        ledger=[savings.ledger_in_words(report["figures"])] if report["figures"] else [],
        doubt="" if KEEPS in report["doubt"] else report["doubt"],  # the verdict says so
    )


def of_other(app_state: AppState, tile: Tile, row: SessionRow) -> SessionDetail:
    """Return the details of a session that is not here, by the tile that knows it."""
    points = tile.series(row.id, 1).points
    layers = points[-1].layers if points else Layers()
    return SessionDetail(
        session=row,
        report={},
        lines=tile.lines(row.id),
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


def lost(app_state: AppState, known: Known) -> Lost:
    """Return what the newest compaction of a session lost, whoever made it."""
    with app_state.contexts.reading(known) as cached:
        rebuilt = cached.outlook.rebuilt
        if rebuilt is None or not rebuilt.index.compactions:
            return Lost()
        found = compaction_losses.of_transcript(cached.path, cached.site.home, newest=True, index=rebuilt.index)
    if not found:
        return Lost()
    rows = [LostRow(about=about, lost=words, way=way) for about, words, way in map(losses.cells, found[0]["rows"])]
    return Lost(when=losses.when(found[0]), sums=losses.sums(found[0]), rows=rows)


def content(app_state: AppState, known: Known, handle: str) -> Content:
    """Return the content that is archived under a handle of a session, for a person, with secrets masked. It does not count as restored,
    because Claude does not see it."""
    with app_state.contexts.reading(known) as cached:
        handles = {reports.handle_of(row) for row in cached.report["results"]} - {""}
    if handle not in handles:
        raise NotFound("nothing of this session is archived under that handle. The results of the session have their handles")
    try:
        with access.OpenArchive(app_state.home) as db:
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
