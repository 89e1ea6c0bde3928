"""The tools as they are listed, what all of them hold to, and that arguments are checked as JSON Schema says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.mcp.revisions import HANDSHAKES, STATELESS, dialect
from popkit_retention.mcp.schema_check import wrong
from popkit_retention.mcp.tool_service import INSTRUCTIONS, table
from tests import budgets
from tests.mcp.homes import DIALECT, Place, silent
from tests.mcp.test_server import JSON

GOLDENS = Path(__file__).parent / "goldens"
# What a model reads with every prompt where its client hides no tools: characters of names, descriptions and input schemas.
MOST_CHARACTERS = 5_500


@pytest.mark.parametrize("version", [*HANDSHAKES, *STATELESS])
def test_the_list_of_tools_is_what_people_agreed_on(version: str, place: Place, golden) -> None:
    listed = place.tools.listed(dialect(version))
    name = {"2024-11-05": "tools-2024", "2025-03-26": "tools-2025-03"}.get(version, "tools")
    golden(GOLDENS / f"{name}.json", json.dumps(listed, indent=1) + "\n")


def test_the_list_costs_little_of_a_context(place: Place) -> None:
    place.allow_all_projects()
    read = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in place.tools.listed(DIALECT)]
    sizes = {tool["name"]: len(json.dumps(tool, separators=(",", ":"))) for tool in read}
    sizes |= {"the list around them": len(read) + 1, "INSTRUCTIONS": len(INSTRUCTIONS)}
    budgets.assert_within(MOST_CHARACTERS, sizes, "words of a description that its schema says, and what seldom helps a model to choose")


def test_hints_say_what_a_tool_does() -> None:
    changing = {name for name, tool in table().items() if tool.effect != "reads"}
    assert changing == {"memory_add", "memory_forget", "retention_configure", "retention_archive"}
    assert {name for name, tool in table().items() if tool.effect == "destroys"} == {"memory_forget", "retention_configure"}


@pytest.mark.parametrize("name", table())
def test_arguments_that_are_unknown_are_refused_by_name(name: str, place: Place) -> None:
    arguments = {"domain": "rag", "config": {}, "query": "a", "text": "a", "ids": ["a"], "handle": "a"}
    needed = {key: arguments[key] for key in table()[name].takes.get("required", ())}
    assert 'arguments has no "nonsense". Known: ' in place.mistake(name, **needed, nonsense=1)


@pytest.mark.parametrize("name", [name for name, tool in table().items() if tool.wide])
def test_other_projects_are_the_users_to_allow(name: str, place: Place) -> None:
    arguments = {"domain": "rag", "query": "a", "handle": "abcd2345"}
    needed = {key: arguments[key] for key in table()[name].takes.get("required", ())}
    mistake = place.mistake(name, **needed, project="all")
    assert mistake.startswith("arguments.project: the user has not allowed other projects")
    listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in place.tools.listed(DIALECT)}
    assert "project" not in listed[name]
    place.allow_all_projects()
    listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in place.tools.listed(DIALECT)}
    assert listed[name]["project"]["enum"] == ["here", "all"]


def test_a_project_file_allows_nothing(place: Place) -> None:
    (place.shop / ".claude").mkdir()
    (place.shop / ".claude" / "retention-config.json").write_text('{"retention": {"mcp": {"all_projects": true}}}')
    assert "has not allowed" in place.mistake("memory_search", query="a", project="all")


def test_a_fault_of_ours_is_logged_and_reported_without_its_details(place: Place) -> None:
    (place.home / "archive.sqlite").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4_000)
    mistake = place.mistake("context_restore", handle="abcd2345")
    assert "Traceback" not in mistake
    assert "archive" in mistake


def test_older_revisions_get_no_structured_content(place: Place) -> None:
    answer = place.tools.call("memory_status", {}, dialect("2025-03-26"), silent)
    assert set(answer) == {"content"}


def conforms(name: str, answer: dict) -> None:
    jsonschema.validate(answer, table()[name].gives)


# --- schemas -----------------------------------------------------------------------------------------------------------------------------


KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
    "items", "enum", "description",
}  # fmt: skip
SCHEMAS = [schema for tool in table().values() for schema in (tool.takes, tool.gives)]


def every_schema(schema: dict) -> list[dict]:
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [schema, *(found for subschema in inner for found in every_schema(subschema))]


@pytest.mark.parametrize("tool", table().values(), ids=lambda tool: tool.name)
def test_the_schemas_of_a_tool_are_valid_closed_and_made_of_what_is_checked(tool) -> None:
    for schema in (tool.takes, tool.gives):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert all(set(subschema) <= KEYWORDS for subschema in every_schema(schema))
    assert all(subschema["additionalProperties"] is False for subschema in every_schema(tool.takes) if "properties" in subschema)


def almost(schema: dict) -> st.SearchStrategy:
    """Values that fit a schema, or nearly."""
    kinds = schema.get("type", "any")
    values = [_MAKERS[kind](schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return st.one_of(*values, *values, JSON)


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


MISTAKES = [
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


@pytest.mark.parametrize(("name", "arguments", "expected"), MISTAKES)
def test_a_mistake_is_reported_with_its_place_and_what_is_right(name: str, arguments: dict, expected: str) -> None:
    assert wrong(table()[name].takes, arguments) == expected
