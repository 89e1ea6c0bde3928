"""The texts of what is done under retention policies: collections, holds, archives, the log, a verification, and one item with what happens
to it next. Plain values in, lines out. Pure."""

from __future__ import annotations

import os
import time

from hooks.utils import text, units
from hooks.utils.hosts.transcripts.projects import session_id_of
from hooks.utils.units import size

from ..views import ago, ahead, pair, pairs
from . import answers
from . import policy_views as policies
from .domains.rules import PINNED, PLACEHOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_IDS = 3  # ids shown in one entry of the log

# --- collections ---


def is_idle(answer: Mapping[str, Any]) -> bool:
    """Return whether a collection has nothing to do."""
    return not any(each["marks"] or each["deletes"] or each["unmarked"] for each in answer["domains"])


def collected(answer: Mapping[str, Any], now: float, most: int | None, command: str) -> list[text.Line]:
    """Return what a collection would do, or has done. `command`: how the reader calls us."""
    lines: list[text.Line] = []
    for each in answer["domains"]:
        lines += ["", *text.wrap(f"{_named(each)}: {policies.NAMED[each['domain']]}"), *_of_domain(each, answer["dry_run"], now, most)]
    if answer["dry_run"] and any(each["kept"].get(PLACEHOLDER) for each in answer["domains"]):
        lines += ["", "To also collect what placeholders refer to:", f"  {command} gc --placeholders"]
    return lines + _marked(answer, command)


def _named(part: Mapping[str, Any]) -> str:
    """Return the name of what was collected: a domain, or the part of it under one project's own policy."""
    return f"{part['domain']} of {text.clean(part['project'])}" if "project" in part else str(part["domain"])


