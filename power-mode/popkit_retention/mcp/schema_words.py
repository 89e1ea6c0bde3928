"""Shorthands for JSON Schemas. Pure."""

from __future__ import annotations

from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.argument_types import Type
    from popkit_retention.core.operation_tables import Operation


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


NOTHING = obj({})
