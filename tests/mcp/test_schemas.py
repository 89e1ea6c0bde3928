"""What tools take is checked as JSON Schema says, and told in words."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.mcp.schemas import wrong
from popkit_retention.mcp.service import TABLE

from .test_protocol import JSON

KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
    "items", "enum", "description",
}  # fmt: skip
SCHEMAS = [schema for tool in TABLE.values() for schema in (tool.takes, tool.gives)]


def every_schema(schema: dict) -> list[dict]:
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [schema, *(found for each in inner for found in every_schema(each))]


@pytest.mark.parametrize("tool", TABLE.values(), ids=lambda tool: tool.name)
def test_the_schemas_of_a_tool_are_valid_closed_and_made_of_what_is_checked(tool) -> None:
    for schema in (tool.takes, tool.gives):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert all(set(each) <= KEYWORDS for each in every_schema(schema))
    assert all(each["additionalProperties"] is False for each in every_schema(tool.takes) if "properties" in each)


def almost(schema: dict) -> st.SearchStrategy:
    """Values that fit a schema, or nearly."""
    kinds = schema.get("type", "any")
    made = [_MAKERS[kind](schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return st.one_of(*made, *made, JSON)


def _object(schema: dict) -> st.SearchStrategy:
    return st.fixed_dictionaries(
        {}, optional={**{key: almost(each) for key, each in schema.get("properties", {}).items()}, "other": st.integers()}
    )


_MAKERS = {
    "any": lambda schema: JSON,
    "null": lambda schema: st.none(),
    "boolean": lambda schema: st.booleans(),
    "string": lambda schema: st.sampled_from(schema["enum"]) if "enum" in schema else st.text(max_size=12),
    "integer": lambda schema: st.integers(-3, 200) | st.sampled_from([5.0, 5.5, 1e300]),
    "number": lambda schema: st.integers(-3, 200) | st.floats(allow_nan=False, allow_infinity=False),
    "array": lambda schema: st.lists(almost(schema.get("items", {})), max_size=3),
    "object": _object,
}


@given(st.sampled_from(SCHEMAS).flatmap(lambda schema: st.tuples(st.just(schema), almost(schema))))
def test_what_is_wrong_is_what_json_schema_says_is_wrong(drawn: tuple) -> None:
    schema, value = drawn
    assert (wrong(schema, value) == "") == jsonschema.Draft202012Validator(schema).is_valid(value)


SAID = [
    ("retention_get", {}, "arguments.domain is missing"),
    ("retention_get", {"domain": "both"}, "arguments.domain must be one of memory, rag"),
    ("retention_get", {"domain": 1}, "arguments.domain must be a text"),
    ("retention_get", {"domain": "rag", "x": 1}, 'arguments has no "x". Known: domain'),
    ("retention_configure", {"domain": "rag", "config": {"vacuum": 1}}, "arguments.config.vacuum must be true or false"),
    ("retention_configure", {"domain": "rag", "config": {"source_types": [1]}}, "arguments.config.source_types[0] must be a text"),
    ("memory_search", {"query": ""}, "arguments.query must not be empty"),
    ("memory_search", {"query": "a" * 1_001}, "arguments.query must have at most 1,000 characters"),
    ("memory_search", {"query": "a", "most": 0}, "arguments.most must be from 1 to 100"),
    ("memory_search", {"query": "a", "most": True}, "arguments.most must be a whole number"),
    ("memory_forget", {"ids": []}, "arguments.ids must not be empty"),
    ("context_restore", {"handle": "a", "offset": -1}, "arguments.offset must be at least 0"),
    ("context_status", {"x": 1}, 'arguments has no "x". Known: nothing'),
]


@pytest.mark.parametrize(("name", "arguments", "said"), SAID)
def test_a_mistake_is_told_with_its_place_and_what_is_right(name: str, arguments: dict, said: str) -> None:
    assert wrong(TABLE[name].takes, arguments) == said
