"""What is on disk already, and what others know by its name: files, keys, words of the host."""

from __future__ import annotations

import pytest

from popkit_retention.core.io import home
from popkit_retention.core.io.storage import LOGS
from popkit_retention.core.state import (
    archived,
    closed,
    collection,
    context_editing,
    jobs,
    limit_readings,
    marked,
    memory,
    memory_alerts,
    memory_checkouts,
    memory_records,
    past,
    prompt_breakdowns,
    receipts,
    sockets,
    status_line,
    sweeping,
)

NAMES = {
    (memory, "FOLDER STORE DOCUMENT ENTRIES SETTINGS LOCK"): "memory memory.sqlite MEMORY.md entries.json settings.json learning.lock",
    (memory, "ENDED ASKED CHECKOUTS"): "ended- asked checkouts",
    (memory_alerts, "ALERTS"): "alerts.json",
    (memory_checkouts, "JOINED APART"): "joined apart",
    (memory_records, "PATH NAME COMMAND ERROR NOTE"): "path name command error note",
    (memory_records, "TEST LINT BUILD FORMAT RUN"): "test lint build format run",
    (memory_records, "SAME CHANGED RENAMED GONE CONTENT"): "same changed renamed gone dialogue",
    (closed, "NAME"): "closed.json",
    (collection, "POLICIES NOTE"): "retention-policies.json retention-hourly.json",
    (marked, "MARKED_FILE FORGOTTEN MEMORY RAG BY_TOOL BY_JOB"): "marked.json forgotten memory rag tool job",
    (limit_readings, "LIMITS_FILE"): "limits.json",
    (prompt_breakdowns, "BREAKDOWNS"): "standing",
    (past, "PAST"): "past.jsonl",
    (sockets, "FOLDER"): "run",
    (status_line, "FILE"): "status-line.json",
    (archived, "THINKING"): "thinking",
    (receipts, "CLEAR RESULT SHOWN REMINDERS"): "clear result shown reminders",
    (context_editing, "VARIABLE"): "CLAUDE_CODE_EXTRA_BODY",
    (jobs, "COLLECTION_HOOK"): "retention",
}


@pytest.mark.parametrize(("module", "names"), NAMES, ids=lambda each: each if isinstance(each, str) else each.__name__.rpartition(".")[2])
def test_what_was_written_under_a_name_is_found_under_it(module, names: str) -> None:
    assert [getattr(module, name) for name in names.split()] == NAMES[module, names].split()


def test_a_child_that_collects_is_started_with_these_words() -> None:
    assert jobs.COLLECT == ("retention", "gc", "--auto", "--quiet")
    assert (*marked.PARTS, *memory_records.PURPOSES) == ("forgotten", "memory", "rag", "test", "lint", "build", "format", "run")


# Which store has a file of ours: module, title of the store, folder, paths in it.
STORED = [
    (closed, LOGS, "", ["closed.json"], ["closedxjson"]),
    (limit_readings, LOGS, "", ["limits.json", "limit-weights.json"], ["limitsxjson", "weights.json"]),
    (status_line, LOGS, "", ["status-line.json"], ["status-linexjson"]),
    (sockets, LOGS, "run", ["11111111-123.sock"], ["a/b.sock", "11111111-123.txt"]),
    (sweeping, LOGS, "", ["past.jsonl", "swept"], ["pastxjsonl"]),
    (prompt_breakdowns, "contents of prompts", "standing", ["0af" + "1" * 29 + ".breakdown.json", "0" * 32 + ".hidden.json"],
     ["0" * 31 + ".hidden.json", "g" * 32 + ".hidden.json", "0" * 32 + ".other.json"]),
    (sweeping, "kept originals", "sessions", [f"s1/{home.ORIGINAL}", f"s1/{home.ORIGINAL}.1"], [home.ORIGINAL, f"a/b/{home.ORIGINAL}"]),
    (
        sweeping, "states of sessions", "sessions",
        ["s1/main.state.json", "s1/agent-1.journal.jsonl", f"s1/{home.SHOWN}1", "s1/session.json", "s1/noted.json", "s1/data-rules",
         "s1/clear.lock", "s1/warming.lock"],
        ["main.state.json", "s1/other", "s1/mine.json", "a/b/main.state.json"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("module", "title", "folder", "own", "others"), STORED)
def test_a_store_has_its_own_files_and_no_others(module, title: str, folder: str, own: list[str], others: list[str]) -> None:
    stores = [stored for stored in module.STORAGE if stored.title == title]
    below = f"{folder}/" if folder else ""
    for path in own:
        assert [stored.owns("", below + path) for stored in stores] == [True], path
    assert [path for path in others for stored in stores if stored.owns("", below + path)] == []


@pytest.mark.parametrize("name", [path.partition("/")[2] for *_, own, _ in STORED[6:] for path in own])
def test_a_sweep_knows_every_file_of_a_session_as_ours(name: str) -> None:
    assert name.startswith(sweeping._OURS)
