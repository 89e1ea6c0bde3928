"""What a person changes from an answer: pins and the session's profile. Written to the journal, so that a rebuild
repeats it."""

from __future__ import annotations

from ..policy import globs
from ..policy.ruleset import DEFAULT, PROFILES
from ..state import journal, store
from . import ids, phrases, text

GO_BACK = DEFAULT  # not a profile to choose, but the end of a choice
_MEANS = {
    "auto": "a clear takes what is worth more gone than kept",
    "spec": "lifetimes are the specified ones, and a clear goes by them",
    "aggressive": "lifetimes are halved, and a clear goes by them",
    "conservative": "lifetimes are doubled, and a clear goes by them",
}
_PATTERN_CHARS = frozenset("/.*?[\\")


class Unknown(Exception):
    """A name that is not known; the message says which are."""


def choose_profile(site, name: str, now: float) -> str:
    """Sets the profile of the session and says so in a sentence."""
    if name not in PROFILES and name != GO_BACK:
        raise Unknown(f"unknown profile {ids.shown(name)}. Known: {', '.join(PROFILES)}, {GO_BACK} (to go back)")
    target = None if name == GO_BACK else name
    _journal(site, [journal.profile_chosen(target, now)])
    site.remember(profile=target)
    if target is None:
        return f"Back to the configured profile, {site.rules().profile}."
    return f"Profile {name} for this session: {_MEANS[name]}. Back with --profile {GO_BACK}."


def pin(site, report: dict, words: list, now: float) -> list:
    """Pins what the words name, all or nothing; returns the targets: tool_use ids and path patterns."""
    targets = [pin_target(report, word) for word in words]
    _journal(site, [journal.pinned(target, now) for target in targets if target not in report["pins"]])
    return targets


def unpin(site, report: dict, words: list, now: float) -> list:
    """Lets go of what the words name, all or nothing; returns the targets."""
    targets = [unpin_target(report, word) for word in words]
    _journal(site, [journal.unpinned(target, now) for target in targets])
    return targets


def _journal(site, entries: list) -> None:
    paths = site.paths()
    with paths.locked():
        for entry in entries:
            store.journal(paths, entry)


def pin_target(report: dict, word: str) -> str:
    """The id that a word names, or the word itself where it is a path pattern."""
    try:
        row = ids.find(report, word)
        if row["state"] == "cleared":
            raise Unknown(f"{phrases.number(row)} was cleared: restore {phrases.number(row)} --in-place brings it back and holds it")
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
        raise Unknown(f"{name} is held by the pattern {ids.shown(row['pinned_by'])}: unpin that")
    raise Unknown(f"{name} is held by {ids.shown(row['pinned_by'])} in the configuration: popkit config path shows the files")


def _pinned(report: dict) -> str:
    names = {row["id"]: phrases.number(row) for row in report["results"]}
    pins = [names.get(pin) or ids.shown(pin) for pin in report["pins"]]
    return "Pinned: " + text.listed(pins) if pins else "Nothing is pinned in this session"


def pinned_lines(before: dict, after: dict, targets: list, command: str) -> list:
    """What a pin did, one paragraph a target."""
    lines = text.title("Pinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            held = text.counted(len(ids.matching(after, target)), "result")
            lines += [
                *text.wrap(target),
                f"  holds {held} now, and those to come",
                *text.wrap(f"  until {command} unpin {phrases.quoted(target)}", indent="    "),
            ]
            continue
        lines += [phrases.title(row)]
        if target in before["pins"]:
            lines += ["  was pinned already"]
        elif any(old["id"] == target and old["state"] == "expired" for old in before["results"]):
            lines += ["  had expired, and is live again"]
        lines += [f"  stays live until {command} unpin {phrases.number(row)}"]
    return lines


def unpinned_lines(after: dict, targets: list) -> list:
    """What an unpin did, one paragraph a target."""
    lines = text.title("Unpinned")
    for target in targets:
        row = next((row for row in after["results"] if row["id"] == target), None)
        if row is None:
            lines += [*text.wrap(target), "  what it held lives by its tiers again"]
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
