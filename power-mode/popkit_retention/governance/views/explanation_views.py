"""The text that explains one resource."""

from __future__ import annotations

from popkit_retention.core import text
from popkit_retention.core.units import size

from ...views import ago, ahead, pair, pairs
from .. import answers
from ..domains.rules import PINNED, PLACEHOLDER
from . import hold_views, wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..shapes import ExplanationAnswer

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


def explained(answer: ExplanationAnswer, policy: Mapping[str, Any], now: float, command: str) -> list[text.Line]:
    """Return the explanation of one thing: which rules apply to it, since when, and what happens next."""
    lines = text.title(f"{text.clean(answer['id'])}  {text.clean(answer['label'])}".rstrip())
    lines += pair("Domain", f"{answer['domain']}, {wording.NAMED[answer['domain']]}")
    lines += pair("Project", answer["project"]) if answer["project"] else []
    lines += pair("Session", answer["session"]) if answer["session"] else []
    lines += pair("Size", size(answer["bytes"]))
    lines += pair("Age", wording.age_of(answer["created_at"], now))
    lines += pair("Stored", answer["stands"]) if answer["stands"] else []
    lines += pair("State", _state(answer, now))
    lines += pairs("Because", [wording.reason(code, policy["older_than_days"]) for code in answer["reasons"]])
    for hold in answer["holds"]:
        lines += pair("Hold", f"{hold['id']}, {hold_views.reason_of(hold, now)}")
    for path in answer["placeholders"]:
        lines += pair("Transcript", path)
    lines += _next(answer, now, command)
    return lines


def _state(answer: ExplanationAnswer, now: float) -> str:
    since = f" since {wording.day(answer['since'])}" if answer["since"] is not None else ""
    mark = answer["marked"]
    marked = f" {ago(wording.seconds_of(mark['at']), now)}, by {wording.named_actor(mark['by'])}" if mark else ""
    return _STATES[answer["state"]].format(since=since, ago=marked)


def _next(answer: ExplanationAnswer, now: float, command: str) -> list[text.Line]:
    coming = answer["next"]
    if coming is None:
        return pair("Next", _nothing(answer, command))
    at = now if coming["at"] is None else wording.seconds_of(coming["at"])
    timed, by_collection = _COMING[coming["what"]]
    lines = pair("Next", timed.format(when=ahead(at, now)) if at > now else by_collection)
    return lines + (pair("", f"To remove the mark: {command} undo {text.clean(answer['id'])}") if answer["marked"] else [])


def _nothing(answer: ExplanationAnswer, command: str) -> str:
    """Return what has to happen before anything else can."""
    if answer["holds"]:
        return f"nothing, until the hold is released: {command} hold release {text.clean(answer['holds'][0]['id'])}"
    if PINNED in answer["reasons"]:
        return "nothing, while it is pinned"
    if PLACEHOLDER in answer["reasons"]:
        return f"nothing, while the transcript has the placeholder, unless somebody runs {command} gc --placeholders"
    return "nothing, unless you change the policy"
