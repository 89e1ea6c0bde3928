"""Take results out of a context and bring them back: `clear`, `undo`, `restore`; look up what has left it."""

from __future__ import annotations

import os

from .. import flag_parser, text
from ..policy.plans import Selection
from ..reclaim import access, outlook, restoring
from ..state import archived, receipts, reconciling, store, stored_contexts
from ..state.noted import BACK
from ..views import clear as views
from ..views import phrases, report, restored
from .request import Answer, NotFound, find_result, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

    from ..archive.records import Record
    from ..state.rebuild import Rebuilt
    from ..state.site import Site
    from ..views.receipt import Receipt
    from ..views.shapes import Clear, Report
    from .request import Request


_CANCELLED = "The clear had not been done yet, and is cancelled."


def clear(request: Request) -> Answer:
    flags = request.flags
    tier, pattern = flags.get("tier", ""), request.arguments[0] if request.arguments else ""
    if bool(tier) + ("id" in flags) + bool(pattern) > 1:
        raise flag_parser.UsageError("give clear one of a path, --tier and --id")
    if not os.path.isfile(request.transcript_path):
        raise access.Refused("this session has no transcript yet, so there is nothing to clear")

    def wanted(rebuilt: Rebuilt) -> Selection:
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


def _cleared(request: Request, wanted: Callable[[Rebuilt], Selection], dry_run: bool) -> tuple[Clear, Report]:
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
    return views.clear_data(plan, cold, done, done and request.in_place.is_later, shown, dry_run), shown


def undo(request: Request) -> Answer:
    from ..reclaim import undoing

    cancelled = request.in_place.cancel()
    if cancelled:
        words = "What was to come back had not come back yet, and stays out." if cancelled == BACK else _CANCELLED
        return Answer(["", *text.wrap(words)], {"restored": [], "later": False})
    return _put_back(request, undoing.taken_last(request.site, request.transcript_path))


def _put_back(request: Request, handles: list[str]) -> Answer:
    request.in_place.put_back(handles)
    is_later = request.in_place.is_later
    return Answer(restored.begun_lines(len(handles), is_later, request.command), {"restored": handles, "later": is_later})


def restore(request: Request) -> Answer:
    if bool(request.arguments) == ("since" in request.flags):
        raise flag_parser.UsageError("restore takes ID, PATH or --since TIME, for example: restore T12")
    site, in_place = request.site, "in-place" in request.flags
    with access.Opened(site.home) as db:
        if "since" in request.flags:
            since = request.flags["since"]
            records = restoring.cleared_since(db, site.session_id, since.ago(request.now))
            if not records:
                raise NotFound(f"nothing of this session was cleared since {text.quote(since.word)}")
        else:
            shown = request.report()
            records = [record for word in request.arguments for record in _records(db, shown, word, site)]
        gone = [record for record in records if in_place and archived.content_of(db, record.id) is None]
        printed = [] if in_place else restoring.printed(db, records, site.home)
        trouble = restoring.book_printed(site, db, records, request.now) if printed else ""
    if in_place:
        kept = [record.id for record in records if record not in gone]
        if not kept:
            raise access.Refused("nothing can be put back. " + restored.gone(gone))
        answer = _put_back(request, kept)
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
        except NotFound:
            handles = handles_of_receipt(site, word)
            if not handles:
                raise
        if not handles[0]:
            raise NotFound(f"{phrases.number(row)} was not cleared. It is still in the context")
    return [record for handle in handles for record in restoring.records_for(db, handle, site.session_id, site.session_project)]


def _ids_of(report: Report, words: str) -> tuple[str, ...]:
    """Return the ids of the results that a comma-separated list of names means; arguments.NotFound for one that is unknown."""
    return tuple(dict.fromkeys(find_result(report, word)["id"] for word in words.split(",") if word))


# --- receipts: what left the context, call by call ---


def receipts_of(site: Site, report: Report) -> list[Receipt]:
    """Return the receipts of the main thread (views/receipt.py), the newest first. `report`: of the same context; it completes what an
    older version wrote."""
    receipts = _read_receipts(site.paths())
    rows = {row["id"]: row for row in report["results"]}
    for call in (call for receipt in receipts for call in receipt["calls"]):
        row = rows.get(call["id"])
        if row is not None and not call["label"]:
            call.update({name: row[name] for name in ("number", "label", "tokens")})
            call["left"] = [{**part, "handle": part["handle"] or row.get("handle", "")} for part in call["left"]]
    _add_states(site, receipts)
    return receipts


def receipts_of_agents(site: Site) -> list[Receipt]:
    """Return the receipts of the session's subagents, the newest first, each with the id of its `agent`."""
    receipts = [
        {**receipt, "agent": paths.agent_id}
        for paths in stored_contexts.contexts_of(site.home, site.session_id)
        if paths.agent_id
        for receipt in _read_receipts(paths)
    ]
    _add_states(site, receipts)
    return sorted(receipts, key=lambda receipt: -receipt["at"])


def _read_receipts(paths: store.ContextFiles) -> list[Receipt]:
    return receipts.receipts(store.read_lines(paths.journal), store.read_lines(paths.receipts))


def _add_states(site: Site, receipts: list[Receipt]) -> None:
    """Set for each call whether what left of it can be restored."""
    calls = [call for receipt in receipts for call in receipt["calls"]]
    handles = {part["handle"] for call in calls if not call["back"] for part in call["left"] if part["handle"]}
    held = archived.restorable(site.home, handles) if handles else None
    for call in calls:
        call["state"] = _state_of_call(call, held)


def _state_of_call(call: dict[str, Any], held: set[str] | None) -> str:
    if call["back"]:
        return "back"
    handles = {part["handle"] for part in call["left"]}
    if held is None or "" in handles:
        return "unknown"
    return "archived" if handles <= held else "gone"


def find_receipt(receipts: list[Receipt], word: str) -> tuple[Receipt, dict[str, Any]] | None:
    """Return the newest receipt with a call, by its number or id, and its row; None where no receipt has it."""
    number = number_of(word)
    for receipt in receipts:
        for call in receipt["calls"]:
            if call["id"] == word or (number is not None and call["number"] == number):
                return receipt, call
    return None


def handles_of_receipt(site: Site, word: str) -> list[str]:
    """Return the handles under which a call that has left is archived, by number or id; [] where none has."""
    match = find_receipt(_read_receipts(site.paths()), word)
    return list(dict.fromkeys(part["handle"] for part in match[1]["left"] if part["handle"])) if match else []
