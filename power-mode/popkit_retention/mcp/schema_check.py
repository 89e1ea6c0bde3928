"""The validation of values against the subset of JSON Schema that the tools use. Pure."""

from __future__ import annotations

from .json_rpc import shown
from .schema_words import Schema


def wrong(schema: Schema, value: object, path: str = "arguments") -> str:
    """Return the first fault of a value: where it is, and what would be right; "" for none."""
    known = schema.get("type")
    types = known if isinstance(known, list) else [known] if known else []
    if types and not any(_is(value, kind) for kind in types):
        return f"{path} must be {' or '.join(_TYPE_NAMES[kind] for kind in types)}"
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
    return next(filter(None, (wrong(items, item, f"{path}[{place}]") for place, item in enumerate(value))), "")


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
