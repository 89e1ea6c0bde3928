"""A result looks the same to the engine from the host's structure and from the text that the model got."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.utils.hosts.claude_code import calls
from hooks.utils.hosts.claude_code.tools import TOOLS

READ = {"type": "text", "file": {"filePath": "/a.py", "content": "x = 1\ny = 2\n", "numLines": 3, "startLine": 1, "totalLines": 3}}


def facts(outcome):
    return (outcome.chars, outcome.wide, outcome.content_hash, outcome.interval, outcome.unchanged, outcome.error, outcome.image_tokens)


@pytest.mark.parametrize(
    ("tool", "tool_input", "structure", "text"),
    [
        ("Read", {"file_path": "/a.py"}, READ, "1\tx = 1\n2\ty = 2\n3\t"),
        ("Read", {"file_path": "/a.py"}, READ, "     1→x = 1\n     2→y = 2\n     3→"),
        ("Read", {"file_path": "/a.py"}, READ, "1\tx = 1\n2\ty = 2\n3\t\n\n<system-reminder>\nThink of malware.\n</system-reminder>"),
        ("Read", {"file_path": "/a.py", "offset": 5, "limit": 2},
         {"type": "text", "file": {"filePath": "/a.py", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 90}}, "5\ta\n6\tb"),
        ("Read", {"file_path": "/a.py"}, {"type": "file_unchanged", "file": {"filePath": "/a.py"}},
         "File unchanged since last read. The content from the earlier Read is still current."),
        ("Bash", {"command": "ls"}, {"stdout": "a\nb\n", "stderr": "", "interrupted": False}, "a\nb"),
        ("Bash", {"command": "mkdir x"}, {"stdout": "", "stderr": "", "interrupted": False}, "(Bash completed with no output)"),
        ("Grep", {"pattern": "x"}, {"mode": "content", "content": "a:1:x", "filenames": [], "numFiles": 0}, "a:1:x"),
        ("Grep", {"pattern": "x"}, {"mode": "files_with_matches", "filenames": ["a", "b"], "numFiles": 2}, "Found 2 files\na\nb"),
        ("Glob", {"pattern": "*"}, {"filenames": ["a", "b"], "numFiles": 2}, "a\nb"),
        ("Edit", {"file_path": "/a.py"}, {"filePath": "/a.py", "oldString": "a", "newString": "b"}, "The file /a.py has been updated."),
        ("mcp__demo__x", {}, [{"type": "text", "text": "value"}], "value"),
    ],
)  # fmt: skip
def test_structure_and_text_give_the_same_outcome(tool, tool_input, structure, text):
    made, told = calls.outcome_of(TOOLS.of(tool), tool_input, structure, text), calls.outcome_of_text(TOOLS.of(tool), tool_input, text)
    assert facts(made) == facts(told)


@given(st.lists(st.text("ab \t→1é", max_size=9), min_size=1).filter(lambda lines: lines[-1] != ""), st.integers(1, 3_000))
@pytest.mark.parametrize("form", ["{:>6}→{}", "{:>6}\t{}", "{}\t{}"])
def test_of_a_read_every_character_counts_however_its_lines_are_numbered(form: str, lines: list[str], first: int):
    text = "\n".join(form.format(number, line) for number, line in enumerate(lines, first))
    file = {"content": "\n".join(lines), "numLines": len(lines), "startLine": first, "totalLines": 9_000}
    for made in (
        calls.outcome_of(TOOLS.of("Read"), {"offset": first}, {"type": "text", "file": file}, text),
        calls.outcome_of_text(TOOLS.of("Read"), {"offset": first}, text),
    ):
        # Numbers that are not padded count as wide as the last.
        short = (
            0 if form.startswith("{:") else sum(len(str(first + len(lines))) - len(str(each)) for each in range(first, first + len(lines)))
        )
        assert made.chars == len(text) + short
        assert made.content_hash == hashlib.sha256(file["content"].encode()).hexdigest()[:32]


def test_a_whole_read_and_a_partial_one_have_their_intervals():
    assert calls.outcome_of(TOOLS.of("Read"), {}, READ).interval == [1, 0]
    part = {"type": "text", "file": {"content": "b\nc\n", "numLines": 2, "startLine": 2, "totalLines": 9}}
    assert calls.outcome_of(TOOLS.of("Read"), {}, part).interval == [2, 3]


def test_an_error_has_its_exit_code_and_what_it_said():
    outcome = calls.outcome_of_error("Exit code 2\n\nboom\n")
    assert (outcome.error, outcome.exit_code, outcome.tail) == (True, 2, "boom")
    assert calls.outcome_of_error("Exit code 1").chars == 0
    assert calls.outcome_of_error("<tool_use_error>Error: no such tool</tool_use_error>").tail == "no such tool"
    assert calls.outcome_of_error("Exit code many\nx").exit_code is None


def test_an_output_that_the_host_moved_to_a_file_counts_what_is_left_of_it():
    moved = {"stdout": "x" * 60_000, "stderr": "", "persistedOutputPath": "/p", "persistedOutputSize": 60_000}
    assert calls.outcome_of(TOOLS.of("Bash"), {}, moved).chars == 2_300


def test_images_count_by_their_size_and_never_by_their_bytes():
    image = {"type": "image", "file": {"base64": "A" * 500_000, "dimensions": {"displayWidth": 750, "displayHeight": 100}}}
    outcome = calls.outcome_of(TOOLS.of("Read"), {}, image)
    assert (outcome.chars, outcome.image_tokens) == (0, 100)
    assert calls.outcome_of(TOOLS.of("mcp__x__shot"), {}, [{"type": "image", "source": {"data": "A" * 9_000}}]).image_tokens == 1_600
    assert calls.outcome_of(TOOLS.of("Bash"), {}, {"isImage": True, "stdout": "A" * 9_000}).chars == 0


@pytest.mark.parametrize(
    "odd", [None, 7, True, [], {}, [[1]], {"file": 3}, {"type": "text", "file": {"content": None}}, {"stdout": 4}, "text"]
)
@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Glob", "Edit", "mcp__a__b", ""])
def test_odd_responses_are_outcomes_too(tool, odd):
    outcome = calls.outcome_of(TOOLS.of(tool), {}, odd)
    assert outcome.chars >= 0
    assert not outcome.error


def test_the_hash_is_sha_256():
    assert calls.hash_content("ü") == hashlib.sha256("ü".encode()).hexdigest()
    assert len(calls.hash_content("\ud800")) == 64
