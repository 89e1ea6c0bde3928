"""The JSON Schema of the table of `fields`."""

from __future__ import annotations

from .fields import DOCUMENT, MOST_ENTRIES, PROJECT_WORDS, RETENTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .field_kinds import Field


def json_schema() -> dict[str, object]:
    """Return the JSON Schema of both forms of a file, the settings in a `retention` object or alone: what editors use, and
    `popkit config schema` prints. It cannot say all that the reader knows: that thresholds rise, and what a project's file may not hold."""
    definitions: dict[str, object] = {}
    wrapped, bare = (_schema(field, definitions) for field in (DOCUMENT, RETENTION))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PopKit retention configuration",
        "type": "object",
        "if": {"required": ["retention"]},
        "then": wrapped,
        "else": bare,
        "$defs": dict(sorted(definitions.items())),
    }


def _schema(field: Field, definitions: dict[str, object]) -> dict[str, object]:
    schema = _MAKERS[field["kind"]](field, definitions)
    if "null" in field:
        schema = {"anyOf": [*(schema.get("anyOf") or [schema]), {"type": "null"}]}
    about = " ".join(filter(None, (field.get("about"), PROJECT_WORDS[field["project"]] if "project" in field else "")))
    return {**schema, "description": about} if about and "description" not in schema else schema


def _record_schema(field: Field, definitions: dict[str, Any]) -> dict[str, object]:
    name = field["name"]
    if name not in definitions:
        definitions[name] = {"title": name, "type": "object", "additionalProperties": False}
        definitions[name]["properties"] = {key: _schema(member, definitions) for key, member in field["fields"].items()}
    return {"$ref": "#/$defs/" + name}


def _text_schema(field: Field, definitions: dict[str, object]) -> dict[str, object]:
    return {"type": "string", **({"minLength": field["shortest"]} if field["shortest"] else {}), "maxLength": field["longest"]}


def _address_schema(field: Field, _definitions: dict[str, object]) -> dict[str, object]:
    return {"type": "string", "pattern": f"^$|^({'|'.join(field['schemes'])})://[^\\s@?#/][^\\s@?#]*$", "maxLength": field["longest"]}


def _map_schema(field: Field, definitions: dict[str, object]) -> dict[str, object]:
    lengths = {"minLength": field["key"]["shortest"], "maxLength": field["key"]["longest"]}
    entries = _schema(field["of"], definitions)
    return {"type": "object", "maxProperties": MOST_ENTRIES, "propertyNames": lengths, "additionalProperties": entries}


_MAKERS = {
    "flag": lambda field, _: {"type": "boolean"},
    "whole": lambda field, _: {"type": "integer", "minimum": field["low"], "maximum": field["high"]},
    "number": lambda field, _: {"type": "number", "minimum": field["low"], "maximum": field["high"]},
    "text": _text_schema,
    "address": _address_schema,
    "word": lambda field, _: {"type": "string", "enum": list(field["words"])},
    "null": lambda field, _: {"type": "null"},
    "either": lambda field, definitions: {"anyOf": [_schema(kind, definitions) for kind in field["of"]]},
    "list": lambda field, definitions: {"type": "array", "maxItems": MOST_ENTRIES, "items": _schema(field["of"], definitions)},
    "map": _map_schema,
    "record": _record_schema,
}
