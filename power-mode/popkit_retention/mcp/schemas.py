"""The JSON Schemas of each tool's input and output, helpers to write them in few words, and the check of values against them, as far as
they are used here. Pure. A model reads the input schemas with every prompt, so descriptions say only what names and bounds do not."""

from __future__ import annotations

from typing import Any

from hooks.utils.operations import CONTEXT as CONTEXT_TABLE

from ..operations import data_tables
from .json_rpc import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.argument_types import Type
    from hooks.utils.operation_tables import Operation


Schema = dict[str, Any]


def obj(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return schema


def open_obj(about: str = "") -> Schema:
    """Return the schema of an object with any properties."""
    return _described({"type": "object"}, about)


def text(about: str = "", longest: int | None = None, shortest: int = 0) -> Schema:
    return _bounded("string", about, minLength=shortest or None, maxLength=longest)


def words(*known: str, about: str = "") -> Schema:
    """Return the schema of one of these texts."""
    return _described({"type": "string", "enum": list(known)}, about)


def whole(low: int | None = None, high: int | None = None, about: str = "") -> Schema:
    return _bounded("integer", about, minimum=low, maximum=high)


def number(low: float | None = None, high: float | None = None, about: str = "") -> Schema:
    return _bounded("number", about, minimum=low, maximum=high)


def flag(about: str = "") -> Schema:
    return _described({"type": "boolean"}, about)


def several(of: Schema, most: int | None = None, about: str = "", fewest: int = 0) -> Schema:
    """Return the schema of a list."""
    return _bounded("array", about, items=of, minItems=fewest or None, maxItems=most)


def anything(about: str = "") -> Schema:
    return _described({}, about)


def takes(operation: Operation, *needed: str, **more: Schema) -> Schema:
    """Return the schema of an agent's input to an operation of the command line: its argument and flags as far as they are for agents, and
    `more`. The argument and the flags that are `needed` are required."""
    argument = [operation.agent] if operation.agent else []
    flags = [flag.agent for flag in operation.flags if flag.agent]
    return obj({**{name: of(type) for name, type in (*argument, *flags)}, **more}, (*(name for name, _ in argument), *needed))


def of(type: Type) -> Schema:
    """Return the schema of a type of the command line."""
    if type.kind == "choice":
        return words(*type.known, about=type.about)
    if type.kind == "list" and type.of:
        return several(of(type.of), type.high, type.about, type.low)
    if type.kind == "switch":
        return flag(type.about)
    return whole(type.low, type.high, type.about) if type.kind == "whole" else text(type.about, type.high, type.low)


def or_null(of: Schema) -> Schema:
    """Return the schema of the same, or null."""
    return {**of, "type": [of["type"], "null"]}


def _bounded(type: str, about: str, **bounds: object) -> Schema:
    """Return the schema of a type with those bounds that are not None."""
    return _described({"type": type, **{name: bound for name, bound in bounds.items() if bound is not None}}, about)


def _described(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about} if about else schema


# --- checking ---


def wrong(schema: Schema, value: object, path: str = "arguments") -> str:
    """Return the first fault of a value: where it is, and what would be right; "" for none."""
    known = schema.get("type")
    types = known if isinstance(known, list) else [known] if known else []
    if types and not any(_is(value, each) for each in types):
        return f"{path} must be {' or '.join(_TYPE_NAMES[each] for each in types)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} must be one of {', '.join(schema['enum'])}"
    if isinstance(value, str):
        return _wrong_text(schema, value, path)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _wrong_number(schema, value, path)
    if isinstance(value, list):
        return _wrong_list(schema, value, path)
    return _wrong_object(schema, value, path) if isinstance(value, dict) else ""


def _is(value: object, type: str) -> bool:
    if isinstance(value, bool):
        return type == "boolean"
    if type == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES[type])


def _wrong_text(schema: Schema, value: str, path: str) -> str:
    if len(value) < schema.get("minLength", 0):
        return f"{path} must not be empty"
    if len(value) > schema.get("maxLength", len(value)):
        return f"{path} must have at most {schema['maxLength']:,} characters"
    return ""


