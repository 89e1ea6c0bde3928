"""Reclaim room in a context: `clear`, `undo`, `restore`."""

from __future__ import annotations

import os

from .. import flag_parser, text
from ..policy.plans import Selection
from ..reclaim import access, outlook, restoring
from ..state import reconciling
from ..state.noted import BACK
from ..views import clear as views
from ..views import phrases, report, restored
from .names import ResultNotFound, find_result, number_of
from .receipts import handles_of_receipt
from .request import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from ..archive.records import Record
    from ..state.rebuild import Rebuild
    from ..state.site import Site
    from ..views.shapes import Clear, Report
    from .request import Request

_CANCELLED = "The clear had not been done yet, and is cancelled."


def clear(request: Request) -> Answer:
    flags = request.flags
    tier, pattern = flags.get("tier", ""), request.arguments[0] if request.arguments else ""
    if bool(tier) + ("id" in flags) + bool(pattern) > 1:
        raise flag_parser.UsageError("give clear one of a path, --tier and --id")
    if pattern[:1] == "T" and pattern[1:].isdigit():
        flags, pattern = {**flags, "id": pattern}, ""
    if not os.path.isfile(request.transcript_path):
        raise access.ClearRefused("this session has no transcript yet, so there is nothing to clear")

    def wanted(rebuilt: Rebuild) -> Selection:
        chosen: tuple[str, ...] = ()
        if "id" in flags:
            chosen = _ids_of(report.build(outlook.of(request.site, request.transcript_path, rebuilt, request.now)), flags["id"])
            if not chosen:
                raise flag_parser.UsageError("--id needs a result, for example: --id T12")
        return Selection(tier, chosen, pattern, "now" in flags)

    dry_run = "dry-run" in flags
    data, shown = _cleared(request, wanted, dry_run)
    words = " ".join(
        filter(None, [f"--tier {tier}" if tier else "", f"--id {flags['id']}" if "id" in flags else "", phrases.quoted(pattern)])
    )
    return Answer(views.clear_lines(data, shown, request.command, words, "all" in flags), data)


def _cleared(request: Request, wanted: Callable[[Rebuild], Selection], dry_run: bool) -> tuple[Clear, Report]:
    """Return (what a clear has begun, or would do; the report after it)."""
    site, path = request.site, request.transcript_path
    rebuilt = access.until_whole(lambda: reconciling.reconcile(site, path, now=request.now), lambda rebuilt: rebuilt.index)
    goal = outlook.goal_of(site, rebuilt)
    plan = outlook.plan_of(rebuilt.conversation, wanted(rebuilt), request.now, goal=goal)
    access.check_understood(rebuilt.index, [result.id for result in plan.going])
    done = not dry_run and not plan.is_empty and (plan.pays or plan.selection.now)
    if done:
        request.in_place.clear(plan.ids, plan.share, plan.further)
    cold = plan
    if not done and plan.sum.warm:
        once_cold = Selection(plan.selection.tier, plan.selection.ids, plan.selection.pattern)
        cold = outlook.plan_of(rebuilt.conversation, once_cold, request.now, True, goal)
    seen = outlook.of(site, path, rebuilt, request.now)
    outlook.remember(seen, site)
    shown = report.build(seen)
    is_later, pictures = done and request.in_place.is_later, rebuilt.conversation.shown
    return views.clear_data(plan, cold, done, is_later, shown, dry_run, pictures), shown


def undo(request: Request) -> Answer:
    from ..reclaim import undoing

    cancelled = request.in_place.cancel()
    if cancelled:
        words = "What was to come back had not come back yet, and stays out." if cancelled == BACK else _CANCELLED
        return Answer(["", *text.wrap(words)], {"restored": [], "stays_out": [], "later": False})
    return _put_back(request, *undoing.taken_last(request.site, request.transcript_path))


def _put_back(request: Request, handles: list[str], pictures: list[Record]) -> Answer:
    request.in_place.put_back(handles)
    is_later = request.in_place.is_later
    lines = restored.begun_lines(is_later, request.command)
    if pictures:
        lines += ["", *text.wrap(restoring.stays_out(pictures))]
    return Answer(lines, {"restored": handles, "stays_out": [record.id for record in pictures], "later": is_later})


def restore(request: Request) -> Answer:
    if bool(request.arguments) == ("since" in request.flags):
        raise flag_parser.UsageError("restore takes ID, PATH or --since TIME, for example: restore T12")
    site, in_place = request.site, "in-place" in request.flags
    with access.OpenArchive(site.home) as db:
        if "since" in request.flags:
            since = request.flags["since"]
            records = restoring.cleared_since(db, site, since.ago(request.now))
            if not records:
                raise ResultNotFound(f"nothing of this session was cleared since {text.quote(since.word)}")
        else:
            shown = request.report()
            records = [record for word in request.arguments for record in _records(db, shown, word, site)]
        back, pictures = restoring.parted(db, records) if in_place else ([], [])
        gone = [record for record in records if in_place and record not in (*back, *pictures)]
        printed = [] if in_place else restoring.printed(db, records, "" if site.only_reads else site.home)
        trouble = restoring.book_printed(site, db, records, request.now) if printed and not site.only_reads else ""
    if in_place:
        if not back:
            raise access.ClearRefused("nothing can be put back. " + (restoring.stays_out(pictures) or restored.gone(gone)))
        answer = _put_back(request, [record.id for record in back], pictures)
        answer.lines += text.wrap(restored.gone(gone)) if gone else []
        return answer
    words = ["", *text.wrap("PopKit: " + trouble)] if trouble else []
    lines = restored.printed_lines(printed, safe=request.command.startswith("/"))  # the client writes them to its terminal
    return Answer(["", *lines, *words], restored.printed_data(printed))


def _records(db: Connection, shown: Report, word: str, site: Site) -> list[Record]:
    """Return the archived records that a word means: T12 of this context, else what `restoring.records_for` returns."""
    handles = [word]
    if number_of(word) is not None:
        try:
            row = find_result(shown, word)
            handles = [report.handle_of(row)]
        except ResultNotFound:
            handles = handles_of_receipt(site, word)
            if not handles:
                raise
        if not handles[0]:
            raise ResultNotFound(f"{phrases.number(row)} was not cleared. It is still in the context")
    return [record for handle in handles for record in restoring.records_for(db, handle, site.session_id, site.session_project)]


def _ids_of(report: Report, words: str) -> tuple[str, ...]:
    """Return the ids of the results that a comma-separated list of names means; ResultNotFound for one that is unknown."""
    return tuple(dict.fromkeys(find_result(report, word)["id"] for word in words.split(",") if word))
