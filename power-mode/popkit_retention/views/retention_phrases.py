"""Reason codes, values, times and things of governance in words. Plain values in, words out. Pure.

Ids, labels, notes and names are hostile text: each goes through `text.clean`, which `text.wrap` and `pair` call, before it is shown.
"""

from __future__ import annotations

import time

from hooks.utils import text

from ..governance import collection, rules
from ..governance.domains import JOB, TOOL, USER
from ..governance.policies import MEMORY, RAG, SOURCE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

NAMED = {MEMORY: "what past sessions have taught", RAG: "results that left contexts"}
THINGS = {MEMORY: "memory", RAG: "result"}
# For one thing and for many: "younger than 30 days", "3 on hold".
_REASONS = {
    rules.PROTECTED_SESSION: "of a session in keep_session_ids",
    rules.PROTECTED_CONTEXT: "of a context in keep_context_ids",
    rules.INVALID_SOURCE_TYPE: "of no known source type",
    rules.EXCLUDED_SOURCE_TYPE: "of a source type that source_types leaves out",
    rules.INVALID_TIMESTAMP: "of unknown age",
    rules.INVALID_RESOURCE: "unreadable",
    rules.ON_HOLD: "on hold",
    rules.PINNED: "pinned, or in the tier ARCHIVE",
    rules.PLACEHOLDER: "needed by a placeholder in a transcript",
    collection.USED_SINCE: "used since it was marked",
    collection.GONE: "no longer stored",
    collection.UNDONE: "undone",
}
_WHO = {USER: "you", TOOL: "an agent", JOB: "the hourly job"}
_AGES = {rules.ELIGIBLE: "older than", rules.WITHIN_PERIOD: "younger than"}
_ID_COLUMNS = 24
_AGE_COLUMNS = 9


def counted(number: int, domain: str) -> str:
    """Return a number of things of a domain, in words."""
    return f"{number:,} memories" if domain == MEMORY and number != 1 else text.counted(number, THINGS[domain])


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


def counts(answer: Mapping[str, int], older_than_days: float) -> list[str]:
    """Return how many things for which reason, most of them first, each in a line."""
    ordered = sorted(answer.items(), key=lambda each: (-each[1], each[0]))
    columns = max((len(f"{count:,}") for count in answer.values()), default=0)
    return [f"{count:>{columns},} {reason(code, older_than_days)}" for code, count in ordered]


def eligible(taken: int, left_out: int) -> str:
    """Return how many things may be deleted, and how many of them one collection takes."""
    words = f"{taken + left_out:,}" if taken else "none"
    return f"{words}, of which one collection takes {taken:,} (limit)" if left_out else words


def sentences(policy: Mapping[str, Any], domain: str) -> list[str]:
    """Return what a policy means, as a person would say it."""
    what, sources = NAMED[domain], list(policy["source_types"])
    words = [
        "Once an hour, PopKit deletes what this policy lets go."
        if policy["auto_gc"]
        else "Nothing is deleted until you run popkit retention gc.",
        f"Of {what}, everything older than {days(policy['older_than_days'])} may be deleted.",
    ]
    if set(sources) != set(SOURCE_TYPES):
        only = " and ".join([", ".join(sources[:-1]), sources[-1]] if len(sources) > 1 else sources)
        words.append(f"Only {only} records may go." if sources else "No kind of record may go, so nothing is deleted.")
    for key, noun in (("keep_session_ids", "session"), ("keep_context_ids", "context")):
        if policy[key]:
            words.append(f"Everything of {text.counted(len(policy[key]), noun)} named in the policy stays.")
    words.append(f"One run deletes at most {counted(policy['limit'], domain)}.")
    if policy["vacuum"]:
        words.append("Afterwards the database shrinks on disk.")
    return words


def value(given: object) -> str:
    """Return a policy's value as `set` takes it."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, (list, tuple)):
        return text.listed([text.clean(each) for each in given]) or "none"
    return f"{given:,}" if isinstance(given, (int, float)) else text.clean(given)


def by(who: str) -> str:
    """Return who did something."""
    return _WHO.get(who) or text.clean(who)


def at(given: object) -> float:
    """Return the seconds of a time as answers have it; 0 where there is none."""
    return rules.created_at_of({"created_at": given}) or 0.0


def day(given: object) -> str:
    """Return the day of a time, in UTC, in which days are understood too."""
    return time.strftime("%Y-%m-%d", time.gmtime(at(given)))


def age(given: object, now: float) -> str:
    """Return how old something is; a dash where nobody can tell."""
    return text.span(now - at(given)) if given is not None else "–"


def listed(rows: Sequence[Mapping[str, Any]], most: int | None, now: float) -> list[text.Line]:
    """Return things in lines: id, age, what it is; what is beyond `most` counted."""
    shown = rows if most is None else rows[:most]
    ids = min(_ID_COLUMNS, max((text.width(text.clean(row["id"])) for row in shown), default=0))
    lines: list[text.Line] = []
    for row in shown:
        head = f"  {text.pad(text.clean(row['id']), ids)}  {age(row.get('created_at'), now):<{_AGE_COLUMNS}}"
        lines.append(text.fitted(head + text.clean(row.get("label") or "")))
    return lines + more(len(rows) - len(shown))


def what_goes(command: str) -> list[text.Line]:
    """Return how to see what a collection would take of what is eligible: no policy knows of placeholders."""
    words = "To see what of it a collection would take (it keeps what placeholders in transcripts stand for):"
    return [*text.wrap(words), f"  {command} gc --dry-run"]


def more(left: int) -> list[text.Line]:
    """Return a line that says that a list is longer; none where it is not."""
    return [f"  … {left:,} more; --all lists them"] if left > 0 else []


def by_reasons(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], list[Mapping[str, Any]]]:
    """Return things by their reasons, as they come."""
    answer: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        answer.setdefault(tuple(row["reasons"]), []).append(row)
    return answer
