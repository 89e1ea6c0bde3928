"""Retention policies: what they are, what was changed, their history; what they say of all things of a domain, and of one. Plain values in,
lines out. Pure."""

from __future__ import annotations

from hooks.utils import text
from hooks.utils.text import size

from ..governance import answers
from ..governance.answers import SOON_DAYS
from ..governance.domains import ELIGIBLE, PINNED, PLACEHOLDER
from ..governance.policies import KEYS
from . import retention_phrases as phrases
from .columns import ago, ahead, pair, pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_KEY_COLUMNS = 18
# States of a thing, and what can come next (at its time, with the next collection), as `explain` tells them.
_STATES = {
    answers.HELD: "on hold{since}: nothing deletes it",
    answers.KEPT: "protected",
    answers.READY: "eligible{since}: it may be deleted",
    answers.MARKED: "marked{ago}",
}
_COMING = {
    answers.TO_BE_ELIGIBLE: ("it may be deleted {when}, unless it is used before", "it may be deleted"),
    answers.TO_BE_MARKED: ("it can be marked {when}", "the next collection marks it; 24 h later it can be deleted"),
    answers.TO_BE_DELETED: ("it can be deleted {when}", "the next collection deletes it"),
    answers.TO_BE_UNMARKED: ("its mark can be taken back {when}", "the next collection takes the mark back"),
    answers.HOLD_ENDS: ("the hold ends {when}", "the hold is over"),
}


