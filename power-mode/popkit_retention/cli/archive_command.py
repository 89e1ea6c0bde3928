"""`popkit restore` on the archive itself: list, search, show, check or delete the records of cleared results. Exit 0 when all is well, 1
when there is no such record, something is broken, or the archive cannot be read."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import ExitStack

from popkit_retention.core import archive, text, units
from popkit_retention.core.archive import chain, holds, index, searching, verification
from popkit_retention.core.io import home, repository
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.policy.masking import mask
from popkit_retention.core.state import archived, placements, stored_contexts
from popkit_retention.core.state.site import Site
from popkit_retention.core.units import size

from .. import features
from ..views import archive as views
from ..views import deletions
from . import terminal
from .answering import Answer, Refused
from .restore_table import RESTORE
from .terminal import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from sqlite3 import Connection

    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.archive.searching import Match
    from popkit_retention.core.flag_parser import Words

_READ = ("list", "search", "show")
MISTAKES = (archive.RetentionIntegrityError, archive.ArchiveError)


def run(args: Words, environ: Mapping[str, str]) -> Answer:
    """Do one operation of `popkit restore` on the archive itself."""
    path = home.archive_path(_home_of(args, environ))
    try:
        db = archive.open_archive(path, create=False)
    except FileNotFoundError:
        return _no_archive(args.word)
    except (OSError, sqlite3.Error) as error:
        raise Refused(views.unusable(path, error)) from None
    try:
        return RESTORE.function(args.operation)(db, args, environ)
    except sqlite3.Error as error:
        raise Refused(views.unusable(path, error)) from None
    finally:
        db.close()


def _home_of(args: Words, environ: Mapping[str, str]) -> str:
    """Return the folder with the archive to read: that of the session that runs us, which is in memory under a data rule. Operations on the
    whole archive, and those that change it, use our own folder."""
    if args.word not in _READ:
        return home.popkit_home(environ)
    named = None if args.word == "show" else args.session
    return Site(environ, named or environ.get("CLAUDE_CODE_SESSION_ID") or "", os.getcwd()).home


def _no_archive(word: str) -> Answer:
    message = "There is no archive yet: nothing has been cleared."
    if word == "show":
        raise Refused(message)
    return Answer([message], {"found": []} if word == "search" else {"records": [] if word == "list" else 0})


def stats(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    stats = archive.stats(db)
    zones = ", ".join(f"{count:,} {zone}" for zone, count in stats["zones"].items())
    original, stored, file = (size(stats[name]) for name in ("original_bytes", "stored_bytes", "file_bytes"))
    lines = text.title("Archive") + text.pair("Records", f"{stats['records']:,} ({zones})")
    lines += text.pair("Contexts", f"{stats['chains']:,}")
    lines += text.pair("Contents", f"{original}, kept in {stored}; the file has {file}")
    if stats["records"]:
        lines += text.pair("Archived", f"{views.minute(stats['oldest'])} to {views.minute(stats['newest'])} UTC")
    return Answer(lines, stats)


def list_records(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    since = args.since and args.since.ago(time_of_day(environ))
    where = {"session_id": args.session, "since": since, "limit": args.limit + 1}
    records = archive.find_records(db, **where) if args.argument is None else archived.matching(db, args.argument, **where)
    more = len(records) > args.limit
    records = records[: args.limit]
    lines: list[text.Line] = views.rows(records) if records else ["Nothing in the archive matches."]
    if more:
        lines.append(f"There is more: --limit shows more than {units.counted(args.limit, 'record')}.")
    return Answer(lines, {"records": [record.to_json() for record in records], "more": more})


def show_record(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    record = _record_of(db, args.argument)
    content = archive.recover(db, record.id)
    data = {**record.to_json(), "content": None if content is None else archive.value_of(content)}
    owner = archive.chain(db, record.task_id)
    lines = text.pair("Handle", f"{record.id} ({record.zone})") + text.pair("What", record.label)
    if owner:
        lines += text.pair("Session", owner.session_id + (f", subagent {owner.agent_id}" if owner.agent_id else ""))
    lines += text.pair("Call", f"{record.tool_use_id} {record.timestamp}")
    lines += text.pair("Archived", views.minute(record.created_at) + " UTC")
    lines += text.pair("Size", f"{units.long_tokens(record.tokens)}, {size(record.size)}")
    if content is None:
        lines += text.pair("Content", f"gone for good; its SHA-256 is {record.content_hash}")
    shown = "" if content is None else archive.text_of(content).removesuffix("\n") + "\n"
    return Answer([] if args.raw else [*lines, ""], data, shown, int(content is None), args.raw)


def _record_of(db: Connection, word: str) -> Record:
    """Return the record that a word names. Refused where it names no record, or several."""
    handles = archive.handles_of(db, word)
    known = archive.record(db, handles[0]) if len(handles) == 1 else None
    if known:
        return known
    name = text.cut(text.clean(word), 60)
    if len(handles) > 1:
        raise Refused(f"{name} could be {', '.join(handles)}. Give more of the handle")
    if len(word) < archive.PREFIX_CHARS:
        raise Refused(f"{name} is too short: give at least {archive.PREFIX_CHARS} letters of a handle")
    raise Refused(f"there is no record {name}. `popkit restore list` shows the handles")


def verify(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    report = verification.verify(db)
    well = not (report.broken or report.lost or report.problems)
    lines: list[text.Line] = []
    for broken in report.broken:
        which = broken.id or "no record"
        lines += text.wrap(f"Broken: {which}, number {broken.place} of {broken.task_id}: {broken.what}", indent="  ")
    for id in report.lost:
        known = archive.record(db, id)
        lines += text.wrap(f"Lost: {id} {known.label if known else '(pruned meanwhile)'}: git no longer has its content", indent="  ")
    for problem in report.problems:
        lines += text.wrap(f"Problem: {problem}", indent="  ")
    checked = f"{units.counted(report.records, 'record')} of {units.counted(report.chains, 'context')}"
    lost = f", {len(report.lost)} lost" if report.lost else ""
    lost += f", {units.counted(len(report.problems), 'other problem')}" if report.problems else ""
    lines.append(f"Everything is as it was written: {checked}." if well else f"{checked} checked, {len(report.broken)} broken{lost}.")
    data = {
        "ok": well, "records": report.records, "chains": report.chains, "broken": [broken.to_json() for broken in report.broken],
        "lost": report.lost, "problems": report.problems,
    }  # fmt: skip
    return Answer(lines, data, code=int(not well))


def prune(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    now = time_of_day(environ)
    older_than = args.older_than.ago(now)
    holds.place_folders(db, lambda folder: repository.of(folder).key)
    placed = placements.placed_records(db, environ, set(archive.prunable(db, older_than, now)))
    doing = not args.dry_run
    if placed and doing and not args.yes:
        _confirm(db, placed, older_than, args, environ)
    pruned = _pruned(db, older_than, now, args, environ)
    originals = _prune_originals(home.popkit_home(environ), older_than, args.dry_run)
    data = {
        **pruned.to_json(), "held": sum(map(len, placed.values())), "placeholders": placements.handles_by_transcript(placed),
        "originals": originals, "dry_run": args.dry_run,
    }  # fmt: skip
    lines: list[text.Line] = []
    if originals:
        lines += text.wrap(f"{'Deleted' if doing else 'Would delete'} {units.counted(originals, 'transcript')} kept from before a change.")
    if not pruned.records:
        message = "No other content" if pruned.on_hold else "Nothing was deleted: no content"
        return Answer([*lines, *deletions.on_hold(pruned), f"{message} was archived more than {args.older_than.word} ago."], data)
    lines += deletions.would_delete(pruned) if args.dry_run else text.wrap(f"Deleted {deletions.records(pruned)} for good.")
    if doing and pruned.chains:
        lines.append(f"{units.counted(pruned.chains, 'context')} disappeared completely.")
    lines += deletions.on_hold(pruned)
    if placed and (args.dry_run or args.yes):
        lines += deletions.unrestorable(placed, doing)
    if doing and not pruned.shrunk:
        lines += text.wrap("The file keeps its size for now, because there was no space or no time to rewrite it.")
    return Answer(lines, data)


def _pruned(db: Connection, older_than: float, now: float, args: Words, environ: Mapping[str, str]) -> archive.PruneResult:
    """Prune the archive, and log that where a feature logs deletions."""
    if args.dry_run:
        return archive.prune(db, older_than, True, now)
    with ExitStack() as stack:
        for logged in features.offering("logged"):
            stack.enter_context(logged(environ, archive.prunable(db, older_than, now), now, "popkit restore prune"))
        return archive.prune(db, older_than, False, now)


def _confirm(db: Connection, placed: dict[str, list[Record]], older_than: float, args: Words, environ: Mapping[str, str]) -> None:
    """Show what would be deleted and which placeholders could no longer be restored, and ask. Refused unless the user confirms."""
    if args.json:
        many = units.counted(sum(map(len, placed.values())), "placeholder")
        raise Refused(f"nothing was deleted: {many} in transcripts could no longer be restored. --dry-run lists them, --yes deletes anyway")
    would = archive.prune(db, older_than, dry_run=True, now=time_of_day(environ))
    terminal.write_view(
        deletions.would_delete(would) + deletions.on_hold(would) + deletions.unrestorable(placed, False), sys.stdout, environ
    )
    if not terminal.is_confirmed("Delete anyway?"):
        raise Refused("nothing was deleted. --yes skips the question")


def _prune_originals(popkit_home: str, older_than: float, dry_run: bool) -> int:
    """Delete the originals of transcripts that were changed before `older_than` (seconds)."""
    deleted = 0
    for name in stored_contexts.folders(popkit_home):
        path = os.path.join(popkit_home, "sessions", name, home.ORIGINAL)
        try:
            if os.lstat(path).st_ctime < older_than:  # the file was renamed, so its mtime is the time of its last line
                deleted += 1
                if not dry_run:
                    os.unlink(path)
        except OSError:
            continue  # missing, or deleted meanwhile
    return deleted


def search(db: Connection, args: Words, environ: Mapping[str, str]) -> Answer:
    with Bar(environ, "records") as bar:
        unindexed = index.index_queued(db, bar.show)
    folders = None if args.everywhere else archived.folders_of(db, repository.of(os.getcwd()).key)
    matches = searching.search(db, args.argument, mask, folders, args.session, args.limit + 1)
    more = len(matches) > args.limit
    matches = matches[: args.limit]
    lines = views.matches(matches, args.everywhere, args.limit if more else 0)
    if unindexed:
        lines += text.wrap(
            f"{units.counted(unindexed, 'record')} cannot be searched: this Python's SQLite has no FTS5. Run popkit with another Python."
        )
    return Answer(lines, {"found": [_match_data(db, match) for match in matches], "more": more, "not_searched": unindexed})


def _match_data(db: Connection, match: Match) -> dict[str, object]:
    record, owner = match.record, chain(db, match.record.task_id)
    return {
        "handle": record.id, "label": record.label, "archived_at": record.created_at, "session": owner.session_id if owner else "",
        "project": repository.of(owner.project).key if owner and owner.project else "", "lines": match.lines,
    }  # fmt: skip
