"""The wording of governance: its reasons, amounts, values, actors, ages."""

from __future__ import annotations

import time

from popkit_retention.core import text, units

from .. import collection
from ..domains import JOB, TOOL, USER
from ..domains.rules import (
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
from ..policies import MEMORY, RAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

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
    shown, others = beginning(rows, most)
    ids = min(_ID_COLUMNS, max((text.width(text.clean(row["id"])) for row in shown), default=0))
    lines: list[text.Line] = []
    for row in shown:
        head = f"  {text.pad(text.clean(row['id']), ids)}  {age_of(row.get('created_at'), now):<{_AGE_COLUMNS}}"
        lines.append(text.fitted(head + text.clean(row.get("label") or "")))
    return lines + more(others)


def beginning(rows: Sequence[Mapping[str, Any]], most: int | None) -> tuple[Sequence[Mapping[str, Any]], int]:
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


def day(moment: object) -> str:
    """Return the day of a time, in UTC, as days in arguments are."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds_of(moment)))
