"""Where each statement of the specification is held and tested, as docs/design/governance.md has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ROOT / "power-mode/popkit_retention"
ARCHIVE = ROOT / "hooks/utils/archive"
TEXT = (ROOT / "docs" / "design" / "governance.md").read_text(encoding="utf-8")
# Of the archive's modules and the command line's, those that are there for governance.
OURS = ("chains.py", "deletion.py", "recovery.py", "index.py", "searching.py")
MAPPED = [
    *(SERVICES / "governance").rglob("*.py"),
    *(SERVICES / "mcp").rglob("*.py"),
    *(SERVICES / "cli").glob("retention_*.py"),
    *(SERVICES / "cli").glob("mcp_*.py"),
    *(SERVICES / "cli").glob("archive_command.py"),
    *(ARCHIVE / name for name in OURS),
    ROOT / "hooks/utils/io/durable.py",
]
ROWS = [
    line.strip("| ").split(" | ") for line in TEXT.partition("# The specification, statement by statement")[2].splitlines() if "::" in line
]


def test_the_table_has_all_invariants_and_tools_of_the_specification():
    statements = " ".join(row[0] for row in ROWS)
    assert all(f"INV-RET-{number}:" in statements for number in range(1, 9))
    assert all(f"retention_{tool}" in statements for tool in ("configure", "get", "apply", "archive", "policies"))
    assert len(ROWS) > 50


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(1, len(ROWS) + 1)])
def test_each_statement_is_held_and_tested_where_the_table_says(row: list[str]):
    statement, where, test = row
    assert statement
    held = re.findall(r"`([^`]+)`", where)
    modules = [path for path in MAPPED if path.as_posix().endswith(f"/{held[0]}")]
    assert len(modules) == 1, held[0]
    source = modules[0].read_text(encoding="utf-8")
    assert all(re.search(rf"^(?:def|class) {name}\b|^{name}\b.* = ", source, re.MULTILINE) for name in held[1:]), where
    (named,) = re.findall(r"`([^`]+)`", test)
    file, _, function = named.partition("::")
    path = ROOT / file if "/" in file else ROOT / "tests/governance" / file
    assert f"\ndef {function}(" in path.read_text(encoding="utf-8"), named
