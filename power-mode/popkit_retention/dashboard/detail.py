"""One session: its report, the panel, its results as bars, what can be done, what was kept warm; one result in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils import archive, text
from hooks.utils.operations import arguments
from hooks.utils.operations import cache as caches
from hooks.utils.policy.masking import mask
from hooks.utils.reclaim import access, restoring
from hooks.utils.views import cache, ledgers, phrases, results
from hooks.utils.views import report as reports
from hooks.utils.views.panel import panel

from . import deeds
from .problems import NotThere
from .sessions import row_of
from .shapes import COLUMNS, Bar, Content, Figures, KeptWarm, Layers, ResultDetail, SessionDetail

if TYPE_CHECKING:
    from hooks.utils.archive.records import Record
    from hooks.utils.policy.shapes import Figures as FiguresOf
    from hooks.utils.views.report_shapes import ResultRow

    from .catalog import Known
    from .desk import Desk
    from .looking import Looked
    from .shapes import SessionRow

SHOWN_CHARS = 200_000
_NOTE = 70  # columns


def detail(desk: Desk, known: Known, columns: int) -> SessionDetail:
    """All that is told of a session. Made once a second at most, for all pages, while nothing is done here."""
    with desk.looks.reading(known) as looked:
        of = int(desk.now()), columns, desk.changes
        if looked.told is None or looked.told[0] != of:
            looked.told = of, _detail(desk, known, looked, columns)
        return looked.told[1]


def _detail(desk: Desk, known: Known, looked: Looked, columns: int) -> SessionDetail:
    report = looked.report
    kept = caches.kept_warm(looked.site, looked.path, desk.now())
    warm = KeptWarm(on=kept["on"], requests=kept["sent"]["requests"], words=cache.pane_line(kept), sums=cache.sums(kept))
    return SessionDetail(
        session=row_of(desk, known),
        report={name: value for name, value in report.items() if name != "results"},
        lines=text.laid_out(panel(report, command=""), text.width_of(columns)),
        layers=looked.sampler.layers(looked.outlook.made.conversation, report) if looked.outlook.made else Layers(),
        bars=[_bar(row) for row in report["results"]],
        deeds=deeds.of_session(desk, known, looked, kept),
        warm=warm,
        figures=figures_of(report["figures"]) if report["figures"] else None,
        ledger=[ledgers.in_words(report["figures"])] if report["figures"] else [],
        doubt=report["doubt"],
    )


def of_others(desk: Desk, row: SessionRow) -> SessionDetail:
    """All that is told of a session which only a database tells of."""
    points = desk.spending.series(row.id, 1).points
    layers = points[-1].layers if points else Layers()
    return SessionDetail(session=row, report={}, lines=desk.spending.lines(row.id), layers=layers, bars=[], deeds=[])


def figures_of(found: FiguresOf) -> Figures:
    """The four of policy/figures.py."""
    return Figures.model_validate({name: found.get(name) for name in Figures.model_fields})


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
        note=phrases.until(row) if alive else phrases.fate(row, _NOTE),
        pinned=bool(row["pinned_by"]),
        plan=row["plan"]["action"] if row["plan"] else "",
        kept_out_tokens=row["entered"]["kept_out_tokens"] if row["entered"] else None,
    )


def result(desk: Desk, known: Known, number: int) -> ResultDetail:
    """One result: why it is as it is, and what can be done with it."""
    with desk.looks.reading(known) as looked:
        row = _row(looked, number)
        lines = text.laid_out(results.why(looked.report, row), COLUMNS)
        return ResultDetail(row=dict(row), why=lines, deeds=deeds.of_result(known, looked, row), handle=reports.handle_of(row))


def _row(looked: Looked, number: int) -> ResultRow:
    try:
        return arguments.find(looked.report, f"T{number}")
    except arguments.NotFound as error:
        raise NotThere(str(error)) from None


def content(desk: Desk, known: Known, handle: str) -> Content:
    """What is archived under a handle of a session's, for a person, secrets masked. It is booked as restored nowhere: Claude does not
    see it."""
    with desk.looks.reading(known) as looked:
        handles = {reports.handle_of(row) for row in looked.report["results"]} - {""}
    if handle not in handles:
        raise NotThere("nothing of this session is archived under that handle. The results of the session name theirs")
    try:
        with access.Opened(desk.home) as db:
            record = archive.record(db, handle)
            printed = restoring.printed(db, [record]) if record else []
    except access.Refused as error:
        raise NotThere(str(error)) from None
    return _content(handle, *printed[0]) if printed else _gone()


def _content(handle: str, record: Record, found: str | None) -> Content:
    if found is None:
        return _gone()
    said = mask("\n".join(map(text.visible, found[:SHOWN_CHARS].split("\n"))))
    return Content(handle=handle, label=text.clean(record.label), text=said, truncated=max(0, len(found) - SHOWN_CHARS))


def _gone() -> Content:
    raise NotThere("its content is not in the archive any more. Run the tool call again")
