"""The texts of a collection."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.hosts.transcripts.projects import session_id_of

from ...views import pair, pairs
from ..domains.rules import PLACEHOLDER
from . import wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shapes import CollectionAnswer, CollectionPart, ResourceName


def is_idle(answer: CollectionAnswer) -> bool:
    """Return whether a collection has nothing to do."""
    return not any(part["marks"] or part["deletes"] or part["unmarked"] for part in answer["domains"])


def collected(answer: CollectionAnswer, now: float, most: int | None, command: str) -> list[text.Line]:
    """Return what a collection would do, or has done. `command`: how the reader calls us."""
    lines: list[text.Line] = []
    for part in answer["domains"]:
        lines += ["", *text.wrap(f"{_named(part)}: {wording.NAMED[part['domain']]}"), *_of_domain(part, answer["dry_run"], now, most)]
    if answer["dry_run"] and any(part["kept"].get(PLACEHOLDER) for part in answer["domains"]):
        lines += ["", "To also collect what placeholders refer to:", f"  {command} gc --placeholders"]
    return lines + _marked(answer, command)


def _named(part: CollectionPart) -> str:
    """Return the name of what was collected: a domain, or the part of it under one project's own policy."""
    return f"{part['domain']} of {text.clean(part['project'])}" if "project" in part else str(part["domain"])


def done(answer: CollectionAnswer, command: str) -> list[text.Line]:
    """Return what a collection has done, after it was shown and confirmed."""
    lines: list[text.Line] = []
    for part in answer["domains"]:
        outcomes = {"deleted for good": len(part["deletes"]), "marked": len(part["marks"]), "unmarked": len(part["unmarked"])}
        words = [f"{wording.counted(count, part['domain'])} {outcome}" for outcome, count in outcomes.items() if count]
        lines += text.wrap(f"{_named(part)}: {', '.join(words)}") if words else []
    return (lines or ["Nothing was left to do."]) + _marked(answer, command)


def _marked(answer: CollectionAnswer, command: str) -> list[text.Line]:
    """Return what happens to the marks that were just made."""
    if answer["dry_run"] or not any(part["marks"] for part in answer["domains"]):
        return []
    words = (
        "Everything that was just marked stays for 24 h. After that, the next collection deletes it: your next gc, or the hourly one"
        " where auto_gc is"
    )
    return ["", *text.wrap(f"{words} true. To remove the marks before then:"), f"  {command} undo"]


def _of_domain(part: CollectionPart, dry_run: bool, now: float, most: int | None) -> list[text.Line]:
    days = part["params"]["older_than_days"]
    deletes, marks, unmarked = ("To delete", "To mark", "To unmark") if dry_run else ("Deleted", "Marked", "Unmarked")
    lines = pair(deletes, f"{wording.counted(len(part['deletes']), part['domain'])} for good") if part["deletes"] else []
    lines += wording.listed(part["deletes"], most, now)
    lines += pair(marks, wording.counted(len(part["marks"]), part["domain"])) if part["marks"] else []
    lines += wording.listed(part["marks"], most, now)
    if part["waiting"]:
        lines += pair("Waiting", f"{len(part['waiting']):,} marked for less than 24 h")
    by_reasons = wording.by_reasons(part["unmarked"]).items()
    lines += pairs(unmarked, [f"{len(rows):,} {wording.reasons(codes, days)}" for codes, rows in by_reasons])
    if part["truncated"]:
        lines += pair("Left", f"{part['left_out']:,} more for the next collection, because of the policy's limit")
    lines += pairs("Kept", wording.counts_by_reason(part["kept"], days))
    lines += _placeholders(part, dry_run)
    if part["compacted"]:
        lines += pair("Compacted", "the file was shrunk to the space that it needs")
    return lines or ["Nothing is stored."]


def _placeholders(part: CollectionPart, dry_run: bool) -> list[text.Line]:
    """Return which sessions have placeholders for data that a collection deletes."""
    going = {resource["id"] for resource in (*part["deletes"], *part["marks"])}
    by_session: dict[str, list[str]] = {}
    for id, paths in part["placeholders"].items():
        for path in paths if id in going else ():
            by_session.setdefault(session_id_of(path), []).append(id)
    if not by_session:
        return []
    are_deleted = not dry_run and not part["marks"]
    lost = "placeholders in these sessions can no longer be restored:"
    lines = text.wrap(f"Now {lost}" if are_deleted else f"Once this is deleted, {lost}")
    for session, ids in by_session.items():
        lines += text.wrap(f"  session {session}: {text.listed([text.clean(id) for id in ids])}", indent="    ")
    return lines


def unmarked(marks: Sequence[ResourceName]) -> list[text.Line]:
    """Return what `undo` has done."""
    lines = text.wrap(f"Removed {units.counted(len(marks), 'mark')}:")
    return lines + [f"  {mark['domain']:<8}{text.clean(mark['id'])}" for mark in marks]