def done(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what a collection has done, after it was shown and confirmed."""
    lines: list[text.Line] = []
    for each in answer["domains"]:
        actions = [(each["deletes"], "deleted for good"), (each["marks"], "marked"), (each["unmarked"], "unmarked")]
        words = [f"{policies.counted(len(rows), each['domain'])} {what}" for rows, what in actions if rows]
        lines += text.wrap(f"{_named(each)}: {', '.join(words)}") if words else []
    return (lines or ["Nothing was left to do."]) + _marked(answer, command)


def _marked(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what happens to the marks that were just made."""
    if answer["dry_run"] or not any(each["marks"] for each in answer["domains"]):
        return []
    words = (
        "Everything that was just marked stays for 24 h. After that, the next collection deletes it: your next gc, or the hourly one"
        " where auto_gc is"
    )
    return ["", *text.wrap(f"{words} true. To remove the marks before then:"), f"  {command} undo"]


def _of_domain(part: Mapping[str, Any], dry_run: bool, now: float, most: int | None) -> list[text.Line]:
    days = part["params"]["older_than_days"]
    deletes, marks, unmarked = ("To delete", "To mark", "To unmark") if dry_run else ("Deleted", "Marked", "Unmarked")
    lines = pair(deletes, f"{policies.counted(len(part['deletes']), part['domain'])} for good") if part["deletes"] else []
    lines += policies.listed(part["deletes"], most, now)
    lines += pair(marks, policies.counted(len(part["marks"]), part["domain"])) if part["marks"] else []
    lines += policies.listed(part["marks"], most, now)
    if part["waiting"]:
        lines += pair("Waiting", f"{len(part['waiting']):,} marked for less than 24 h")
    by_reasons = policies.by_reasons(part["unmarked"]).items()
    lines += pairs(unmarked, [f"{len(rows):,} {policies.reasons(codes, days)}" for codes, rows in by_reasons])
    if part["truncated"]:
        lines += pair("Left", f"{part['left_out']:,} more for the next collection, because of the policy's limit")
    lines += pairs("Kept", policies.counts_by_reason(part["kept"], days))
    lines += _placeholders(part, dry_run)
    if part["compacted"]:
        lines += pair("Compacted", "the file was shrunk to the space that it needs")
    return lines or ["Nothing is stored."]


def _placeholders(part: Mapping[str, Any], dry_run: bool) -> list[text.Line]:
    """Return which sessions have placeholders for data that a collection deletes."""
    going = {each["id"] for each in (*part["deletes"], *part["marks"])}
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


def unmarked(marks: Sequence[Mapping[str, Any]]) -> list[text.Line]:
    """Return what `undo` has done."""
    lines = text.wrap(f"Removed {units.counted(len(marks), 'mark')}:")
    return lines + [f"  {each['domain']:<8}{text.clean(each['id'])}" for each in marks]


# --- holds ---


def held(added: Sequence[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """Return holds that were just added."""
    lines = [line for each in added for line in _hold(each, now)]
    return [
        *lines,
        "To release it:" if len(added) == 1 else "To release one of them:",
        f"  {command} hold release {text.clean(added[0]['id'])}",
    ]


def holds(listed: Sequence[Mapping[str, Any]], now: float, everything: bool, command: str) -> list[text.Line]:
    """Return holds, oldest first."""
    if not listed:
        none = "There are no holds." if everything else "No hold is in force."
        return text.wrap(f"{none} {command} hold add ID --why TEXT adds one.")
    return [line for each in listed for line in _hold(each, now)]


def released(hold: Mapping[str, Any], now: float) -> list[text.Line]:
    """Return a hold that was just released."""
    return [*text.wrap(f"Released. From now on, the policy of {hold['domain']} applies to:"), *_hold(hold, now)]


def _hold(hold: Mapping[str, Any], now: float) -> list[text.Line]:
    about = f"{hold['scope']} {text.clean(hold['target'])}"
    ended = ""
    if hold["released_at"] is not None:
        ended = f" (released {ago(policies.seconds_of(hold['released_at']), now)})"
    elif not hold.get("in_force", True):
        ended = " (over)"
    lines = text.wrap(f"{text.clean(hold['id'])}: {hold['domain']}, {about}{ended}", indent="  ")
    return lines + text.wrap(f"  {hold_words(hold, now)}", indent="  ")


# --- archives ---


def archived(written: Sequence[Mapping[str, Any]], command: str) -> list[text.Line]:
    """Return archives that were just written."""
    lines: list[text.Line] = []
    for each in written:
        what = f"{policies.counted(each['resource_count'], each['domain'])} ({size(each['total_size_bytes'])})"
        # On a line of its own and not wrapped, so that it can be copied.
        lines += [f"Archived {what} in", f"  {text.clean(os.path.dirname(each['manifest_path']))}"]
    lines += text.wrap("Nothing was deleted. To bring back what is missing later:")
    return lines + [f"  {command} admin restore {text.clean(each['archive_id'])}" for each in written]


def archives(listed: Sequence[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """Return all archives."""
    if not listed:
        return text.wrap(f"There are no archives. {command} admin archive writes one of what may be deleted.")
    return [line for each in listed for line in _archive(each, now)]


def to_remove(archives: Sequence[Mapping[str, Any]], now: float) -> list[text.Line]:
    """Return the archives that are about to be deleted."""
    return [line for each in archives for line in _archive(each, now)]


def _archive(each: Mapping[str, Any], now: float) -> list[text.Line]:
    lines: list[text.Line] = [text.clean(each["archive_id"])]
    if "problem" in each:
        return lines + text.wrap(f"  Broken: {each['problem']}", indent="  ")
    amount = f"{policies.counted(each['resource_count'], each['domain'])}, {size(each['total_size_bytes'])}"
    lines += text.wrap(f"  {amount}, {ago(policies.seconds_of(each['created_at']), now)}", indent="  ")
    return lines + (text.wrap(f"  {text.clean(each['note'])}", indent="  ") if each["note"] else [])


def restored(answer: Mapping[str, Any]) -> list[text.Line]:
    """Return what came back from an archive."""
    back, there, damaged = len(answer["restored"]), len(answer["already"]), len(answer.get("damaged", ()))
    lines = text.wrap(f"Brought back {policies.counted(back, answer['domain'])}." if back else "Nothing was brought back.")
    lines += text.wrap(f"Stored already, and left as it was: {there:,}.") if there else []
    return lines + (text.wrap(f"Damaged in the archive, and left out: {damaged:,}.") if damaged else [])


# --- verification
# -----------------------------------------------------------------------------------------------------------------------------


def verified(answer: Mapping[str, Any]) -> list[text.Line]:
    """Return the result of a verification."""
    entries = "1 entry" if answer["log_entries"] == 1 else f"{answer['log_entries']:,} entries"
    checked = f"policies, {entries} of the log, {units.counted(answer['archives'], 'archive')}"
    if answer["ok"]:
        return text.wrap(f"Everything is as it was written: {checked}.")
    lines = [line for each in answer["problems"] for line in text.wrap(f"Broken: {each['where']}: {each['what']}", indent="  ")]
    return [*lines, *text.wrap(f"Checked: {checked}; {units.counted(len(answer['problems']), 'problem')}.")]


def logged(entries: Sequence[Mapping[str, Any]], now: float) -> list[text.Line]:
    """Return entries of the log."""
    if not entries:
        return ["The log has no such entry."]
    columns = max(len(str(each["number"])) for each in entries)
    lines = []
    for each in entries:
        head = f"{each['number']:>{columns}}  "
        event = f"{ago(policies.seconds_of(each['at']), now)}, {policies.named_actor(each['by'])}: {entry_in_words(each)}"
        lines += text.pair(head, event, len(head))
    return lines


def entry_in_words(entry: Mapping[str, Any]) -> str:
    """Return an entry of the log in words."""
    details, domain = entry["details"], entry["domain"] or "memory and rag"
    action = entry["action"]
    if action == "configured":
        back = f", back to revision {details['rolled_back_to']}" if "rolled_back_to" in details else ""
        of = f" of {text.clean(details['project'])}" if "project" in details else ""
        return f"configured {domain}{of}, revision {details.get('revision')}{back}"
    if action in ("requested", "declined"):
        settings = ", ".join(f"{key} = {policies.value(value)}" for key, value in details.get("config", {}).items())
        verb = "requested" if action == "requested" else "declined"
        ids = text.listed(list(map(text.clean, entry["ids"])), _IDS)
        return f"{verb} {ids} of {domain} of {text.clean(details.get('project'))}: {settings}"
    if action == "applied":
        counts = details.get("counts", {})
        return f"applied the policy of {domain}: {counts.get('eligible', 0):,} of {counts.get('total', 0):,} may be deleted"
    if action == "held":
        whose = f"{details.get('who')}, {details.get('why')}"
        return f"held {details.get('scope')} {details.get('target')} of {domain} ({details.get('id')}): {whose}"
    if action == "released":
        return f"released hold {details.get('hold')} of {domain}"
    if action == "abandoned":
        return f"gave up entry {details.get('of')}: {details.get('problem')}"
    ids = entry["ids"]
    named = f": {text.listed([text.clean(id) for id in ids], _IDS)}" if ids else ""
    of = policies.counted(len(ids), domain) if domain in policies.THINGS else units.counted(len(ids), "item")
    into = f" ({details['archive_id']})" if "archive_id" in details else ""
    return f"{_DID.get(action) or text.clean(action)} {of}{into}{named}"


_DID = {"deleting": "began to delete", "removed": "deleted the archive of"}


# --- one thing ---

# States of a thing, and what can happen next (at its time, with the next collection), as `explain` shows them.
_STATES = {
    answers.HELD: "on hold{since}: nothing deletes it",
    answers.KEPT: "protected",
    answers.READY: "eligible{since}: it may be deleted",
    answers.MARKED: "marked{ago}",
}
_COMING = {
    answers.TO_BE_ELIGIBLE: ("it may be deleted {when}, unless it is used before then", "it may be deleted"),
    answers.TO_BE_MARKED: ("it can be marked {when}", "the next collection marks it; 24 h later it can be deleted"),
    answers.TO_BE_DELETED: ("it can be deleted {when}", "the next collection deletes it"),
    answers.TO_BE_UNMARKED: ("its mark can be removed {when}", "the next collection removes the mark"),
    answers.HOLD_ENDS: ("the hold ends {when}", "the hold is over"),
}


def explained(answer: Mapping[str, Any], policy: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the explanation of one thing: which rules apply to it, since when, and what happens next."""
    lines = text.title(f"{text.clean(answer['id'])}  {text.clean(answer['label'])}".rstrip())
    lines += pair("Domain", f"{answer['domain']}, {policies.NAMED[answer['domain']]}")
    lines += pair("Project", answer["project"]) if answer["project"] else []
    lines += pair("Session", answer["session"]) if answer["session"] else []
    lines += pair("Size", size(answer["bytes"]))
    lines += pair("Age", policies.age_of(answer["created_at"], now))
    lines += pair("Stored", answer["stands"]) if answer["stands"] else []
    lines += pair("State", _state(answer, now))
    lines += pairs("Because", [policies.reason(code, policy["older_than_days"]) for code in answer["reasons"]])
    for hold in answer["holds"]:
        lines += pair("Hold", f"{hold['id']}, {hold_words(hold, now)}")
    for path in answer["placeholders"]:
        lines += pair("Transcript", path)
    lines += _next(answer, now, command)
    return lines


def _state(answer: Mapping[str, Any], now: float) -> str:
    since = f" since {_day(answer['since'])}" if answer["since"] is not None else ""
    mark = answer["marked"]
    marked = f" {ago(policies.seconds_of(mark['at']), now)}, by {policies.named_actor(mark['by'])}" if mark else ""
    return _STATES[answer["state"]].format(since=since, ago=marked)


def hold_words(hold: Mapping[str, Any], now: float) -> str:
    """Return who asked for a hold, why, and until when, unless it was released before."""
    words = f"{text.clean(hold['who'])}: {text.clean(hold['why'])}"
    if hold["until"] is None or hold.get("released_at") is not None:
        return words
    until = policies.seconds_of(hold["until"])
    return f"{words}, until {_day(hold['until'])}" + (f" ({ahead(until, now)})" if until > now else "")


def _next(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    coming = answer["next"]
    if coming is None:
        return pair("Next", _nothing(answer, command))
    at = now if coming["at"] is None else policies.seconds_of(coming["at"])
    timed, by_collection = _COMING[coming["what"]]
    lines = pair("Next", timed.format(when=ahead(at, now)) if at > now else by_collection)
    return lines + (pair("", f"To remove the mark: {command} undo {text.clean(answer['id'])}") if answer["marked"] else [])


def _nothing(answer: Mapping[str, Any], command: str) -> str:
    """Return what has to happen before anything else can."""
    if answer["holds"]:
        return f"nothing, until the hold is released: {command} hold release {text.clean(answer['holds'][0]['id'])}"
    if PINNED in answer["reasons"]:
        return "nothing, while it is pinned"
    if PLACEHOLDER in answer["reasons"]:
        return f"nothing, while the transcript has the placeholder, unless somebody runs {command} gc --placeholders"
    return "nothing, unless you change the policy"


def _day(moment: object) -> str:
    """Return the day of a time, in UTC, as days in arguments are."""
    return time.strftime("%Y-%m-%d", time.gmtime(policies.seconds_of(moment)))
