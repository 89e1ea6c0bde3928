"""The texts of retention policies: their values, their changes, their history, the requests of agents."""

from __future__ import annotations

from popkit_retention.core import text, units
from popkit_retention.core.units import size

from ...views import ago, ahead, pair, pairs
from ..policies import KEYS, SOURCE_TYPES
from ..status import SOON_DAYS
from . import wording
from .wording import counted, named_actor, seconds_of, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..policies import Adjustment
    from ..shapes import DueResources, PartStatus, PendingRequest

_KEY_COLUMNS = 18


def shown(answer: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return both policies, and how much is stored, may be deleted, is marked and is held. `command`: how the reader calls us."""
    lines = text.title("Retention: what stored data may be deleted")
    for request in answer.get("requests", ()):
        lines += [*_request(request, now, command), ""]
    changed = f"revision {answer['revision']:,}, set {ago(seconds_of(answer['updated_at']), now)}" if answer["revision"] else "the defaults"
    lines += pair("Policies", changed)
    for part in answer["domains"]:
        others = any(own["domain"] == part["domain"] for own in answer.get("own", ()))
        lines += ["", *_domain(part, now, command, ", except for the projects below" if others else "")]
    for part in answer.get("own", ()):
        lines += ["", *_own(part, command)]
    lines.append("")
    lines += pair(
        "Archives", f"{answer['archives']['count']:,}, {size(answer['archives']['bytes'])}" if answer["archives"]["count"] else "none"
    )
    if any(part["counts"]["eligible"] for part in (*answer["domains"], *answer.get("own", ())) if not part["unavailable"]):
        lines += ["", *wording.what_goes(command)]
    return lines


def _domain(part: PartStatus, now: float, command: str, but: str) -> list[text.Line]:
    domain, policy = part["domain"], part["policy"]
    lines: list[text.Line] = [f"{domain}: {wording.NAMED[domain]}{but}"]
    for key in KEYS:
        lines += _setting(key, policy[key])
    if part["unavailable"]:
        return lines + pair("Stored", part["unavailable"])
    counts = part["counts"]
    lines += pair("Stored", counted(counts["total"], domain) if counts["total"] else "nothing")
    if counts["total"]:
        lines += pair("Eligible", wording.eligible(counts["eligible"], part["left_out"]))
        lines += pairs("Protected", wording.counts_by_reason(part["reasons"], policy["older_than_days"]) or ["none"])
    if part["soon"]["count"]:
        lines += pair("Soon", _soon(part["soon"], now))
    if part["marked"]:
        lines += pair("Marked", _marked(part, now, command))
    lines += pair("Holds", f"{part['holds']:,} in force" if part["holds"] else "none")
    return lines


def _request(request: PendingRequest, now: float, command: str) -> list[text.Line]:
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


def _own(part: PartStatus, command: str) -> list[text.Line]:
    """Return a project's own policy."""
    project, counts = text.clean(part["project"]), part["counts"]
    lines = text.wrap(f"{part['domain']} of {project}, by a policy of its own:")
    for key in KEYS:
        lines += _setting(key, part["policy"][key])
    if part["unavailable"]:
        return lines
    lines += pair("Stored", counted(counts["total"], part["domain"]) if counts["total"] else "nothing")
    lines += pair("Eligible", wording.eligible(counts["eligible"], part["left_out"])) if counts["total"] else []
    return [*lines, f"  {command} admin unset {project}"]


def _setting(key: str, setting: object) -> list[text.Line]:
    return text.pair("  " + key, value(setting), _KEY_COLUMNS + 2)


def _soon(soon: DueResources, now: float) -> str:
    return f"{soon['count']:,} of those may be deleted within {SOON_DAYS} days, the first {ahead(seconds_of(soon['first_at']), now)}"


def _marked(part: PartStatus, now: float, command: str) -> str:
    due = seconds_of(part["due_at"])
    when = "some can be deleted now" if due <= now else f"the first can be deleted {ahead(due, now)}"
    return f"{part['marked']:,}, {when}. {command} undo removes marks"


def out_of_bounds(adjusted: Mapping[str, Sequence[Adjustment]]) -> str:
    """Return what is wrong with values that no policy keeps as they were given, by domain."""
    return ", ".join(
        f"{domain}.{change.key} {change.why}, not {value(change.given)}" for domain, found in adjusted.items() for change in found
    )


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
    changed = changes(before, {result["domain"]: result["policy"] for result in results})
    if not changed:
        return text.wrap("Nothing changed: the policies are as they were.")
    head = f"The policies changed. They are now revision {max(result['revision'] for result in results):,}:"
    own = sorted({key for result in results for key in before.get("projects", {}).get(result["domain"], ())})
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
    for version in versions:
        back = f", back to revision {version['rolled_back_to']:,}" if "rolled_back_to" in version else ""
        of = f" of {text.clean(version['project'])}" if "project" in version else ""
        when, actor = ago(seconds_of(version["at"]), now), named_actor(version["by"])
        lines += text.wrap(f"Revision {version['revision']:,}: {version['domain']}{of}, {when}, by {actor}{back}")
        lines += _changed({f"{version['domain']}.{key}": (was, became) for key, (was, became) in version["changed"].items()})
        lines += [] if version["changed"] else ["  the same as before"]
    return [*lines, "", "To go back to one (0: the defaults):", f"  {command} admin rollback REVISION"]


def sentences(policy: Mapping[str, Any], domain: str) -> list[str]:
    """Return the meaning of a policy, in sentences."""
    what, sources = wording.NAMED[domain], list(policy["source_types"])
    words = [
        "Once an hour, PopKit deletes what this policy allows."
        if policy["auto_gc"]
        else "Nothing is deleted until you run popkit retention gc.",
        f"Of {what}, everything older than {wording.days(policy['older_than_days'])} may be deleted.",
    ]
    if set(sources) != set(SOURCE_TYPES):
        words.append(
            f"Only {text.enumerated(sources)} records may be deleted." if sources else "No kind of record may be deleted, so nothing is."
        )
    for key, noun in (("keep_session_ids", "session"), ("keep_context_ids", "context")):
        if policy[key]:
            words.append(f"Everything of {units.counted(len(policy[key]), noun)} named in the policy stays.")
    words.append(f"One run deletes at most {counted(policy['limit'], domain)}.")
    if policy["vacuum"]:
        words.append("Afterwards the database shrinks on disk.")
    return words
