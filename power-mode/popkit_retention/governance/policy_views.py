"""The texts of retention policies: what they are, what changed, their history, and what they mean for all items of a domain; with the
wording of reasons, values and times. Plain values in, lines out. Pure.

Ids, labels, notes and names are hostile text: each goes through `text.clean`, which `text.wrap` and `pair` call, before it is shown.
"""

from __future__ import annotations

from hooks.utils import text, units
from hooks.utils.units import size

from ..views import ago, ahead, pair, pairs
from . import collection
from .domains import JOB, TOOL, USER
from .domains.rules import (
    ELIGIBLE,
    EXCLUDED_SOURCE_TYPE,
    INVALID_RESOURCE,
    INVALID_SOURCE_TYPE,
    INVALID_TIMESTAMP,
    ON_HOLD,
    PINNED,
    PLACEHOLDER,
    PROTECTED_CONTEXT,
    PROTECTED_SESSION,
    WITHIN_PERIOD,
    created_at_of,
)
from .policies import KEYS, MEMORY, RAG, SOURCE_TYPES
from .status import SOON_DAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .policies import Adjusted

_KEY_COLUMNS = 18


def shown(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return both policies, and how much is stored, may be deleted, is marked and is held. `command`: how the reader calls us."""
    lines = text.title("Retention: what stored data may be deleted")
    for each in answer.get("requests", ()):
        lines += [*_request(each, now, command), ""]
    changed = f"revision {answer['revision']:,}, set {ago(seconds_of(answer['updated_at']), now)}" if answer["revision"] else "the defaults"
    lines += pair("Policies", changed)
    for each in answer["domains"]:
        others = any(own["domain"] == each["domain"] for own in answer.get("own", ()))
        lines += ["", *_domain(each, now, command, ", except for the projects below" if others else "")]
    for each in answer.get("own", ()):
        lines += ["", *_own(each, command)]
    lines.append("")
    lines += pair(
        "Archives", f"{answer['archives']['count']:,}, {size(answer['archives']['bytes'])}" if answer["archives"]["count"] else "none"
    )
    if any(each["counts"]["eligible"] for each in (*answer["domains"], *answer.get("own", ())) if not each["unavailable"]):
        lines += ["", *what_goes(command)]
    return lines


def _domain(part: Mapping[str, Any], now: float, command: str, but: str) -> list[text.Line]:
    domain, policy = part["domain"], part["policy"]
    lines: list[text.Line] = [f"{domain}: {NAMED[domain]}{but}"]
    for key in KEYS:
        lines += _setting(key, policy[key])
    if part["unavailable"]:
        return lines + pair("Stored", part["unavailable"])
    counts = part["counts"]
    lines += pair("Stored", counted(counts["total"], domain) if counts["total"] else "nothing")
    if counts["total"]:
        lines += pair("Eligible", eligible(counts["eligible"], part["left_out"]))
        lines += pairs("Protected", counts_by_reason(part["reasons"], policy["older_than_days"]) or ["none"])
    if part["soon"]["count"]:
        lines += pair("Soon", _soon(part["soon"], now))
    if part["marked"]:
        lines += pair("Marked", _marked(part, now, command))
    lines += pair("Holds", f"{part['holds']:,} in force" if part["holds"] else "none")
    return lines


def _request(request: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return an agent's request."""
    project, id = text.clean(request["project"]), text.clean(request["request"])
    head = f"An agent in {project} asked for this {request['domain']} policy {ago(seconds_of(request['at']), now)}. It would keep"
    lines = text.wrap(f"{head} less, so it waits for your approval, and would apply to that project only:")
    lines += _changed({f"{request['domain']}.{key}": (request["now"][key], value) for key, value in request["asked"].items()}, "now")
    return [*lines, "To decide:", f"  {command} admin accept {id}", f"  {command} admin decline {id}"]


def accepted(answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what an agent's request has changed, once the user has accepted it."""
    project = text.clean(answer["project"])
    lines = text.wrap(f"Accepted {answer['request']}. This now applies to {project} only, as revision {answer['revision']:,}:")
    lines += _changed({f"{answer['domain']}.{key}": tuple(both) for key, both in answer["changed"].items()}) or ["  the same as before"]
    return [*lines, "To let your own policy apply there again:", f"  {command} admin unset {project}"]


def _own(part: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return a project's own policy."""
    project, counts = text.clean(part["project"]), part["counts"]
    lines = text.wrap(f"{part['domain']} of {project}, by a policy of its own:")
    for key in KEYS:
        lines += _setting(key, part["policy"][key])
    if part["unavailable"]:
        return lines
    lines += pair("Stored", counted(counts["total"], part["domain"]) if counts["total"] else "nothing")
    lines += pair("Eligible", eligible(counts["eligible"], part["left_out"])) if counts["total"] else []
    return [*lines, f"  {command} admin unset {project}"]


def _setting(key: str, setting: object) -> list[text.Line]:
    return text.pair("  " + key, value(setting), _KEY_COLUMNS + 2)


def _soon(soon: Mapping[str, Any], now: float) -> str:
    return f"{soon['count']:,} of those may be deleted within {SOON_DAYS} days, the first {ahead(seconds_of(soon['first_at']), now)}"


def _marked(part: Mapping[str, Any], now: float, command: str) -> str:
    due = seconds_of(part["due_at"])
    when = "some can be deleted now" if due <= now else f"the first can be deleted {ahead(due, now)}"
    return f"{part['marked']:,}, {when}. {command} undo removes marks"


def out_of_bounds(adjusted: Mapping[str, Sequence[Adjusted]]) -> str:
    """Return what is wrong with values that no policy keeps as they were given, by domain."""
    return ", ".join(f"{domain}.{each.key} {each.why}, not {value(each.given)}" for domain, found in adjusted.items() for each in found)


def changes(before: Mapping[str, Any], after: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[object, object]]:
    """Return `domain.key` -> (old value, new value) of all changed values. The policies before come first, then those of the changed
    domains."""
    return {
        f"{domain}.{key}": (before[domain][key], policy[key])
        for domain, policy in after.items()
        for key in KEYS
        if before[domain][key] != policy[key]
    }


def configured(before: Mapping[str, Any], results: Sequence[Mapping[str, Any]], command: str) -> list[text.Line]:
    """Return what `set` has done. `before`: the policies before it; `command`: how the reader calls us."""
    changed = changes(before, {each["domain"]: each["policy"] for each in results})
    if not changed:
        return text.wrap("Nothing changed: the policies are as they were.")
    head = f"The policies changed. They are now revision {max(each['revision'] for each in results):,}:"
    own = sorted({key for each in results for key in before.get("projects", {}).get(each["domain"], ())})
    theirs = text.wrap(f"Not in {text.listed(list(map(text.clean, own)), 3)}: {command} show says what applies there.") if own else []
    return [head, *_changed(changed), *theirs, "To undo this:", f"  {command} admin rollback {before['revision']}"]


def rolled_back(revision: int, before: Mapping[str, Any] | None, answer: Mapping[str, Any], command: str) -> list[text.Line]:
    """Return what `rollback` has done. `before`: None where the old policies could not be read."""
    if not answer["domains"]:
        return text.wrap(f"Nothing changed: the policies are already those of revision {revision:,}.")
    lines = text.wrap(f"The policies of revision {revision:,} are back, as revision {answer['revision']:,}.")
    if before is None:
        return [*lines, *text.wrap("The file of policies was damaged, and has been written again.")]
    changed = changes(before, {domain: answer[domain] for domain in answer["domains"]})
    return [*lines, *_changed(changed), "To undo this:", f"  {command} admin rollback {before['revision']}"]


def _changed(differences: Mapping[str, tuple[object, ...]], was_word: str = "was") -> list[text.Line]:
    lines = []
    for name, (was, now) in differences.items():
        lines += text.wrap(f"  {name} = {value(now)} ({was_word} {value(was)})", indent="    ")
    return lines


def history(versions: Sequence[Mapping[str, Any]], now: float, command: str) -> list[text.Line]:
    """Return the history of the policies."""
    if not versions:
        return text.wrap(f"The policies are the defaults and were never changed. {command} set KEY=VALUE changes one.")
    lines: list[text.Line] = []
    for each in versions:
        back = f", back to revision {each['rolled_back_to']:,}" if "rolled_back_to" in each else ""
        of = f" of {text.clean(each['project'])}" if "project" in each else ""
        head = (
            f"Revision {each['revision']:,}: {each['domain']}{of}, {ago(seconds_of(each['at']), now)}, by {named_actor(each['by'])}{back}"
        )
        lines += text.wrap(head)
        lines += _changed({f"{each['domain']}.{key}": (was, became) for key, (was, became) in each["changed"].items()})
        lines += [] if each["changed"] else ["  the same as before"]
    return [*lines, "", "To go back to one (0: the defaults):", f"  {command} admin rollback REVISION"]


# --- all of a domain ---


def applied(answer: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]], now: float, most: int | None) -> list[text.Line]:
    """Return what may be deleted under a policy and what it protects, by reason. `described`: the descriptions of the things that are
    shown, by id."""
    domain, counts = answer["domain"], answer["counts"]
    days = answer["policy_applied"]["older_than_days"]
    of = f" of {text.clean(answer['project'])}" if "project" in answer else ""
    lines = text.title(f"{domain}{of}: {counted(counts['total'], domain)}")
    if not counts["total"]:
        return [*lines, "Nothing is stored."]
    why = f": {reason(ELIGIBLE, days)}" if counts["eligible"] else ""
    lines += pair("Eligible", eligible(counts["eligible"], answer["left_out"]) + why)
    lines += listed(_labelled(answer["eligible"], described), most, now)
    lines += pair("Protected", f"{counts['protected']:,}" if counts["protected"] else "none")
    for codes, rows in by_reasons(answer["protected"]).items():
        lines += text.wrap(f"  {len(rows):,}: {reasons(codes, days)}", indent="    ")
        lines += text.indented(listed(_labelled(rows, described), _of_reason(most), now), "  ")
    return lines


def shown_ids(answer: Mapping[str, Any], most: int | None) -> list[str]:
    """Return the ids of what `applied` shows."""
    rows = [*_beginning(answer["eligible"], most)[0]]
    for of_reason in by_reasons(answer["protected"]).values():
        rows += _beginning(of_reason, _of_reason(most))[0]
    return [row["id"] for row in rows]


def _of_reason(most: int | None) -> int | None:
    return None if most is None else min(most, _OF_A_REASON)


def _labelled(rows: Sequence[Mapping[str, Any]], described: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{**row, "label": described.get(row["id"], {}).get("label", "")} for row in rows]


_OF_A_REASON = 3  # protected things shown of each reason


# --- in words ---


NAMED = {MEMORY: "what past sessions have taught", RAG: "results that left contexts"}
THINGS = {MEMORY: "memory", RAG: "result"}
# For one thing and for many: "younger than 30 days", "3 on hold".
_REASONS = {
    PROTECTED_SESSION: "of a session in keep_session_ids",
    PROTECTED_CONTEXT: "of a context in keep_context_ids",
    INVALID_SOURCE_TYPE: "of no known source type",
    EXCLUDED_SOURCE_TYPE: "of a source type that source_types leaves out",
    INVALID_TIMESTAMP: "of unknown age",
    INVALID_RESOURCE: "unreadable",
    ON_HOLD: "on hold",
    PINNED: "pinned, or in the tier ARCHIVE",
    PLACEHOLDER: "needed by a placeholder in a transcript",
    collection.USED_SINCE: "used since it was marked",
    collection.GONE: "no longer stored",
    collection.UNDONE: "undone",
}
_WHO = {USER: "you", TOOL: "an agent", JOB: "the hourly job"}
_AGES = {ELIGIBLE: "older than", WITHIN_PERIOD: "younger than"}
_ID_COLUMNS = 24
_AGE_COLUMNS = 9


def counted(number: int, domain: str) -> str:
    """Return a number of things of a domain, in words."""
    return f"{number:,} memories" if domain == MEMORY and number != 1 else units.counted(number, THINGS[domain])


def days(number: float) -> str:
    """Return a policy's number of days, in words."""
    return "1 day" if number == 1 else f"{number:,.6g} days" if number != int(number) else f"{number:,} days"


def reason(code: str, older_than_days: float) -> str:
    """Return a reason code in words."""
    if code in _AGES:
        return f"{_AGES[code]} {days(older_than_days)}"
    return _REASONS.get(code) or text.clean(code.replace("_", " "))


def reasons(codes: Sequence[str], older_than_days: float) -> str:
    """Return reason codes in words, the one that decides first."""
    return ", ".join(reason(code, older_than_days) for code in codes)


def counts_by_reason(answer: Mapping[str, int], older_than_days: float) -> list[str]:
    """Return the number of things for each reason, the largest first, each in a line."""
    ordered = sorted(answer.items(), key=lambda each: (-each[1], each[0]))
    columns = max((len(f"{count:,}") for count in answer.values()), default=0)
    return [f"{count:>{columns},} {reason(code, older_than_days)}" for code, count in ordered]


def eligible(count: int, left_out: int) -> str:
    """Return how many things may be deleted, and how many of them one collection deletes."""
    words = f"{count + left_out:,}" if count else "none"
    return f"{words}, of which one collection deletes {count:,} (limit)" if left_out else words


def sentences(policy: Mapping[str, Any], domain: str) -> list[str]:
    """Return the meaning of a policy, in sentences."""
    what, sources = NAMED[domain], list(policy["source_types"])
    words = [
        "Once an hour, PopKit deletes what this policy allows."
        if policy["auto_gc"]
        else "Nothing is deleted until you run popkit retention gc.",
        f"Of {what}, everything older than {days(policy['older_than_days'])} may be deleted.",
    ]
    if set(sources) != set(SOURCE_TYPES):
        only = " and ".join([", ".join(sources[:-1]), sources[-1]] if len(sources) > 1 else sources)
        words.append(f"Only {only} records may be deleted." if sources else "No kind of record may be deleted, so nothing is.")
    for key, noun in (("keep_session_ids", "session"), ("keep_context_ids", "context")):
        if policy[key]:
            words.append(f"Everything of {units.counted(len(policy[key]), noun)} named in the policy stays.")
    words.append(f"One run deletes at most {counted(policy['limit'], domain)}.")
    if policy["vacuum"]:
        words.append("Afterwards the database shrinks on disk.")
    return words


def value(setting: object) -> str:
    """Return a policy's value as `set` takes it."""
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, (list, tuple)):
        return text.listed([text.clean(each) for each in setting]) or "none"
    return f"{setting:,}" if isinstance(setting, (int, float)) else text.clean(setting)


