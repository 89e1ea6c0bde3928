"""The JSON Schema for editors and the documentation are those of the table."""

import json
import pathlib
import re

import pytest

from popkit_retention.cli.config_problems import check_document
from popkit_retention.core.config.fields import FIELDS, USER_ONLY
from popkit_retention.core.config.schema import json_schema
from popkit_retention.core.policy.ruleset import EVENT_ALIASES, EVENTS, PROFILES, TIERS

ROOT = pathlib.Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "retention-config.schema.json"
DOCUMENTATION = (ROOT / "docs" / "configuration.md").read_text()


def test_the_shipped_file_names_the_schema():
    shipped = json.loads((ROOT / "retention-config.json").read_text())
    assert (ROOT / shipped["$schema"]).resolve() == COMMITTED


def test_every_key_of_the_schema_is_described_for_the_editor():
    for name, definition in json_schema()["$defs"].items():
        for key, member in definition["properties"].items():
            assert member.get("description"), f"{name}.{key}"


def schema_errors(document):
    jsonschema = pytest.importorskip("jsonschema")
    return list(jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text())).iter_errors(document))


@pytest.mark.parametrize("name", ["retention-config.json", "power-mode/config.json"])
def test_an_editor_finds_nothing_wrong_with_the_shipped_content(name):
    document = json.loads((ROOT / name).read_text())
    assert schema_errors(document["retention"]) == []
    assert schema_errors({"retention": document["retention"]}) == []


@pytest.mark.parametrize(
    "document",
    [
        {"enabled": "yes"},
        {"retention": {"enabled": "yes"}},
        {"retention": {"tiers": {"shrot": {}}}},
        {"tiers": {"short": {"ttl_tools": 0}}},
        {"tiers": {"preserved": {"ttl_tools": 1}}},
        {"tool_overrides": {"Read": {"patterns": {"*.md": "shrot"}}}},
        {"tool_overrides": {"": "short"}},
        {"thresholds": {"notice": 60}},
        {"pins": [""]},
        {"grace_calls": {"read": -1}},
        {"compaction": {"advise": "no"}},
    ],
)
def test_an_editor_finds_what_is_wrong(document):
    assert schema_errors(document)


KEYS = sorted({key for definition in json_schema()["$defs"].values() for key in definition["properties"]})
WORDS = [*TIERS, *EVENTS, *EVENT_ALIASES, *PROFILES, *USER_ONLY]


def test_the_documentation_explains_every_key_and_every_word():
    """An object is explained by its fields, whose names begin with its own."""
    explained = {word for name in re.findall(r"`([^`\s]+)`", DOCUMENTATION) for word in (name, *name.split("."))}
    assert {*KEYS, *FIELDS, *WORDS} - explained == set()


def test_every_example_of_the_documentation_is_valid():
    examples = re.findall(r"```json\n(.*?)```", DOCUMENTATION, re.DOTALL)
    assert examples
    for example in examples:
        assert check_document(json.loads(example), "file", "user") == []


def test_what_the_shipped_file_says_is_what_holds_without_it():
    """Two exceptions, which stand nowhere else: the patterns of Read, and the models."""
    shipped = json.loads((ROOT / "retention-config.json").read_text())["retention"]
    assert {key for key, value in shipped.items() if value != FIELDS[key]["default"]} == {"tool_overrides", "models"}
    assert set(FIELDS) - set(shipped) == {"tiers"}
