"""Retention policies: what they are, what was changed, their history; what they say of all things of a domain, and of one. Plain values in,
lines out. Pure."""

from __future__ import annotations

from hooks.utils import text
from hooks.utils.text import size

from ..governance import status
from ..governance.policies import KEYS
from ..governance.rules import ELIGIBLE, PINNED, PLACEHOLDER
from ..governance.status import SOON_DAYS
from . import retention_phrases as phrases
from .columns import ago, ahead, pair, pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_KEY_COLUMNS = 18
# States of a thing, and what can come next (at its time, with the next collection), as `explain` tells them.
_STATES = {
    status.HELD: "on hold{since}: nothing deletes it",
    status.KEPT: "protected",
    status.READY: "eligible{since}: it may be deleted",
    status.MARKED: "marked{ago}",
}
_COMING = {
    status.TO_BE_ELIGIBLE: ("it may be deleted {when}, unless it is used before", "it may be deleted"),
    status.TO_BE_MARKED: ("it can be marked {when}", "the next collection marks it; 24 h later it can be deleted"),
    status.TO_BE_DELETED: ("it can be deleted {when}", "the next collection deletes it"),
    status.TO_BE_UNMARKED: ("its mark can be taken back {when}", "the next collection takes the mark back"),
    status.HOLD_ENDS: ("the hold ends {when}", "the hold is over"),
}


