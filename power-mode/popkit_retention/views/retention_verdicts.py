"""What policies say of things, in lines: all of a domain, or one thing. Plain values in, lines out. Pure."""

from __future__ import annotations

from hooks.utils import text

from ..cli.answering import ago, ahead, pair, pairs
from ..cli.holdings import size
from ..governance import explaining
from ..governance.rules import ELIGIBLE, PINNED, PLACEHOLDER
from . import retention_phrases as phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# States of a thing, and what can come next (at its time, with the next collection), as `explain` tells them.
_STATES = {
    explaining.HELD: "on hold{since}: nothing deletes it",
    explaining.KEPT: "protected",
    explaining.READY: "eligible{since}: it may be deleted",
    explaining.MARKED: "marked{ago}",
}
_COMING = {
    explaining.TO_BE_ELIGIBLE: ("it may be deleted {when}, unless it is used before", "it may be deleted"),
    explaining.TO_BE_MARKED: ("it can be marked {when}", "the next collection marks it; 24 h later it can be deleted"),
    explaining.TO_BE_DELETED: ("it can be deleted {when}", "the next collection deletes it"),
    explaining.TO_BE_UNMARKED: ("its mark can be taken back {when}", "the next collection takes the mark back"),
    explaining.HOLD_ENDS: ("the hold ends {when}", "the hold is over"),
}


# --- all of a domain -------------------------------------------------------------------------------------------------------------------


def applied(found: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]], now: float, most: int | None) -> list[str]:
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
        lines += ["  " + line for line in phrases.listed(_labelled(rows, described), _of_reason(most), now, text.WIDTH - 2)]
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


def explained(found: Mapping[str, Any], policy: Mapping[str, Any], now: float, command: str) -> list[str]:
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


def _next(found: Mapping[str, Any], now: float, command: str) -> list[str]:
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
