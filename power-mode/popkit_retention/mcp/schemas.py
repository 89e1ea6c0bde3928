"""Make JSON Schemas of tools in few words, and check values against them as far as they are used here. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rpc import shown

if TYPE_CHECKING:
    from hooks.utils.argument_types import Type
    from hooks.utils.flag_parser import Operation

Schema = dict[str, Any]


def obj(properties: dict[str, Schema], required: tuple[str, ...] = (), about: str = "") -> Schema:
    """Return an object of these properties and no others."""
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        made["required"] = list(required)
    return _described(made, about)


def open_obj(about: str = "") -> Schema:
    """Return an object of any properties."""
    return _described({"type": "object"}, about)


def text(about: str = "", longest: int | None = None, shortest: int = 0) -> Schema:
    made: Schema = {"type": "string"}
    if shortest:
        made["minLength"] = shortest
    if longest is not None:
        made["maxLength"] = longest
    return _described(made, about)


def words(*known: str, about: str = "") -> Schema:
    """Return one of these texts."""
    return _described({"type": "string", "enum": list(known)}, about)


def whole(low: int | None = None, high: int | None = None, about: str = "") -> Schema:
    return _bounded("integer", low, high, about)


def number(low: float | None = None, high: float | None = None, about: str = "") -> Schema:
    return _bounded("number", low, high, about)


def flag(about: str = "") -> Schema:
    return _described({"type": "boolean"}, about)


def several(of: Schema, most: int | None = None, about: str = "", fewest: int = 0) -> Schema:
    """Return a list."""
    made: Schema = {"type": "array", "items": of}
    if fewest:
        made["minItems"] = fewest
    if most is not None:
        made["maxItems"] = most
    return _described(made, about)


def anything(about: str = "") -> Schema:
    return _described({}, about)


def takes(operation: Operation, *needed: str, **more: Schema) -> Schema:
    """Return the schema of what an agent gives to an operation of the command line: its argument and flags as far as they are for agents,
    and `more`. The argument is required, and the flags that are `needed`."""
    argument = [operation.agent] if operation.agent else []
    flags = [flag.agent for flag in operation.flags if flag.agent]
    return obj({**{name: of(type) for name, type in (*argument, *flags)}, **more}, (*(name for name, _ in argument), *needed))


def of(type: Type) -> Schema:
    """Return a value of a type of the command line."""
    if type.kind == "choice":
        return words(*type.known, about=type.about)
    if type.kind == "list" and type.of:
        return several(of(type.of), type.high, type.about, type.low)
    if type.kind == "switch":
        return flag(type.about)
    return whole(type.low, type.high, type.about) if type.kind == "whole" else text(type.about, type.high, type.low)


def or_null(of: Schema) -> Schema:
    """Return the same, or null."""
    return {**of, "type": [of["type"], "null"]}


def _bounded(type: str, low: float | None, high: float | None, about: str) -> Schema:
    made: Schema = {"type": type}
    if low is not None:
        made["minimum"] = low
    if high is not None:
        made["maximum"] = high
    return _described(made, about)


def _described(made: Schema, about: str) -> Schema:
    return {**made, "description": about} if about else made


# --- checking ---------------------------------------------------------------------------------------------------------------------------


def wrong(schema: Schema, value: object, path: str = "arguments") -> str:
    """Return what is wrong with a value: where, and what is right; "" for nothing."""
    known = schema.get("type")
    types = known if isinstance(known, list) else [known] if known else []
    if types and not any(_is(value, each) for each in types):
        return f"{path} must be {' or '.join(_SAID[each] for each in types)}"
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
_SAID = {
    "object": "an object", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
