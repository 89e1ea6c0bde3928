"""The JSON Schema of a configuration file, made of the table of `fields`: what editors use, and `popkit config schema` prints.

It cannot say all that the reader knows: that thresholds rise, and what a project's file may not hold.
"""

from __future__ import annotations

from hooks.utils.config.fields import DOCUMENT, MOST_ENTRIES, RETENTION


def json_schema() -> dict:
    """The schema of both forms of a file: the settings in a `retention` object, or alone."""
    definitions: dict = {}
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


def _schema(field: dict, definitions: dict) -> dict:
    made = _MAKERS[field["kind"]](field, definitions)
    if "null" in field:
        made = {"anyOf": [*(made.get("anyOf") or [made]), {"type": "null"}]}
    return {**made, "description": field["about"]} if field.get("about") and "description" not in made else made


def _record(field: dict, definitions: dict) -> dict:
    name = field["name"]
    if name not in definitions:
        definitions[name] = {"title": name, "type": "object", "additionalProperties": False}
        definitions[name]["properties"] = {key: _schema(member, definitions) for key, member in field["fields"].items()}
    return {"$ref": "#/$defs/" + name}


def _text(field: dict, definitions: dict) -> dict:
    return {"type": "string", **({"minLength": field["shortest"]} if field["shortest"] else {}), "maxLength": field["longest"]}


def _address(field: dict, _definitions: dict) -> dict:
    return {"type": "string", "pattern": f"^$|^({'|'.join(field['schemes'])})://[^\\s@?#/][^\\s@?#]*$", "maxLength": field["longest"]}


def _map(field: dict, definitions: dict) -> dict:
    lengths = {"minLength": field["key"]["shortest"], "maxLength": field["key"]["longest"]}
    entries = _schema(field["of"], definitions)
    return {"type": "object", "maxProperties": MOST_ENTRIES, "propertyNames": lengths, "additionalProperties": entries}


_MAKERS = {
    "flag": lambda field, _: {"type": "boolean"},
    "whole": lambda field, _: {"type": "integer", "minimum": field["low"], "maximum": field["high"]},
    "number": lambda field, _: {"type": "number", "minimum": field["low"], "maximum": field["high"]},
    "text": _text,
    "address": _address,
    "word": lambda field, _: {"type": "string", "enum": list(field["words"])},
    "null": lambda field, _: {"type": "null"},
    "either": lambda field, definitions: {"anyOf": [_schema(kind, definitions) for kind in field["of"]]},
    "list": lambda field, definitions: {"type": "array", "maxItems": MOST_ENTRIES, "items": _schema(field["of"], definitions)},
    "map": _map,
    "record": _record,
}