def named_actor(who: str) -> str:
    """Return the name of an actor."""
    return _WHO.get(who) or text.clean(who)


def seconds_of(moment: object) -> float:
    """Return the seconds of a time as answers have it; 0 where there is none."""
    return created_at_of({"created_at": moment}) or 0.0


def age_of(moment: object, now: float) -> str:
    """Return how old something is; a dash where that is unknown."""
    return units.span(now - seconds_of(moment)) if moment is not None else "–"


def listed(rows: Sequence[Mapping[str, Any]], most: int | None, now: float) -> list[text.Line]:
    """Return things in lines: id, age, description; those beyond `most` are only counted."""
    shown, others = _beginning(rows, most)
    ids = min(_ID_COLUMNS, max((text.width(text.clean(row["id"])) for row in shown), default=0))
    lines: list[text.Line] = []
    for row in shown:
        head = f"  {text.pad(text.clean(row['id']), ids)}  {age_of(row.get('created_at'), now):<{_AGE_COLUMNS}}"
        lines.append(text.fitted(head + text.clean(row.get("label") or "")))
    return lines + more(others)


def _beginning(rows: Sequence[Mapping[str, Any]], most: int | None) -> tuple[Sequence[Mapping[str, Any]], int]:
    """Return what a list shows, and how many things it leaves out."""
    return (rows, 0) if most is None else text.beginning(rows, most)


def what_goes(command: str) -> list[text.Line]:
    """Return how to see which eligible things a collection would delete: policies do not know of placeholders."""
    words = "To see how much of it a collection would delete (it keeps what placeholders in transcripts refer to):"
    return [*text.wrap(words), f"  {command} gc --dry-run"]


def more(left: int) -> list[text.Line]:
    """Return a line that says that a list is longer; none where it is not."""
    return [f"  … {left:,} more; --all lists them"] if left > 0 else []


def by_reasons(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], list[Mapping[str, Any]]]:
    """Return reason -> its things, in their order."""
    answer: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        answer.setdefault(tuple(row["reasons"]), []).append(row)
    return answer
