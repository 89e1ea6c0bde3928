"""The records of memory: what they hold, and that they come back from their JSON as they were."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.state.memory_json import from_json, to_json
from popkit_retention.core.state.memory_records import COMMAND, NAME, NOTE, PATH, Entry, Fact, Verdict


def test_a_record_holds_what_it_was_made_of() -> None:
    fact, verdict = Fact("a.py", "x", "c0ffee", "b10b"), Verdict("gone", "b.py")
    assert (fact.file, fact.holds, fact.commit, fact.blob) == tuple(fact) == ("a.py", "x", "c0ffee", "b10b")
    assert tuple(Fact("a.py")) == ("a.py", "", "", "")
    assert (verdict.state, verdict.path) == ("gone", "b.py")
    entry = Entry(PATH, "a.py", "src", (fact,), ("i1",), 2.5, True)
    assert (entry.kind, entry.text, entry.home, entry.facts, entry.ids, entry.weight, entry.held, entry.changed) == (
        PATH, "a.py", "src", [fact], ["i1"], 2.5, True, False,
    )  # fmt: skip
    plain = Entry(NOTE, "so")
    assert (plain.home, plain.facts, plain.ids, plain.weight, plain.held) == ("", [], [], 0.0, False)


def test_an_entry_is_known_by_its_path_or_by_its_text() -> None:
    entries = (Entry(PATH, "a.py", "src"), Entry(PATH, "a.py"), Entry(NAME, "total", "src/a.py"))
    assert [entry.wording for entry in entries] == ["src/a.py", "a.py", "total"]
    assert [entry.path for entry in entries] == ["src/a.py", "a.py", "src/a.py/total"]


def test_entries_come_back_as_they_were() -> None:
    entries = [Entry(PATH, "a.py", "src", [Fact("src/a.py", "x", "c", "b"), Fact("y")]), Entry(COMMAND, "make", "build"), Entry(NOTE, "so")]
    entries[0].changed = True
    again = from_json(json.loads(json.dumps(to_json(entries))))
    assert [(one.kind, one.text, one.home, one.changed, one.facts) for one in again] == [
        (one.kind, one.text, one.home, one.changed, one.facts) for one in entries
    ]
    assert from_json([]) == []


GOOD = [PATH, "a.py", "src", False, [["a.py", "", "", ""]]]


@pytest.mark.parametrize(
    "value",
    [
        None, {}, "x", [7], [[]], [GOOD[:4]], [[*GOOD, 1]], [["other", *GOOD[1:]]], [[*GOOD[:4], 7]], [[*GOOD[:4], [7]]],
        [[*GOOD[:4], [["a", "", "", "", ""]]]], [[*GOOD[:4], [["a", "", "", 7]]]], [GOOD, None],
    ],
)  # fmt: skip
def test_what_no_version_has_written_is_refused(value: object) -> None:
    assert len(from_json([GOOD])) == 1
    with pytest.raises(ValueError, match="not as it was written"):
        from_json(value)
