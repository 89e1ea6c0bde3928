"""The one table of configuration keys: what each may hold, and what of a document can be used.

A *kind* is a function of (value, path, note): it returns what can be used of the value, or `DROP`, and calls `note` for
each part that cannot be: `note(path, value, allowed, known)`, where `allowed` says in words what could stand there and
`known` names the possible words (with an empty `allowed`, the key itself is unknown). Never raises, touches nothing.
The hooks' reader and `popkit config check` both walk this table, so neither can accept what the other refuses.
"""

from __future__ import annotations

from ..policy.ruleset import COMPACTION, DEFAULT, GRACE_CALLS, PROFILES
from ..policy.tiers import EVENT_ALIASES, EVENTS, TIERS

DROP = object()

MOST_CALLS = 1_000_000
MOST_SECONDS = 31_536_000  # a year
FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS = 1_000, 100_000_000
LOWEST_SHARE = 0.01
# A pattern costs every hook a comparison, so a file cannot bring thousands.
MOST_ENTRIES = 200
LONGEST_PATTERN = 256
LONGEST_TEXT = 2_000

# A project file comes with a repository that may be anybody's. These keys let PopKit write outside its own folder,
# send requests elsewhere or let go of what it keeps, so only the user's own files may hold them; in a project file they do nothing.
USER_ONLY = ("clear_at_exit", "gateway", "keep_days")


def flag(value, path, note):
    if value is True or value is False:
        return value
    note(path, value, "true or false", ())
    return DROP


def whole(low: int, high: int):
    allowed = f"a whole number from {low} to {high}"

    def kind(value, path, note):
        # `type`, because True is an int too.
        if type(value) is int and low <= value <= high:
            return value
        note(path, value, allowed, ())
        return DROP

    return kind


def share(value, path, note):
    if type(value) in (int, float) and LOWEST_SHARE <= value <= 1:
        return float(value)
    note(path, value, f"a number from {LOWEST_SHARE} to 1, a share of the context window", ())
    return DROP


def text(longest: int, shortest: int = 0):
    allowed = f"text of at most {longest} characters" + (", not empty" if shortest else "")

    def kind(value, path, note):
        if isinstance(value, str) and shortest <= len(value) <= longest and _is_unicode(value):
            return value
        note(path, value, allowed, ())
        return DROP

    return kind