def _wrong_number(schema: Schema, value: float, path: str) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is None or value >= low) and (high is None or value <= high):
        return ""
    if high is None:
        return f"{path} must be at least {low:,}"
    return f"{path} must be at most {high:,}" if low is None else f"{path} must be from {low:,} to {high:,}"


def _wrong_list(schema: Schema, value: list, path: str) -> str:
    if len(value) < schema.get("minItems", 0):
        return f"{path} must not be empty"
    if len(value) > schema.get("maxItems", len(value)):
        return f"{path} must have at most {schema['maxItems']:,} entries"
    items = schema.get("items")
    if not items:
        return ""
    return next(filter(None, (wrong(items, each, f"{path}[{place}]") for place, each in enumerate(value))), "")


def _wrong_object(schema: Schema, value: dict, path: str) -> str:
    properties = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            return f"{path}.{key} is missing"
    if schema.get("additionalProperties") is False:
        for key in value:
            if key not in properties:
                return f"{path} has no {shown(key)}. Known: {', '.join(properties) or 'nothing'}"
    return next(filter(None, (wrong(properties[key], value[key], f"{path}.{key}") for key in properties if key in value)), "")


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool, "null": type(None),
}  # fmt: skip
_TYPE_NAMES = {
    "object": "an object", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip


# --- the tools ---

MOST_RESOURCES = 100_000
PAGE_CHARS, LARGEST_PAGE = 20_000, 60_000
SHOWN = 50  # of what is stored, in each list
_DOMAIN = words("memory", "rag")
_REASONS = several(text())

NOTHING = obj({})

# --- retention ---

_KEYS = {
    "older_than_days": number(about="1 to 3650: younger ones are kept"),
    "source_types": several(text(), about="context, action, thought: kinds that may be deleted"),
    "keep_session_ids": several(text()),
    "keep_context_ids": several(anything(), about="whole numbers"),
    "limit": number(about="1 to 20000: most to delete"),
    "vacuum": flag("compact the file afterwards"),
    "auto_gc": flag("collect hourly"),
}
POLICY = obj(
    {
        "older_than_days": number(), "source_types": several(text()), "keep_session_ids": several(text()),
        "keep_context_ids": several(whole()), "limit": whole(), "vacuum": flag(), "auto_gc": flag(),
    },
    tuple(_KEYS),
)  # fmt: skip
POLICIES = obj(
    {"version": whole(), "revision": whole(), "updated_at": text(), "memory": POLICY, "rag": POLICY, "deprecated": text()},
    ("version", "updated_at", "memory", "rag"),
)
DOMAIN_ONLY = takes(data_tables.RETENTION_SHOW, "domain")
CONFIGURE = takes(data_tables.RETENTION_SET, "domain", "config", config=obj(_KEYS))
_ADJUSTED = obj({"key": text(), "given": anything(), "kept": anything(), "why": text()}, ("key", "given", "kept", "why"))
CONFIGURED = obj(
    {
        "success": flag(), "status": words("applied", "waiting"), "domain": _DOMAIN, "policy": POLICY, "updated_at": text(),
        "revision": whole(), "adjusted": several(_ADJUSTED), "request": text("of the change that waits for the user's approval"),
        "asked": open_obj("what would apply to this project then"), "note": text(),
    },
    ("success", "status", "domain", "policy", "updated_at"),
)  # fmt: skip
_OPTIONS = open_obj("keys of the policy with other values for this call")  # the controller checks them
APPLY = takes(
    data_tables.RETENTION_APPLY,
    "domain",
    resources=several(anything(), MOST_RESOURCES, "objects with id, created_at, source_type, session_id, context_id"),
    options=_OPTIONS,
    most=whole(0, MOST_RESOURCES, "entries shown of each list"),
)
_VERDICT = obj({"id": text(), "reasons": _REASONS, "created_at": or_null(text()), "label": text()}, ("id", "reasons"))
APPLIED = obj(
    {
        "success": flag(), "domain": _DOMAIN, "cutoff_date": text(), "policy_applied": POLICY,
        "eligible": several(_VERDICT), "protected": several(_VERDICT),
        "counts": obj({"eligible": whole(), "protected": whole(), "total": whole()}, ("eligible", "protected", "total")),
        "truncated": flag("the limit left something out"), "left_out": whole(),
        "not_shown": obj({"eligible": whole(), "protected": whole()}),
        "own": several(open_obj("the same for a project that has its own policy")),
    },
    ("success", "domain", "cutoff_date", "policy_applied", "eligible", "protected", "counts"),
)  # fmt: skip
ARCHIVE = takes(
    data_tables.RETENTION_ARCHIVE,
    "domain",
    resources=several(anything(), MOST_RESOURCES, "ids, or objects with an id"),
    options=obj({"note": text(longest=data_tables.LONGEST_NOTE)}),
)
ARCHIVED = obj(
    {"success": flag(), "archive_id": text(), "manifest_path": text(), "resource_count": whole(), "total_size_bytes": whole()},
    ("success", "archive_id", "manifest_path", "resource_count", "total_size_bytes"),
)

# --- memory ---

RECALL = takes(data_tables.MEMORY_SEARCH)
_WAITS = flag("an agent said it, the user has not accepted it")
_ITEM = {"id": text(), "text": text(), "kind": text(), "tier": text(), "created_at": text(), "waits": _WAITS}
RECALLED = obj(
    {"items": several(obj({**_ITEM, "project": text(), "relevance": number()}, ("id", "text", "kind"))), "memory_is_on": flag()},
    ("items",),
)
NOTE = takes(data_tables.MEMORY_ADD)
NOTED = obj({**_ITEM, "note": text()}, ("id", "text", "kind"))
FORGET = takes(data_tables.MEMORY_FORGET)
FORGOTTEN = obj({"marked": several(text()), "undo": text("what the user types to undo it"), "note": text()}, ("marked", "undo"))
_COUNTS = obj({"items": whole(), "tokens": whole()})
MEMORY = obj(
    {
        "project": text(), "memory_is_on": flag(), "items": whole(), "tokens": whole(), "tiers": open_obj(), "marked": whole(),
        "waiting": whole(about="added by agents, not accepted yet"), "sessions": whole(),
        "alerts": several(obj({"id": text(), "text": text(), "deleted_at": text()})),
    },
    ("project", "memory_is_on", "items"),
)  # fmt: skip

# --- context ---

SEARCH = takes(data_tables.ARCHIVE_SEARCH)
_HIT = {"handle": text(), "label": text(), "archived_at": text(), "session": text(), "project": text(), "lines": several(text())}
SEARCHED = obj(
    {
        "results": several(obj(_HIT, ("handle", "label", "lines"))),
        "more": flag(),
        "not_searched": whole(about="not indexed yet: ask again"),
    },
    ("results",),
)
RESTORE = takes(
    CONTEXT_TABLE.by_name["restore"],
    offset=whole(0, about="characters"),
    limit=whole(1, LARGEST_PAGE, f"characters; {PAGE_CHARS} if left out"),
)
RESTORED = obj(
    {
        "handle": text(), "label": text(), "content": text(), "offset": whole(), "total_chars": whole(),
        "next_offset": or_null(whole(about="null at the end")),
    },
    ("handle", "label", "content", "offset", "total_chars", "next_offset"),
)  # fmt: skip
_SUMS = obj({"items": whole(), "tokens": whole()})
CONTEXT = obj(
    {
        "session": text(), "calls": whole(), "context": open_obj("how full it is; empty before the first request"),
        "tiers": open_obj("live and expired results by lifetime"), "expired": _SUMS, "cleared": _SUMS,
        "reclaimable": open_obj("what a clear removes now, and once the cache is cold"), "verdict": anything("what to do now"),
        "agents": whole(), "clear_with": text("what the user types to clear"),
    },
    ("session", "calls", "expired", "cleared"),
)  # fmt: skip
