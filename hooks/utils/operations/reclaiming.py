"""What takes results out of a context and brings them back: `clear`, `undo`, `restore`."""

from __future__ import annotations

import os

from .. import flag_parser, text
from ..policy import limit_weights, planning
from ..reclaim import access, outlook, restoring
from ..state import limits
from ..views import clear as views
from ..views import phrases, putback, report
from . import arguments, receipts
from .request import COMMAND, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from ..archive.records import Record
    from ..state.rebuild import Rebuilt
    from ..state.site import Site
    from ..views.report_shapes import Report
    from ..views.shapes import Clear
    from .request import Request


def clear(request: Request) -> Answer:
    flags = request.flags
    tier, pattern = flags.get("tier", ""), request.arguments[0] if request.arguments else ""
    if bool(tier) + ("id" in flags) + bool(pattern) > 1:
        raise flag_parser.UsageError("give clear one of a path, --tier and --id")
    if not os.path.isfile(request.transcript_path):
        raise access.Refused("this session has no transcript yet, so there is nothing to clear")

    def wanted(made: Rebuilt) -> planning.Asked:
        chosen: tuple[str, ...] = ()
        if "id" in flags:
            chosen = _ids_of(report.build(outlook.of(request.site, request.transcript_path, made, request.now)), flags["id"])
            if not chosen:
                raise flag_parser.UsageError("--id needs a result, for example: --id T12")
        return planning.Asked(tier, chosen, pattern, "now" in flags)

    dry_run = "dry-run" in flags
    found, shown = _cleared(request, wanted, dry_run)
    words = " ".join(
        filter(None, [f"--tier {tier}" if tier else "", f"--id {flags['id']}" if "id" in flags else "", phrases.quoted(pattern)])
    )
    return Answer(views.clear_lines(found, shown, request.command, words, "all" in flags), found)


def _cleared(request: Request, wanted: Callable[[Rebuilt], planning.Asked], dry_run: bool) -> tuple[Clear, Report]:
    """(what a clear did, or would do; the report after it)."""
    from ..reclaim import clearing

    is_in_place = request.in_place is not None
    prospect, done = clearing.clear(request.site, request.transcript_path, request.now, wanted, dry_run, in_place=is_in_place)
    plan = prospect.plan
    if request.in_place is not None and not dry_run and plan.going and (plan.pays or plan.asked.now):
        request.in_place.clear([result.id for result in plan.going])
        done = clearing.Cleared({result.id: "" for result in plan.going}, plan.sum.leaves, plan.sum.thinking, "")
    cold = plan
    if done is None and plan.sum.warm:
        once_cold = planning.Asked(plan.asked.tier, plan.asked.ids, plan.asked.pattern)
        cold = outlook.plan_of(request.site, prospect.made.conversation, once_cold, request.now, True, is_in_place)
    seen = outlook.of(request.site, request.transcript_path, prospect.made, request.now)
    outlook.remember(seen, request.site)
    shown = report.build(seen)
    share = limit_weights.share_of_clear(limits.weights(request.site.home, request.now), plan.sum)
    return views.clear_data(plan, cold, done, shown, dry_run, is_in_place, share), shown


def undo(request: Request) -> Answer:
    from ..reclaim import undoing

    if request.in_place is not None:
        from ..reclaim import in_place

        if request.in_place.cancel():
            return Answer(["", *text.wrap("The clear was not done yet, and is not done now.")], {"restored": [], "in_place": True})
        handles = in_place.last_handles(request.site)
        if handles:
            request.in_place.put_back(handles)
            return Answer(putback.begun_lines(len(handles)), {"restored": handles, "in_place": True})

    back = undoing.undo(request.site, request.transcript_path, request.now)
    request.site.remember(planned=None)
    return Answer(putback.undo_lines(back, request.site.session_id), putback.put_back_data(back))


def restore(request: Request) -> Answer:
    from ..reclaim import undoing

    if bool(request.arguments) == ("since" in request.flags):
        raise flag_parser.UsageError("restore takes ID, PATH or --since TIME, for example: restore T12")
    site = request.site
    with access.Opened(site.home) as db:
        if "since" in request.flags:
            since = request.flags["since"]
            records = restoring.cleared_since(db, site.session_id, since.ago(request.now))
            if not records:
                raise arguments.NotFound(f"nothing of this session was cleared since {text.quote(since.word)}")
        else:
            shown = request.report()
            records = [record for word in request.arguments for record in _records(db, shown, word, site)]
        printed = [] if "in-place" in request.flags else restoring.printed(db, records)
        trouble = restoring.book_printed(site, db, records, request.now) if printed else ""
    if "in-place" in request.flags and request.in_place is not None:
        handles = [record.id for record in records]
        request.in_place.put_back(handles)
        return Answer(putback.begun_lines(len(handles)), {"restored": handles, "in_place": True})
    if "in-place" not in request.flags:
        said = ["", *text.wrap("PopKit: " + trouble)] if trouble else []
        lines = putback.printed_lines(printed)
        if request.command == COMMAND:
            lines = [text.visible(line) if isinstance(line, str) else line for line in lines]  # the client writes them to its terminal
        return Answer(["", *lines, *said], putback.printed_data(printed))
    back = undoing.restore_in_place(site, request.transcript_path, request.now, records)
    site.remember(planned=None)
    hold = site.rules().restore_hold_calls
    return Answer(putback.in_place_lines(back, site.session_id, hold), putback.put_back_data(back))


def _records(db: Connection, shown: Report, word: str, site: Site) -> list[Record]:
    """Return the archived records that a word means: T12 of this context, else what `restoring.meant` finds."""
    handles = [word]
    if arguments.number_of(word) is not None:
        try:
            row = arguments.find(shown, word)
            handles = [report.handle_of(row)]
        except arguments.NotFound:
            handles = receipts.handles_of(site, word)
            if not handles:
                raise
        if not handles[0]:
            raise arguments.NotFound(f"{phrases.number(row)} was not cleared. It is still in the context")
    return [record for handle in handles for record in restoring.meant(db, handle, site.session_id, site.session_project)]


def _ids_of(report: Report, words: str) -> tuple[str, ...]:
    """The ids of the results that a comma-separated list of names means; arguments.NotFound for one that is unknown."""
    return tuple(dict.fromkeys(arguments.find(report, word)["id"] for word in words.split(",") if word))