def shown(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return both policies, what is stored, what of it may be deleted, is marked, is held. `command`: how the reader calls us."""
    lines = text.title("Retention: what stored data may be deleted")
    for each in answer.get("requests", ()):
        lines += [*_request(each, now, command), ""]
    changed = f"revision {answer['revision']:,}, set {ago(phrases.at(answer['updated_at']), now)}" if answer["revision"] else "the defaults"
    lines += pair("Policies", changed)
    for each in answer["domains"]:
        others = any(own["domain"] == each["domain"] for own in answer.get("own", ()))
        lines += ["", *_domain(each, now, command, ", but for the projects below" if others else "")]
    for each in answer.get("own", ()):
        lines += ["", *_own(each, command)]
    lines.append("")
    lines += pair(
        "Archives", f"{answer['archives']['count']:,}, {size(answer['archives']['bytes'])}" if answer["archives"]["count"] else "none"
    )
    if any(each["counts"]["eligible"] for each in (*answer["domains"], *answer.get("own", ())) if not each["unavailable"]):
        lines += ["", *phrases.what_goes(command)]
    return lines


def _domain(part: Mapping[str, Any], now: float, command: str, but: str) -> list[text.Line]:
    domain, policy = part["domain"], part["policy"]
    lines: list[text.Line] = [f"{domain}: {phrases.NAMED[domain]}{but}"]
    for key in KEYS:
        lines += _setting(key, policy[key])
    if part["unavailable"]:
        return lines + pair("Stored", part["unavailable"])
    counts = part["counts"]
    lines += pair("Stored", phrases.counted(counts["total"], domain) if counts["total"] else "nothing")
    if counts["total"]:
        lines += pair("Eligible", phrases.eligible(counts["eligible"], part["left_out"]))
        lines += pairs("Protected", phrases.counts(part["reasons"], policy["older_than_days"]) or ["none"])
    if part["soon"]["count"]:
        lines += pair("Soon", _soon(part["soon"], now))
    if part["marked"]:
        lines += pair("Marked", _marked(part, now, command))
    lines += pair("Holds", f"{part['holds']:,} in force" if part["holds"] else "none")
    return lines


def _request(request: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return what an agent asks for."""
    project, id = text.clean(request["project"]), text.clean(request["request"])
    head = f"An agent in {project} asked for this {request['domain']} policy {ago(phrases.at(request['at']), now)}. It would keep"
    lines = text.wrap(f"{head} less, so it waits for your yes, and would hold in that project alone:")
    lines += _changed({f"{request['domain']}.{key}": (request["now"][key], value) for key, value in request["asked"].items()}, "now")
    return [*lines, "To decide:", f"  {command} accept {id}", f"  {command} decline {id}"]


def accepted(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what an agent's request has changed, now that the user accepted it."""
    project = text.clean(answer["project"])
    lines = text.wrap(f"Accepted {answer['request']}. This now holds for {project} alone, as revision {answer['revision']:,}:")
    lines += _changed({f"{answer['domain']}.{key}": tuple(both) for key, both in answer["changed"].items()}) or ["  the same as before"]
    return [*lines, "To let your own policy apply there again:", f"  {command} unset {project}"]


def _own(part: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return a policy that a project has of its own."""
    project, counts = text.clean(part["project"]), part["counts"]
    lines = text.wrap(f"{part['domain']} of {project}, by a policy of its own:")
    for key in KEYS:
        lines += _setting(key, part["policy"][key])
    if part["unavailable"]:
        return lines
    lines += pair("Stored", phrases.counted(counts["total"], part["domain"]) if counts["total"] else "nothing")
    lines += pair("Eligible", phrases.eligible(counts["eligible"], part["left_out"])) if counts["total"] else []
    return [*lines, f"  {command} unset {project}"]


def _setting(key: str, given: object) -> list[text.Line]:
    return text.pair("  " + key, phrases.value(given), _KEY_COLUMNS + 2)


def _soon(soon: Mapping[str, Any], now: float) -> str:
    return f"{soon['count']:,} of those may be deleted within {SOON_DAYS} days, the first {ahead(phrases.at(soon['first_at']), now)}"


def _marked(part: Mapping[str, Any], now: float, command: str) -> str:
    due = phrases.at(part["due_at"])
    when = "some can be deleted now" if due <= now else f"the first can be deleted {ahead(due, now)}"
    return f"{part['marked']:,}, {when}. {command} undo takes marks back"


def adjusted(adjustments: Sequence[Mapping[str, Any]], domain: str) -> list[text.Line]:
    """Return what a policy does not keep as it was given."""
    lines: list[text.Line] = []
    for each in adjustments:
        became = f"{phrases.value(each['given'])} becomes {phrases.value(each['kept'])}"
        lines += text.wrap(f"{domain}.{each['key']}: {became}, because it {each['why']}.", indent="  ")
    return lines


def changes(before: Mapping[str, Any], after: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[object, object]]:
    """Return `domain.key` -> (what it was, what it is) of all that changed: from the policies before, and the policies of domains after."""
    return {
        f"{domain}.{key}": (before[domain][key], policy[key])
        for domain, policy in after.items()
        for key in KEYS
        if before[domain][key] != policy[key]
    }


def configured(before: Mapping[str, Any], results: Sequence[Mapping[str, Any]], command: str) -> list[text.Line]:
    """Return what `set` has done. `before`: the policies before it; `command`: how the reader calls us."""
    lines = [line for each in results for line in adjusted(each["adjusted"], each["domain"])]
    changed = changes(before, {each["domain"]: each["policy"] for each in results})
    if not changed:
        return [*lines, *text.wrap("Nothing changed: the policies are as they were.")]
    head = f"The policies changed, and have revision {max(each['revision'] for each in results):,} now:"
    own = sorted({key for each in results for key in before.get("projects", {}).get(each["domain"], ())})
    theirs = text.wrap(f"Not in {text.listed(list(map(text.clean, own)), 3)}: {command} show says what holds there.") if own else []
    return [*lines, head, *_changed(changed), *theirs, "To undo this:", f"  {command} rollback {before['revision']}"]


def rolled_back(revision: int, before: Mapping[str, Any] | None, answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what `rollback` has done. `before`: None where nobody could read what the policies were."""
    if not answer["domains"]:
        return text.wrap(f"Nothing changed: the policies are those of revision {revision:,} already.")
    lines = text.wrap(f"The policies of revision {revision:,} are back, as revision {answer['revision']:,}.")
    if before is None:
        return [*lines, *text.wrap("The file of policies was damaged, and has been written again.")]
    changed = changes(before, {domain: answer[domain] for domain in answer["domains"]})
    return [*lines, *_changed(changed), "To undo this:", f"  {command} rollback {before['revision']}"]


def _changed(differences: Mapping[str, tuple[object, ...]], was_word: str = "was") -> list[text.Line]:
    lines = []
    for name, (was, now) in differences.items():
        lines += text.wrap(f"  {name} = {phrases.value(now)} ({was_word} {phrases.value(was)})", indent="    ")
    return lines


def history(versions: Sequence[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """Return how the policies came to be what they are."""
    if not versions:
        return text.wrap(f"The policies are the defaults and were never changed. {command} set KEY=VALUE changes one.")
    lines: list[text.Line] = []
    for each in versions:
        back = f", back to revision {each['rolled_back_to']:,}" if "rolled_back_to" in each else ""
        of = f" of {text.clean(each['project'])}" if "project" in each else ""
        head = f"Revision {each['revision']:,}: {each['domain']}{of}, {ago(phrases.at(each['at']), now)}, by {phrases.by(each['by'])}{back}"
        lines += text.wrap(head)
        lines += _changed({f"{each['domain']}.{key}": (was, became) for key, (was, became) in each["changed"].items()})
        lines += [] if each["changed"] else ["  the same as before"]
    return [*lines, "", "To go back to one (0: the defaults):", f"  {command} rollback REVISION"]


# --- all of a domain -------------------------------------------------------------------------------------------------------------------


def applied(answer: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]], now: float, most: int | None) -> list[text.Line]:
    """Return what a policy releases and what it protects, by reason. `described`: what is known of the things that are shown, by id."""
    domain, counts = answer["domain"], answer["counts"]
    days = answer["policy_applied"]["older_than_days"]
    of = f" of {text.clean(answer['project'])}" if "project" in answer else ""
    lines = text.title(f"{domain}{of}: {phrases.counted(counts['total'], domain)}")
    if not counts["total"]:
        return [*lines, "Nothing is stored."]
    why = f": {phrases.reason(ELIGIBLE, days)}" if counts["eligible"] else ""
    lines += pair("Eligible", phrases.eligible(counts["eligible"], answer["left_out"]) + why)
    lines += phrases.listed(_labelled(answer["eligible"], described), most, now)
    lines += pair("Protected", f"{counts['protected']:,}" if counts["protected"] else "none")
    for codes, rows in phrases.by_reasons(answer["protected"]).items():
        lines += text.wrap(f"  {len(rows):,}: {phrases.reasons(codes, days)}", indent="    ")
        lines += text.indented(phrases.listed(_labelled(rows, described), _of_reason(most), now), "  ")
    return lines


def shown_ids(answer: Mapping[str, Any], most: int | None) -> list[str]:
    """Return the ids of what `applied` shows."""
    rows = [*answer["eligible"][:most]]
    for of_reason in phrases.by_reasons(answer["protected"]).values():
        rows += of_reason[: _of_reason(most)]
    return [row["id"] for row in rows]


def _of_reason(most: int | None) -> int | None:
    return None if most is None else min(most, _OF_A_REASON)


def _labelled(rows: Sequence[Mapping[str, Any]], described: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{**row, "label": described.get(row["id"], {}).get("label", "")} for row in rows]


_OF_A_REASON = 3  # protected things shown of each reason


# --- one thing -------------------------------------------------------------------------------------------------------------------------


def explained(answer: Mapping[str, Any], policy: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the explanation of one thing: which rules hold for it, since when, and what comes next."""
    lines = text.title(f"{text.clean(answer['id'])}  {text.clean(answer['label'])}".rstrip())
    lines += pair("Domain", f"{answer['domain']}, {phrases.NAMED[answer['domain']]}")
    lines += pair("Project", answer["project"]) if answer["project"] else []
    lines += pair("Session", answer["session"]) if answer["session"] else []
    lines += pair("Size", size(answer["bytes"]))
    lines += pair("Age", phrases.age(answer["created_at"], now))
    lines += pair("Stored", answer["stands"]) if answer["stands"] else []
    lines += pair("State", _state(answer, now))
    lines += pairs("Because", [phrases.reason(code, policy["older_than_days"]) for code in answer["reasons"]])
    for hold in answer["holds"]:
        lines += pair("Hold", f"{hold['id']}, {hold_words(hold, now)}")
    for path in answer["placeholders"]:
        lines += pair("Transcript", path)
    lines += _next(answer, now, command)
    return lines


def _state(answer: Mapping[str, Any], now: float) -> str:
    since = f" since {phrases.day(answer['since'])}" if answer["since"] is not None else ""
    mark = answer["marked"]
    marked = f" {ago(phrases.at(mark['at']), now)}, by {phrases.by(mark['by'])}" if mark else ""
    return _STATES[answer["state"]].format(since=since, ago=marked)


def hold_words(hold: Mapping[str, Any], now: float) -> str:
    """Return who wanted a hold, why, and until when, unless it was released before."""
    words = f"{text.clean(hold['who'])}: {text.clean(hold['why'])}"
    if hold["until"] is None or hold.get("released_at") is not None:
        return words
    until = phrases.at(hold["until"])
    return f"{words}, until {phrases.day(hold['until'])}" + (f" ({ahead(until, now)})" if until > now else "")


def _next(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    coming = answer["next"]
    if coming is None:
        return pair("Next", _nothing(answer, command))
    at = now if coming["at"] is None else phrases.at(coming["at"])
    timed, by_collection = _COMING[coming["what"]]
    lines = pair("Next", timed.format(when=ahead(at, now)) if at > now else by_collection)
    return lines + (pair("", f"To take the mark back: {command} undo {text.clean(answer['id'])}") if answer["marked"] else [])


def _nothing(answer: Mapping[str, Any], command: str) -> str:
    """Return what would have to happen before anything else does."""
    if answer["holds"]:
        return f"nothing, until the hold is released: {command} hold release {text.clean(answer['holds'][0]['id'])}"
    if PINNED in answer["reasons"]:
        return "nothing, while it is pinned"
    if PLACEHOLDER in answer["reasons"]:
        return f"nothing, while the transcript has the placeholder, unless somebody runs {command} gc --placeholders"
    return "nothing, unless you change the policy"
