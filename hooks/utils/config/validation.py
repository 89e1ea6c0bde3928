"""Validate a configuration document by the table of `fields`: return its usable part. Never raises, touches nothing.

The reader of a kind is a function of (field, value, path, note): it returns what can be used of the value, or `DROP`, and calls `note` for
each part that cannot be: `note(path, value, allowed, known)`, where `allowed` says in words what it could be and `known` names the possible
words (with an empty `allowed`, the key itself is unknown). The hooks' reader and `popkit config check` both use it, so neither can accept
what the other refuses.
"""

from __future__ import annotations

from ..policy.ruleset import THRESHOLDS
from .fields import DOCUMENT, MOST_ENTRIES, NOTES, RETENTION, RISING, USER_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Union

    from .field_kinds import Field

    Path = tuple[Union[str, int], ...]
    Note = Callable[[Path, object, str, tuple[str, ...]], None]

DROP = object()
# For all patterns of a project's file together: each hook compares them.
PATTERN_BUDGET = 4_000
TOO_MUCH = (
    f"patterns that come to at most {PATTERN_BUDGET} characters together, where those with * and / count 4 times and those with ? or [ "
    "16 times; the whole file is ignored"
)


def usable(document: object, layer: str, note: Note) -> dict[str, object]:
    """Return the settings of a document that can be used, as the content of its `retention` object.

    The object may be the whole file, but not in `power-mode/config.json`, which holds settings of others as well.
    """
    if layer == "power-mode" and isinstance(document, dict):
        document = {key: document[key] for key in ("retention",) if key in document}
    wrapped = not isinstance(document, dict) or "retention" in document
    if layer == "project":
        document = _without_user_only(document, note)
    settings = read(DOCUMENT if wrapped else RETENTION, document, (), note)
    if wrapped:
        settings = settings.get("retention", {}) if settings is not DROP else {}
    settings = {key: value for key, value in settings.items() if key not in NOTES}
    if layer == "project" and (cost := pattern_cost(settings)) > PATTERN_BUDGET:
        note((), cost, TOO_MUCH, ())
        return {}
    return settings


def pattern_cost(values: dict[str, Any]) -> int:
    """Return the cost of a `retention` object's patterns to a hook, in characters; patterns compared step by step count more."""
    patterns = [*values.get("pins", ()), *values.get("preserved_patterns", ())]
    for tool, override in values.get("tool_overrides", {}).items():
        patterns.append(tool)
        patterns.extend(override.get("patterns", ()) if isinstance(override, dict) else ())
    return sum([len(pattern) * _weight(pattern) for pattern in patterns])


def _weight(pattern: str) -> int:
    if "?" in pattern or "[" in pattern:
        return 16
    return 4 if "*" in pattern and "/" in pattern else 1


