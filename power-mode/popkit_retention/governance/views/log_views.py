"""The texts of the log of retention: its entries, the result of verifying it."""

from __future__ import annotations

from popkit_retention.core import text, units

from ...views import ago
from . import wording

_IDS = 3  # ids shown in one entry of the log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shapes import EntryAnswer, VerificationAnswer


def verified(answer: VerificationAnswer) -> list[text.Line]:
    """Return the result of a verification."""
    entries = "1 entry" if answer["log_entries"] == 1 else f"{answer['log_entries']:,} entries"
    checked = f"policies, {entries} of the log, {units.counted(answer['archives'], 'archive')}"
    if answer["ok"]:
        return text.wrap(f"Everything is as it was written: {checked}.")
    lines = [line for problem in answer["problems"] for line in text.wrap(f"Broken: {problem['where']}: {problem['what']}", indent="  ")]
    return [*lines, *text.wrap(f"Checked: {checked}; {units.counted(len(answer['problems']), 'problem')}.")]


def logged(entries: Sequence[EntryAnswer], now: float) -> list[text.Line]:
    """Return entries of the log."""
    if not entries:
        return ["The log has no such entry."]
    columns = max(len(str(entry["number"])) for entry in entries)
    lines = []
    for entry in entries:
        head = f"{entry['number']:>{columns}}  "
        event = f"{ago(wording.seconds_of(entry['at']), now)}, {wording.named_actor(entry['by'])}: {entry_in_words(entry)}"
        lines += text.pair(head, event, len(head))
    return lines


def entry_in_words(entry: EntryAnswer) -> str:
    """Return an entry of the log in words."""
    details, domain = entry["details"], entry["domain"] or "memory and rag"
    action = entry["action"]
    if action == "configured":
        back = f", back to revision {details['rolled_back_to']}" if "rolled_back_to" in details else ""
        of = f" of {text.clean(details['project'])}" if "project" in details else ""
        return f"configured {domain}{of}, revision {details.get('revision')}{back}"
    if action in ("requested", "declined"):
        settings = ", ".join(f"{key} = {wording.value(value)}" for key, value in details.get("config", {}).items())
        verb = "requested" if action == "requested" else "declined"
        requests = text.listed(list(map(text.clean, entry["ids"])), _IDS)
        return f"{verb} {requests} of {domain} of {text.clean(details.get('project'))}: {settings}"
    if action == "applied":
        counts = details.get("counts", {})
        return f"applied the policy of {domain}: {counts.get('eligible', 0):,} of {counts.get('total', 0):,} may be deleted"
    if action == "held":
        reason = f"{details.get('who')}, {details.get('why')}"
        return f"held {details.get('scope')} {details.get('target')} of {domain} ({details.get('id')}): {reason}"
    if action == "released":
        return f"released hold {details.get('hold')} of {domain}"
    if action == "abandoned":
        return f"gave up entry {details.get('of')}: {details.get('problem')}"
    ids = entry["ids"]
    named = f": {text.listed([text.clean(id) for id in ids], _IDS)}" if ids else ""
    of = wording.counted(len(ids), domain) if domain in wording.THINGS else units.counted(len(ids), "item")
    into = f" ({details['archive_id']})" if "archive_id" in details else ""
    return f"{_DID.get(action) or text.clean(action)} {of}{into}{named}"


_DID = {"deleting": "began to delete", "removed": "deleted the archive of"}
