"""The tools as they are listed, and what all of them hold to."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from popkit_retention.mcp import protocol
from popkit_retention.mcp.service import INSTRUCTIONS, TABLE

from .homes import DIALECT, Place, silent

GOLDENS = Path(__file__).parent / "goldens"
NAMES = (
    "context_search context_restore context_status memory_search memory_add memory_forget memory_status retention_get retention_configure "
    "retention_apply retention_archive retention_policies"
)
# What a model reads with every prompt where its client hides no tools: characters of names, descriptions and input schemas.
MOST_CHARACTERS = 5_500


@pytest.mark.parametrize("version", [*protocol.HANDSHAKES, *protocol.STATELESS])
def test_the_list_of_tools_is_what_people_agreed_on(version: str, place: Place, golden) -> None:
    listed = place.tools.listed(protocol.dialect(version))
    name = {"2024-11-05": "tools-2024", "2025-03-26": "tools-2025-03"}.get(version, "tools")
    golden(GOLDENS / f"{name}.json", json.dumps(listed, indent=1) + "\n")


def test_there_are_the_tools_that_were_asked_for(place: Place) -> None:
    assert " ".join(tool["name"] for tool in place.tools.listed(DIALECT)) == NAMES


def test_the_list_costs_little_of_a_context(place: Place) -> None:
    place.allow_all_projects()
    read = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in place.tools.listed(DIALECT)]
    assert len(json.dumps(read, separators=(",", ":"))) + len(INSTRUCTIONS) <= MOST_CHARACTERS


def test_hints_say_what_a_tool_does() -> None:
    changing = {name for name, tool in TABLE.items() if tool.effect != "reads"}
    assert changing == {"memory_add", "memory_forget", "retention_configure", "retention_archive"}
    assert {name for name, tool in TABLE.items() if tool.effect == "destroys"} == {"memory_forget", "retention_configure"}


@pytest.mark.parametrize("name", TABLE)
def test_arguments_that_are_unknown_are_refused_by_name(name: str, place: Place) -> None:
    arguments = {"domain": "rag", "config": {}, "query": "a", "text": "a", "ids": ["a"], "handle": "a"}
    needed = {key: arguments[key] for key in TABLE[name].takes.get("required", ())}
    assert 'arguments has no "nonsense". Known: ' in place.mistake(name, **needed, nonsense=1)


@pytest.mark.parametrize("name", [name for name, tool in TABLE.items() if tool.wide])
def test_other_projects_are_the_users_to_allow(name: str, place: Place) -> None:
    arguments = {"domain": "rag", "query": "a", "handle": "abcd2345"}
    needed = {key: arguments[key] for key in TABLE[name].takes.get("required", ())}
    said = place.mistake(name, **needed, project="all")
    assert said.startswith("arguments.project: the user has not allowed other projects")
    listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in place.tools.listed(DIALECT)}
    assert "project" not in listed[name]
    place.allow_all_projects()
    listed = {tool["name"]: tool["inputSchema"]["properties"] for tool in place.tools.listed(DIALECT)}
    assert listed[name]["project"]["enum"] == ["here", "all"]


def test_a_project_file_allows_nothing(place: Place) -> None:
    (place.shop / ".claude").mkdir()
    (place.shop / ".claude" / "retention-config.json").write_text('{"retention": {"mcp": {"all_projects": true}}}')
    assert "has not allowed" in place.mistake("memory_search", query="a", project="all")


def test_a_fault_of_ours_is_logged_and_told_without_its_inside(place: Place) -> None:
    (place.home / "archive.sqlite").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4_000)
    said = place.mistake("context_restore", handle="abcd2345")
    assert "Traceback" not in said
    assert "archive" in said


def test_older_revisions_get_no_structured_content(place: Place) -> None:
    found = place.tools.call("memory_status", {}, protocol.dialect("2025-03-26"), silent)
    assert set(found) == {"content"}


def conforms(name: str, found: dict) -> None:
    jsonschema.validate(found, TABLE[name].gives)