def _is_unicode(value: str) -> bool:
    """Whether the text can be written: JSON can spell half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def word(words: tuple):
    allowed = "one of " + ", ".join(words)

    def kind(value, path, note):
        if isinstance(value, str) and value in words:
            return value
        note(path, value, allowed, words)
        return DROP

    return kind


def only_null(allowed: str):
    def kind(value, path, note):
        if value is None:
            return None
        note(path, value, allowed, ())
        return DROP

    return kind


def or_null(kind, meaning: str):
    def nullable(value, path, note):
        if value is None:
            return None
        return kind(value, path, lambda at, bad, allowed, known: note(at, bad, f"{allowed}, or null for {meaning}", known))

    return nullable


def listed(kind, what: str):
    """A list; items that cannot be used fall out of it one by one."""

    def items(value, path, note):
        if not isinstance(value, list):
            note(path, value, f"a list of {what}", ())
            return DROP
        if len(value) > MOST_ENTRIES:
            note(path, value, f"at most {MOST_ENTRIES} entries", ())
        found = [kind(item, (*path, at), note) for at, item in enumerate(value[:MOST_ENTRIES])]
        return [item for item in found if item is not DROP]

    return items


def keyed(key_kind, kind, what: str):
    """An object with free keys."""

    def entries(value, path, note):
        if not isinstance(value, dict):
            note(path, value, f"an object of {what}", ())
            return DROP
        if len(value) > MOST_ENTRIES:
            note(path, value, f"at most {MOST_ENTRIES} entries", ())
        found = {}
        for key, entry in list(value.items())[:MOST_ENTRIES]:
            at = (*path, key)
            used = DROP if key_kind(key, at, note) is DROP else kind(entry, at, note)
            if used is not DROP:
                found[key] = used
        return found

    return entries


def record(fields: dict, *rules):
    """An object with the keys of `fields`; each of `rules` then looks at the usable fields together."""
    names = tuple(fields)

    def members(value, path, note):
        if not isinstance(value, dict):
            note(path, value, "an object with " + ", ".join(names), ())
            return DROP
        found = {}
        for key, entry in value.items():
            if key not in fields:
                note((*path, key), entry, "", names)
                continue
            used = fields[key](entry, (*path, key), note)
            if used is not DROP:
                found[key] = used
        for rule in rules:
            found = rule(found, path, note)
        return found

    return members


def rises(thresholds: dict) -> bool:
    """Whether each threshold present lies above the one before it."""
    levels = [thresholds[name] for name in THRESHOLDS if name in thresholds]
    return all(low < high for low, high in zip(levels, levels[1:]))


RISING = "rising shares: notice < warning < critical < emergency"


def _rising(found, path, note):
    if rises(found):
        return found
    note(path, found, RISING, ())
    return {}


def _one_tier(found, path, note):
    if "tier" in found and "default" in found:
        note((*path, "default"), found.pop("default"), 'nothing beside "tier": both name the tier of the tool', ())
    return found


THRESHOLDS = ("notice", "warning", "critical", "emergency")
NO_LIMIT = "no limit"
NEVER_BY_AGE = "only null; preserved results never expire by age"

pattern = text(LONGEST_PATTERN, shortest=1)
prose = text(LONGEST_TEXT)
tier_name = word(TIERS)

TIER = record(
    {
        "ttl_tools": or_null(whole(1, MOST_CALLS), NO_LIMIT),
        "ttl_seconds": or_null(whole(1, MOST_SECONDS), NO_LIMIT),
        "expiry_events": listed(word(EVENTS + tuple(EVENT_ALIASES)), "events"),
        "description": prose,
    }
)
PRESERVED_TIER = record(
    {
        "ttl_tools": only_null(NEVER_BY_AGE),
        "ttl_seconds": only_null(NEVER_BY_AGE),
        "expiry_events": listed(word(("manual",)), "events"),
        "description": prose,
    }
)
OVERRIDE_OBJECT = record(
    {
        "tier": tier_name,
        "default": tier_name,
        "patterns": keyed(pattern, or_null(tier_name, "no such pattern"), "patterns and tiers"),
    },
    _one_tier,
)


def override(value, path, note):
    """A tier for the whole tool, an object, or null for no override."""
    if value is None:
        return None
    if isinstance(value, dict):
        return OVERRIDE_OBJECT(value, path, note)
    if isinstance(value, str):
        return tier_name(value, path, note)
    note(path, value, "a tier, an object with tier and patterns, or null for no override", ())
    return DROP


FIELDS = {
    "enabled": flag,
    "profile": word((*PROFILES, DEFAULT)),
    "tiers": record({**dict.fromkeys(TIERS, TIER), "preserved": PRESERVED_TIER}),
    "tool_overrides": keyed(pattern, override, "tools and their tiers"),
    "preserved_patterns": listed(pattern, "patterns"),
    "thresholds": record(dict.fromkeys(THRESHOLDS, share), _rising),
    "window_tokens": or_null(whole(FEWEST_WINDOW_TOKENS, MOST_WINDOW_TOKENS), "the window of the model"),
    "pins": listed(pattern, "path patterns"),
    "grace_calls": record(dict.fromkeys(GRACE_CALLS, whole(0, MOST_CALLS))),
    "restore_hold_calls": whole(0, MOST_CALLS),
    "compaction": record(dict.fromkeys(COMPACTION, flag)),
    "clear_at_exit": flag,
    "keep_days": record({"originals": whole(0, 36_500), "sessions": whole(1, 36_500)}),
}
# What a file may say about itself; it is no setting.
NOTES = {"$schema": prose, "$comment": prose}

_RETENTION = record({**FIELDS, **NOTES})
_DOCUMENT = record({"retention": _RETENTION, **NOTES})


def usable(document: object, layer: str, note) -> dict:
    """The settings of a document that can be used, as the content of its `retention` object.

    The object may stand alone in its file, but not in `power-mode/config.json`, which holds settings of others as well.
    """
    if layer == "power-mode" and isinstance(document, dict):
        document = {key: document[key] for key in ("retention",) if key in document}
    wrapped = not isinstance(document, dict) or "retention" in document
    if layer == "project":
        document = _without_user_only(document, note)
    found = (_DOCUMENT if wrapped else _RETENTION)(document, (), note)
    if wrapped:
        found = found.get("retention", {}) if found is not DROP else {}
    return {key: value for key, value in found.items() if key not in NOTES}


def _without_user_only(document, note):
    path = ("retention",) if isinstance(document, dict) and "retention" in document else ()
    inner = document["retention"] if path else document
    if not isinstance(inner, dict) or not any(key in inner for key in USER_ONLY):
        return document
    for key in USER_ONLY:
        if key in inner:
            note((*path, key), inner[key], "nothing here; only your own configuration may hold this key", ())
    inner = {key: value for key, value in inner.items() if key not in USER_ONLY}
    return {**document, "retention": inner} if path else inner
