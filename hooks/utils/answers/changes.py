"""What a person changes from an answer, pins and the session's profile: the journal's entries for it, and what the answer says. Pure."""

from __future__ import annotations

from ..policy import globs
from ..policy.ruleset import DEFAULT
from . import ids, phrases, text

GO_BACK = DEFAULT  # not a profile to choose, but the end of a choice
_MEANS = {
    "auto": "a clear takes what is worth more gone than kept",
    "spec": "results live as long as specified, and a clear takes what has expired",
    "aggressive": "results live half as long, and a clear takes what has expired",
    "conservative": "results live twice as long, and a clear takes what has expired",
}
_PATTERN_CHARS = frozenset("/.*?[\\")


class Unknown(Exception):
    """A name that is not known; the message says which are."""


def profile_target(name: str) -> str | None:
    """The profile that a name means for the session; None to go back to the configured one."""
    return None if name == GO_BACK else name


def profile_chosen(target: str | None, now_holds: str) -> str:
    """What an answer says of the choice; `now_holds` is the profile that holds after it."""
    if target is None:
        return f"Back to the configured profile, {text.clean(now_holds)}."
    return f"Profile {target} for this session: {_MEANS[target]}. To go back: --profile {GO_BACK}."


def pin_target(report: dict, word: str) -> str:
    """The id that a word names, or the word itself where it is a path pattern."""
    try:
        row = ids.find(report, word)
        if row["state"] == "cleared":
            raise Unknown(f"{phrases.number(row)} was cleared. To bring it back and hold it: restore {phrases.number(row)} --in-place")
        return row["id"]
    except ids.NotFound:
        if ids.number_of(word) is not None or not word or len(word) > globs.LONGEST_PATTERN:
            raise
        if not _PATTERN_CHARS.isdisjoint(word) or ids.matching(report, word):
            return word
        raise


def unpin_target(report: dict, word: str) -> str:
    """The pin that a word names: the pin itself, or that of a result."""
    pins = report["pins"]
    if word in pins:
        return word
    try:
        row = ids.find(report, word)
    except ids.NotFound:
        like = [pin for pin in pins if word and word in pin]
        if len(like) == 1:
            return like[0]
        raise Unknown(f"nothing is pinned as {ids.shown(word)}. {_pinned(report)}") from None
    if row["id"] in pins:
        return row["id"]
    name = phrases.number(row)
    if not row["pinned_by"]:
        raise Unknown(f"{name} is not pinned. {_pinned(report)}")
    if row["pinned_by"] in pins:
        raise Unknown(f"{name} is held by the pattern {ids.shown(row['pinned_by'])}. Unpin that instead")
    raise Unknown(f"{name} is held by {ids.shown(row['pinned_by'])} in the configuration. To see the files: popkit config path")


def _pinned(report: dict) -> str:
    names = {row["id"]: phrases.number(row) for row in report["results"]}
    pins = [names.get(pin) or ids.shown(pin) for pin in report["pins"]]
    return "Pinned: " + text.listed(pins) if pins else "Nothing is pinned in this session"


def pinned_lines(before: dict, after: dict, targets: list, command: str) -> list[str]:
    """What a pin did, one paragraph a target."""
    lines = text.title("Pinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            held = text.counted(len(ids.matching(after, target)), "result")
            lines += [
                *text.wrap(target),
                f"  holds {held} now, and every later one",
                *text.wrap(f"  until {command} unpin {phrases.quoted(target)}", indent="    "),
            ]
            continue
        lines += [phrases.title(row)]
        if target in before["pins"]:
            lines += ["  was already pinned"]
        elif any(old["id"] == target and old["state"] == "expired" for old in before["results"]):
            lines += ["  had expired and is live again"]
        lines += [f"  stays live until {command} unpin {phrases.number(row)}"]
    return lines


def unpinned_lines(after: dict, targets: list) -> list[str]:
    """What an unpin did, one paragraph a target."""
    lines = text.title("Unpinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            lines += [*text.wrap(target), "  its results follow their tiers again"]
            continue
        lines += [phrases.title(row)]
        if row["state"] == "live":
            lines += [
                text.cut(
                    "  " + ("still held by " + text.clean(row["pinned_by"]) if row["pinned_by"] else "lives " + phrases.until(row)),
                    text.WIDTH,
                )
            ]
    return lines
