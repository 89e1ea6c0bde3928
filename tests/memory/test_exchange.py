"""Items out as JSON lines, and in again: whole, or not at all."""

from __future__ import annotations

import hashlib
import json

import pytest

from popkit_retention.memory.items import HOT, SUMMARY, BadItem
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.protocol import DuplicateId

from .remembering import NOW, Remembering


@pytest.fixture
def filled(remembering: Remembering) -> Remembering:
    remembering.keep("a", tier=HOT, access_count=2, accesses=[NOW - 5, NOW], details={"fix": "npm ci"}, text='quotes " and\nlines \u2028 é')
    remembering.keep("b", level=SUMMARY, text="short")
    remembering.store.keep_original("b", "the whole story")
    return remembering


def test_what_goes_out_comes_in_the_same(filled: Remembering):
    lines = list(filled.memory.export())
    other = Remembering(InMemoryStore())
    assert other.memory.import_lines(lines) == 2
    assert list(other.store.scan()) == list(filled.store.scan())
    assert other.store.original("b") == "the whole story"
    assert list(other.memory.export())[1:-1] == lines[1:-1]


def test_what_several_projects_have_learnt_goes_into_none_of_them_alone(filled: Remembering):
    filled.keep("c", project="/another", text="what another project needs")
    lines = list(filled.memory.export(everything=True))
    other = Remembering(InMemoryStore())
    with pytest.raises(BadItem, match="of 2 projects"):
        other.memory.import_lines(lines, here=True)
    assert list(other.store.scan()) == []
    assert other.memory.import_lines(lines) == 3


def test_what_is_there_already_stops_it_unless_only_the_missing_are_wanted(filled: Remembering):
    lines = list(filled.memory.export())
    filled.store.remove(["b"])
    with pytest.raises(DuplicateId):
        filled.memory.import_lines(lines)
    assert filled.store.get(["b"]) == []
    assert filled.memory.import_lines(lines, missing=True) == 1
    assert filled.item("b").level == SUMMARY


def altered(lines: list[str], number: int, **fields: object) -> list[str]:
    """One line with other fields, and an end that fits."""
    lines = list(lines[:-1])
    lines[number] = json.dumps({**json.loads(lines[number]), **fields}) + "\n"
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return [*lines, json.dumps({"end": True, "items": len(lines) - 1, "sha256": digest}) + "\n"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": ""}, "line 3: 'b': its text is empty"),
        ({"score": float("nan")}, "line 3: 'b': score is nan"),
        ({"created_at": NOW + 1e6}, "line 3: 'b': a time is in the future"),
        ({"embedding": [1.0] * 383}, "line 3: 'b': an embedding has 384"),
        ({"full_text": 5}, "line 3: 'b': it is compressed"),
        ({"full_text": "a\0b"}, "line 3: 'b': text is binary"),
        ({"surprise": 1}, "line 3: unknown field 'surprise'"),
        ({"tier": 3}, "line 3: 'b': tier is not a text"),
        ({"previous_tier": "\x1b[31m" * 9_000}, "line 3: 'b': previous_tier is"),
        ({"marked_by": "\ud800"}, "line 3: 'b': marked_by is"),
        ({"created_at": 10**400}, "line 3: 'b': a time is in the future"),
        ({"confidence": 10**400}, "line 3: 'b': confidence is 10+, not a number"),
        ({"embedding": [10**400] * 384}, "line 3: 'b': an embedding holds finite numbers alone"),
        ({"details": {"fix": "\ud800"}}, "line 3: 'b': details is not valid Unicode"),
    ],
)
def test_one_bad_item_and_nothing_is_imported(filled: Remembering, fields: dict, message: str):
    lines = altered(list(filled.memory.export()), 2, **fields)
    other = Remembering(InMemoryStore())
    with pytest.raises(BadItem, match=message):
        other.memory.import_lines(lines)
    assert list(other.store.scan()) == []


def test_secrets_in_what_is_imported_are_masked(filled: Remembering):
    token = "ghp_" + "a1B2c3D4" * 5
    other = Remembering(InMemoryStore())
    other.memory.import_lines(altered(list(filled.memory.export()), 2, text="use " + token, full_text="use " + token + " to push"))
    assert token not in other.item("b").text
    assert token not in str(other.store.original("b"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "the export is empty"),
        (lambda lines: lines[:-1], "cut short or changed"),
        (lambda lines: [lines[0], *lines[2:]], "cut short or changed"),
        (lambda lines: lines[1:], "line 1: is not the first line"),
        (lambda lines: ["{", *lines[1:]], "line 1: is not JSON"),
        (lambda lines: [lines[0], "[1]\n", *lines[1:]], "line 2: is not a JSON object"),
        (lambda lines: [*lines, lines[1]], "line 5: there is more text after the end"),
        (lambda lines: [lines[0], lines[1].replace("quotes", "quoted"), *lines[2:]], "cut short or changed"),
        (lambda lines: ["[" * 100_000, *lines], "line 1: is not JSON"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused(filled: Remembering, change, message: str):
    other = Remembering(InMemoryStore())
    with pytest.raises(BadItem, match=message):
        other.memory.import_lines(change(list(filled.memory.export())))
    assert list(other.store.scan()) == []
