"""What only a host's folder knows: the names of its tools, and the fields of its transcripts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hooks.utils.hosts import protocol

ROOT = Path(__file__).parents[2]
HOSTS = ROOT / "hooks" / "utils" / "hosts"
# The fields by which a line of a transcript says where it belongs and what it is.
FIELDS = {
    "parentUuid", "logicalParentUuid", "isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "compactMetadata",
    "preservedMessages", "compact_boundary", "toolUseResult", "promptId",
}  # fmt: skip
# Modules that name tools, and why they may.
NAMING = {
    "hooks/utils/retention_tracker.py": "the specification's example of a session, call by call",
}
# Keys of stored state that are also the name of a tool.
KEYS = {("hooks/utils/policy/classify.py", "Read:")}


def texts() -> list[tuple[str, int, str]]:
    """(module, line, text) of every text in the code outside of the hosts' folders, docstrings and all."""
    found = []
    for folder in ("hooks", "power-mode"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if HOSTS not in path.parents:
                nodes = ast.walk(ast.parse(path.read_text()))
                name = path.relative_to(ROOT).as_posix()
                found += [
                    (name, node.lineno, node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
                ]
    return found


@pytest.fixture(scope="module")
def outside() -> list[tuple[str, int, str]]:
    return texts()


@pytest.mark.parametrize("host", protocol.ALL, ids=lambda host: host.NAME)
def test_no_tool_is_known_by_its_name_outside_of_its_host(host: protocol.Host, outside: list[tuple[str, int, str]]) -> None:
    words = {"read", "edit", "write", "list", "grep", "glob", "bash", "task", "patch", "question", "skill"}  # and much else besides
    named = [(*where, text) for *where, text in outside if text.strip(" :(") in host.TOOLS and text.strip(" :(") not in words]
    assert [each for each in named if each[0] not in NAMING and (each[0], each[2]) not in KEYS] == []


def test_what_may_name_tools_does(outside: list[tuple[str, int, str]]) -> None:
    naming = {module for module, _, text in outside if text in protocol.of("").TOOLS}
    assert naming == set(NAMING), "a module that names none any more leaves the list"


def test_no_line_of_a_transcript_is_read_outside_of_its_host(outside: list[tuple[str, int, str]]) -> None:
    assert [each for each in outside if each[2] in FIELDS] == []