def shown(found: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Both policies, what is stored, what of it may be deleted, is marked, is held. `command`: how the reader calls us."""
    lines = text.title("Retention: what stored data may be deleted")
    for each in found.get("requests", ()):
        lines += [*_request(each, now, command), ""]
    changed = f"revision {found['revision']:,}, set {ago(phrases.at(found['updated_at']), now)}" if found["revision"] else "the defaults"
    lines += pair("Policies", changed)
    for each in found["domains"]:
        others = any(own["domain"] == each["domain"] for own in found.get("own", ()))
        lines += ["", *_domain(each, now, command, ", but for the projects below" if others else "")]
    for each in found.get("own", ()):
        lines += ["", *_own(each, command)]
    lines.append("")
    lines += pair(
        "Archives", f"{found['archives']['count']:,}, {size(found['archives']['bytes'])}" if found["archives"]["count"] else "none"
    )
    if any(each["counts"]["eligible"] for each in (*found["domains"], *found.get("own", ())) if not each["unavailable"]):
        lines += ["", *phrases.what_goes(command)]
    return lines


def _domain(found: Mapping[str, Any], now: float, command: str, but: str) -> list[text.Line]:
    domain, policy = found["domain"], found["policy"]
    lines: list[text.Line] = [f"{domain}: {phrases.NAMED[domain]}{but}"]
    for key in KEYS:
        lines += _setting(key, policy[key])
    if found["unavailable"]:
        return lines + pair("Stored", found["unavailable"])
    counts = found["counts"]
    lines += pair("Stored", phrases.counted(counts["total"], domain) if counts["total"] else "nothing")
    if counts["total"]:
        lines += pair("Eligible", phrases.eligible(counts["eligible"], found["left_out"]))
        lines += pairs("Protected", phrases.counts(found["reasons"], policy["older_than_days"]) or ["none"])
    if found["soon"]["count"]:
        lines += pair("Soon", _soon(found["soon"], now))
    if found["marked"]:
        lines += pair("Marked", _marked(found, now, command))
    lines += pair("Holds", f"{found['holds']:,} in force" if found["holds"] else "none")
    return lines


def _request(found: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """What an agent asks for."""
    project, id = text.clean(found["project"]), text.clean(found["request"])
    head = f"An agent in {project} asked for this {found['domain']} policy {ago(phrases.at(found['at']), now)}. It would keep"
    lines = text.wrap(f"{head} less, so it waits for your yes, and would hold in that project alone:")
    lines += _changed({f"{found['domain']}.{key}": (found["now"][key], value) for key, value in found["asked"].items()}, "now")
    return [*lines, "To decide:", f"  {command} accept {id}", f"  {command} decline {id}"]


def accepted(found: Mapping[str, Any], command: str) -> list[text.Line]:
    """What an agent's request has changed, now that the user accepted it."""
    project = text.clean(found["project"])
    lines = text.wrap(f"Accepted {found['request']}. This now holds for {project} alone, as revision {found['revision']:,}:")
    lines += _changed({f"{found['domain']}.{key}": tuple(both) for key, both in found["changed"].items()}) or ["  the same as before"]
    return [*lines, "To let your own policy apply there again:", f"  {command} unset {project}"]


def _own(found: Mapping[str, Any], command: str) -> list[text.Line]:
    """A policy that a project has of its own."""
    project, counts = text.clean(found["project"]), found["counts"]
    lines = text.wrap(f"{found['domain']} of {project}, by a policy of its own:")
    for key in KEYS:
        lines += _setting(key, found["policy"][key])
    if found["unavailable"]:
        return lines
    lines += pair("Stored", phrases.counted(counts["total"], found["domain"]) if counts["total"] else "nothing")
    lines += pair("Eligible", phrases.eligible(counts["eligible"], found["left_out"])) if counts["total"] else []
    return [*lines, f"  {command} unset {project}"]


def _setting(key: str, given: object) -> list[text.Line]:
    return text.pair("  " + key, phrases.value(given), _KEY_COLUMNS + 2)


def _soon(found: Mapping[str, Any], now: float) -> str:
    return f"{found['count']:,} of those may be deleted within {SOON_DAYS} days, the first {ahead(phrases.at(found['first_at']), now)}"


def _marked(found: Mapping[str, Any], now: float, command: str) -> str:
    due = phrases.at(found["due_at"])
    when = "some can be deleted now" if due <= now else f"the first can be deleted {ahead(due, now)}"
    return f"{found['marked']:,}, {when}. {command} undo takes marks back"


def adjusted(found: Sequence[Mapping[str, Any]], domain: str) -> list[text.Line]:
    """What a policy does not keep as it was given."""
    lines: list[text.Line] = []
    for each in found:
        became = f"{phrases.value(each['given'])} becomes {phrases.value(each['kept'])}"
        lines += text.wrap(f"{domain}.{each['key']}: {became}, because it {each['why']}.", indent="  ")
    return lines


def changes(before: Mapping[str, Any], after: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[object, object]]:
    """`domain.key` -> (what it was, what it is) of all that changed: from the policies before, and the policies of domains after."""
    return {
        f"{domain}.{key}": (before[domain][key], policy[key])
        for domain, policy in after.items()
        for key in KEYS
        if before[domain][key] != policy[key]
    }


def configured(before: Mapping[str, Any], found: Sequence[Mapping[str, Any]], command: str) -> list[text.Line]:
    """What `set` has done. `before`: the policies before it; `command`: how the reader calls us."""
    lines = [line for each in found for line in adjusted(each["adjusted"], each["domain"])]
    changed = changes(before, {each["domain"]: each["policy"] for each in found})
    if not changed:
        return [*lines, *text.wrap("Nothing changed: the policies are as they were.")]
    head = f"The policies changed, and have revision {max(each['revision'] for each in found):,} now:"
    own = sorted({key for each in found for key in before.get("projects", {}).get(each["domain"], ())})
    theirs = text.wrap(f"Not in {text.listed(list(map(text.clean, own)), 3)}: {command} show says what holds there.") if own else []
    return [*lines, head, *_changed(changed), *theirs, "To undo this:", f"  {command} rollback {before['revision']}"]


def rolled_back(revision: int, before: Mapping[str, Any] | None, found: Mapping[str, Any], command: str) -> list[text.Line]:
    """What `rollback` has done. `before`: None where nobody could read what the policies were."""
    if not found["domains"]:
        return text.wrap(f"Nothing changed: the policies are those of revision {revision:,} already.")
    lines = text.wrap(f"The policies of revision {revision:,} are back, as revision {found['revision']:,}.")
    if before is None:
        return [*lines, *text.wrap("The file of policies was damaged, and has been written anew.")]
    changed = changes(before, {domain: found[domain] for domain in found["domains"]})
    return [*lines, *_changed(changed), "To undo this:", f"  {command} rollback {before['revision']}"]


def _changed(found: Mapping[str, tuple[object, ...]], was_said: str = "was") -> list[text.Line]:
    lines = []
    for name, (was, now) in found.items():
        lines += text.wrap(f"  {name} = {phrases.value(now)} ({was_said} {phrases.value(was)})", indent="    ")
    return lines


def history(found: Sequence[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """How the policies came to be what they are."""
    if not found:
        return text.wrap(f"The policies are the defaults and were never changed. {command} set KEY=VALUE changes one.")
    lines: list[text.Line] = []
    for each in found:
        back = f", back to revision {each['rolled_back_to']:,}" if "rolled_back_to" in each else ""
        of = f" of {text.clean(each['project'])}" if "project" in each else ""
        head = f"Revision {each['revision']:,}: {each['domain']}{of}, {ago(phrases.at(each['at']), now)}, by {phrases.by(each['by'])}{back}"
        lines += text.wrap(head)
        lines += _changed({f"{each['domain']}.{key}": (was, became) for key, (was, became) in each["changed"].items()})
        lines += [] if each["changed"] else ["  the same as before"]
    return [*lines, "", "To go back to one (0: the defaults):", f"  {command} rollback REVISION"]


# --- all of a domain -------------------------------------------------------------------------------------------------------------------


def applied(found: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]], now: float, most: int | None) -> list[text.Line]:
    """What a policy lets go of and what it protects, by reason. `described`: what is known of the things that are shown, by id."""
    domain, counts = found["domain"], found["counts"]
    days = found["policy_applied"]["older_than_days"]
    of = f" of {text.clean(found['project'])}" if "project" in found else ""
    lines = text.title(f"{domain}{of}: {phrases.counted(counts['total'], domain)}")
    if not counts["total"]:
        return [*lines, "Nothing is stored."]
    why = f": {phrases.reason(ELIGIBLE, days)}" if counts["eligible"] else ""
    lines += pair("Eligible", phrases.eligible(counts["eligible"], found["left_out"]) + why)
    lines += phrases.listed(_labelled(found["eligible"], described), most, now)
    lines += pair("Protected", f"{counts['protected']:,}" if counts["protected"] else "none")
    for codes, rows in phrases.by_reasons(found["protected"]).items():
        lines += text.wrap(f"  {len(rows):,}: {phrases.reasons(codes, days)}", indent="    ")
        lines += text.indented(phrases.listed(_labelled(rows, described), _of_reason(most), now), "  ")
    return lines


def shown_ids(found: Mapping[str, Any], most: int | None) -> list[str]:
    """The ids of what `applied` shows."""
    rows = [*found["eligible"][:most]]
    for of_reason in phrases.by_reasons(found["protected"]).values():
        rows += of_reason[: _of_reason(most)]
    return [row["id"] for row in rows]


def _of_reason(most: int | None) -> int | None:
    return None if most is None else min(most, _OF_A_REASON)


def _labelled(rows: Sequence[Mapping[str, Any]], described: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{**row, "label": described.get(row["id"], {}).get("label", "")} for row in rows]


_OF_A_REASON = 3  # protected things shown of each reason


# --- one thing -------------------------------------------------------------------------------------------------------------------------


def explained(found: Mapping[str, Any], policy: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """What is thought of one thing: which rules hold for it, since when, and what comes next."""
    lines = text.title(f"{text.clean(found['id'])}  {text.clean(found['label'])}".rstrip())
    lines += pair("Domain", f"{found['domain']}, {phrases.NAMED[found['domain']]}")
    lines += pair("Project", found["project"]) if found["project"] else []
    lines += pair("Session", found["session"]) if found["session"] else []
    lines += pair("Size", size(found["bytes"]))
    lines += pair("Age", phrases.age(found["created_at"], now))
    lines += pair("Stored", found["stands"]) if found["stands"] else []
    lines += pair("State", _state(found, now))
    lines += pairs("Because", [phrases.reason(code, policy["older_than_days"]) for code in found["reasons"]])
    for hold in found["holds"]:
        lines += pair("Hold", f"{hold['id']}, {hold_said(hold, now)}")
    for path in found["placeholders"]:
        lines += pair("Transcript", path)
    lines += _next(found, now, command)
    return lines


def _state(found: Mapping[str, Any], now: float) -> str:
    since = f" since {phrases.day(found['since'])}" if found["since"] is not None else ""
    mark = found["marked"]
    marked = f" {ago(phrases.at(mark['at']), now)}, by {phrases.by(mark['by'])}" if mark else ""
    return _STATES[found["state"]].format(since=since, ago=marked)


def hold_said(hold: Mapping[str, Any], now: float) -> str:
    """Who wanted a hold, why, and until when, unless it was released before."""
    said = f"{text.clean(hold['who'])}: {text.clean(hold['why'])}"
    if hold["until"] is None or hold.get("released_at") is not None:
        return said
    until = phrases.at(hold["until"])
    return f"{said}, until {phrases.day(hold['until'])}" + (f" ({ahead(until, now)})" if until > now else "")


def _next(found: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    coming = found["next"]
    if coming is None:
        return pair("Next", _nothing(found, command))
    at = now if coming["at"] is None else phrases.at(coming["at"])
    timed, by_collection = _COMING[coming["what"]]
    lines = pair("Next", timed.format(when=ahead(at, now)) if at > now else by_collection)
    return lines + (pair("", f"To take the mark back: {command} undo {text.clean(found['id'])}") if found["marked"] else [])


def _nothing(found: Mapping[str, Any], command: str) -> str:
    """What would have to happen before anything else does."""
    if found["holds"]:
        return f"nothing, until the hold is released: {command} hold release {text.clean(found['holds'][0]['id'])}"
    if PINNED in found["reasons"]:
        return "nothing, while it is pinned"
    if PLACEHOLDER in found["reasons"]:
        return f"nothing, while the transcript has the placeholder, unless somebody runs {command} gc --placeholders"
    return "nothing, unless you change the policy"