def read(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Return the usable part of a value under a field, or DROP."""
    if value is None and "null" in field:
        return None
    if "null" in field:
        return _READERS[field["kind"]](
            field, value, path, lambda at, bad, allowed, known: note(at, bad, _with_null(field, allowed, at == path), known)
        )
    return _READERS[field["kind"]](field, value, path, note)


def _with_null(field: Field, allowed: str, here: bool) -> str:
    return f"{allowed}, or null for {field['null']}" if here and allowed else allowed


def _flag(field: Field, value: Any, path: Path, note: Note) -> Any:
    if value is True or value is False:
        return value
    note(path, value, "true or false", ())
    return DROP


def _whole(field: Field, value: Any, path: Path, note: Note) -> Any:
    # `type`, because True is an int too.
    if type(value) is int and field["low"] <= value <= field["high"]:
        return value
    note(path, value, f"a whole number from {field['low']} to {field['high']}", ())
    return DROP


def _number(field: Field, value: Any, path: Path, note: Note) -> Any:
    if type(value) in (int, float) and field["low"] <= value <= field["high"]:
        return float(value)
    note(path, value, f"a number from {field['low']} to {field['high']}, {field['meaning']}", ())
    return DROP


def _text(field: Field, value: Any, path: Path, note: Note) -> Any:
    if isinstance(value, str) and field["shortest"] <= len(value) <= field["longest"] and _is_unicode(value):
        return value
    note(path, value, f"text of at most {field['longest']} characters" + (", not empty" if field["shortest"] else ""), ())
    return DROP


def _is_unicode(value: str) -> bool:
    """Return whether the text can be written: JSON can spell half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _address(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Return an address without credentials. A refused one is not shown in full: it may hold a password."""
    if not isinstance(value, str) or len(value) > field["longest"]:
        return _refused_address(field, value if not isinstance(value, str) else "…", path, note)
    return value if is_address(field, value) else _refused_address(field, value.partition(":")[0][:20] + ":…", path, note)


def _refused_address(field: Field, shown: Any, path: Path, note: Note) -> Any:
    note(path, shown, f'{field["form"]} or "", without user and password: these come from {field["credentials"]} in the environment', ())
    return DROP


def is_address(field: Field, value: str) -> bool:
    """Return whether a text is "" or an address of the field's schemes that names a host, and no user or anything else that may be
    secret."""
    scheme, separator, rest = value.partition("://")
    plain = value.isascii() and value.isprintable() and not any(char in value for char in " @?#")
    return not value or (scheme in field["schemes"] and separator != "" and rest[:1] not in ("", "/") and plain)


def _word(field: Field, value: Any, path: Path, note: Note) -> Any:
    if isinstance(value, str) and value in field["words"]:
        return value
    note(path, value, "one of " + ", ".join(field["words"]), field["words"])
    return DROP


def _null(field: Field, value: Any, path: Path, note: Note) -> Any:
    if value is None:
        return None
    note(path, value, field["allowed"], ())
    return DROP


def _either(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Read a word or an object."""
    word, record = field["of"]
    if isinstance(value, dict):
        return _record(record, value, path, note)
    if isinstance(value, str):
        return _word(word, value, path, note)
    note(path, value, field["allowed"], ())
    return DROP


def _list(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Read a list; items that cannot be used are left out one by one."""
    if not isinstance(value, list):
        note(path, value, f"a list of {field['what']}", ())
        return DROP
    if len(value) > MOST_ENTRIES:
        note(path, value, f"at most {MOST_ENTRIES} entries", ())
    items = [read(field["of"], item, (*path, at), note) for at, item in enumerate(value[:MOST_ENTRIES])]
    return [item for item in items if item is not DROP]


def _map(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Read an object with free keys."""
    if not isinstance(value, dict):
        note(path, value, f"an object of {field['what']}", ())
        return DROP
    if len(value) > MOST_ENTRIES:
        note(path, value, f"at most {MOST_ENTRIES} entries", ())
    values = {}
    for key, entry in list(value.items())[:MOST_ENTRIES]:
        at = (*path, key)
        used = DROP if read(field["key"], key, at, note) is DROP else read(field["of"], entry, at, note)
        if used is not DROP:
            values[key] = used
    return values


def _record(field: Field, value: Any, path: Path, note: Note) -> Any:
    """Read an object with known keys; the rule of the record then looks at the usable ones together."""
    fields = field["fields"]
    if not isinstance(value, dict):
        note(path, value, "an object with " + ", ".join(fields), ())
        return DROP
    values = {}
    for key, entry in value.items():
        if key not in fields:
            note((*path, key), entry, "", tuple(fields))
            continue
        used = read(fields[key], entry, (*path, key), note)
        if used is not DROP:
            values[key] = used
    return _RULES[field["rule"]](values, path, note) if field["rule"] else values


_READERS = {
    "flag": _flag, "whole": _whole, "number": _number, "text": _text, "address": _address, "word": _word, "null": _null,
    "either": _either, "list": _list, "map": _map, "record": _record,
}  # fmt: skip


def rises(thresholds: dict[str, float]) -> bool:
    """Return whether each threshold present lies above the one before it."""
    levels = [thresholds[name] for name in THRESHOLDS if name in thresholds]
    return all(low < high for low, high in zip(levels, levels[1:]))


def _rising(values: dict[str, Any], path: Path, note: Note) -> dict[str, Any]:
    if rises(values):
        return values
    note(path, values, RISING, ())
    return {}


def _one_tier(values: dict[str, object], path: Path, note: Note) -> dict[str, object]:
    if "tier" in values and "default" in values:
        note((*path, "default"), values.pop("default"), 'nothing beside "tier": both name the tier of the tool', ())
    return values


_RULES = {"rising": _rising, "one_tier": _one_tier}


def _without_user_only(document: Any, note: Note) -> Any:
    path = ("retention",) if isinstance(document, dict) and "retention" in document else ()
    inner = document["retention"] if path else document
    if not isinstance(inner, dict) or not any(key in inner for key in USER_ONLY):
        return document
    for key in USER_ONLY:
        if key in inner:
            note((*path, key), inner[key], "nothing here; only your own configuration may hold this key", ())
    inner = {key: value for key, value in inner.items() if key not in USER_ONLY}
    return {**document, "retention": inner} if path else inner
