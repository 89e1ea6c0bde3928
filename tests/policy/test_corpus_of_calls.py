"""A corpus of tool calls, with what is kept of each: `goldens/calls.txt`.

Of each: kind, tier and why; its name; the parts that it shows, each with when that was really done where it is not certain; its subjects,
content, the key of what it did; whatever else it has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from popkit_retention.core.hosts import codex
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.calls import BACKGROUND, CUT, NEVER_RAN, STOPPED, TOLD, Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.ruleset import Ruleset

GOLDEN = Path(__file__).with_name("goldens") / "calls.txt"
CWD, PATH, SECRET = "/w", "/w/src/shop.py", "ghp_" + "a1B2" * 9
RULES, OF_CODEX = Ruleset.from_config({}, TOOLS), Ruleset.from_config({}, codex.TOOLS)
LONG = "word " * 40
SEEN = Outcome(100, content_hash="x")
CONFIGURED = Ruleset.from_config(
    {
        "tool_overrides": {
            "Read": {"patterns": {"*.md": "session"}, "default": "short"},
            "Bash": {"patterns": {"npm test": "short"}},
            "AskUserQuestion": "preserved",
        },
        "preserved_patterns": ["STATUS.json", "make *"],
    },
    TOOLS,
)
COMMANDS = [
    "cat src/shop.py", "cat src/shop.py | head -3", "cat src/shop.py; rg total src", "rg total src", "rg total src | head", "git diff",
    "git show HEAD", "cd a", "cd a && npm test", "git commit -m x", "git checkout main", "git checkout main && cat src/shop.py", "npm test",
    "mkdir x", "mkdir x; rm y", "# a note\nnpm test", "cd a\nnpm test", "export A=b\nnpm test", "set -e\nnpm test", "A=b\nnpm test",
    "A=b npm test\nls", "cd a && ls\nnpm test", "cd a; ls\nnpm test", "npm \\\ntest\nls", "\n\n", "# a\n# b", "cd a\nset -e",
    "  npm test  ",
    f"curl -H 'Authorization: Bearer {SECRET}' https://host.invalid", f"curl -H 'Authorization: Bearer {SECRET}' x | head -3", "",
    "npm test -- " + "a" * 90, "npm test -- " + "a" * 200, "cat a.md", "cat a.md b.py; cat c.json", "git log -3 -- a.py", "sudo rm x",
    "; ".join(f"cat f{at}.py" for at in range(10)), "echo " + "a " * 300, "rg diff", "echo git diff",
]  # fmt: skip
SEARCHES: list[dict[str, Any]] = [
    {}, {"pattern": 3}, {"path": "src"}, {"path": "/w/src/"}, {"path": "../b"}, {"glob": "*.py"}, {"type": "py"},
    {"glob": "*.py", "type": "py"},
    {"glob": ""}, {"glob": 3}, {"output_mode": "content"}, {"output_mode": "count"}, {"output_mode": ""}, {"output_mode": 3},
    {"output_mode": "content", "-n": False}, {"output_mode": "content", "-n": True}, {"-n": False}, {"output_mode": "content", "-A": 2},
    {"output_mode": "content", "-B": 2}, {"output_mode": "content", "-C": 2}, {"output_mode": "content", "context": 2},
    {"output_mode": "content", "-A": 0}, {"output_mode": "content", "-A": -1}, {"output_mode": "content", "-A": True}, {"-A": 2},
    {"output_mode": "content", "-A": 10**9}, {"output_mode": "content", "-A": 10**9 - 1}, {"output_mode": "content", "-A": "2"},
    {"output_mode": "content", "-o": True}, {"output_mode": "content", "-o": 1}, {"-i": True}, {"-i": 1}, {"multiline": True},
    {"multiline": 1}, {"-i": True, "multiline": True}, {"head_limit": 3}, {"head_limit": 0}, {"output_mode": "count", "head_limit": 3},
    {"offset": 3}, {"offset": 0}, {"pattern": SECRET}, {"path": f"/srv/{SECRET}"}, {"glob": f"{SECRET}.py"},
]  # fmt: skip


Made = Iterator[tuple[str, dict[str, Any], Outcome, Ruleset]]  # (tool, input, outcome, rules) of each


def looks() -> Made:
    for command in COMMANDS:
        yield "Bash", {"command": command}, SEEN, RULES
    for more in SEARCHES:
        yield "Grep", {"pattern": "total", **more}, SEEN, RULES
    for asked in (
        {"pattern": "*.py"}, {"pattern": "*.py", "path": "src"}, {"pattern": ""}, {"pattern": f"{SECRET}*"}, {"path": "src"},
        {"pattern": 3},
    ):  # fmt: skip
        yield "Glob", asked, SEEN, RULES
        yield "LS", asked, SEEN, RULES
    for path in (PATH, "src/shop.py", "/w", "/w2/a.py", "a.md", "a.ipynb", "", f"/srv/{SECRET}.log"):
        yield "Read", {"file_path": path}, SEEN, RULES
    for asked in (
        {"offset": 3}, {"offset": 3, "limit": 5}, {"limit": 5}, {"offset": 0}, {"offset": 1}, {"offset": -2, "limit": 1}, {"limit": True},
        {"limit": 1}, {"offset": "3"}, {"pages": "1-3"}, {"pages": ""}, {"pages": 3}, {"pages": "1-3", "offset": 3}, {"limit": 10**9},
    ):  # fmt: skip
        yield "Read", {"file_path": PATH, **asked}, SEEN, RULES
        yield "Read", {"file_path": PATH, **asked}, Outcome(100, interval=[2, 4]), RULES


def reads_and_edits() -> Made:
    yield "Read", {"file_path": PATH}, Outcome(100, interval=[1, 0]), RULES
    yield "Read", {"file_path": PATH}, Outcome(100, unchanged=True), RULES
    yield "Read", {"file_path": "a.md"}, Outcome(100, unchanged=True), CONFIGURED
    yield "NotebookRead", {"notebook_path": "a.ipynb"}, SEEN, RULES
    for tool in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        yield tool, {"file_path": PATH}, SEEN, RULES
        yield tool, {"file_path": f"/srv/{SECRET}.py"}, SEEN, RULES
    for others in (None, [], ["b.py"], ["b.py", 3, "c.py"], [f"f{at}" for at in range(70)], "b.py"):
        yield "apply_patch", {"file_path": "a.py", "others": others}, SEEN, OF_CODEX


def other_tools() -> Made:
    for tool, asked in (
        ("TodoWrite", {"todos": []}), ("TaskList", {}), ("AskUserQuestion", {"questions": []}), ("ExitPlanMode", {"plan": "1. x"}),
        ("WebFetch", {"url": "https://host.invalid/a"}), ("WebFetch", {"url": f"https://host.invalid/{SECRET}"}),
        ("WebSearch", {"query": LONG}),
        ("WebSearch", {"query": "a" * 94}), ("WebSearch", {"query": "a" * 95}), ("WebSearch", {"query": "a" * 89}),
        ("WebSearch", {"query": "a" * 90}), ("WebSearch", {"query": "a" * 91}), ("Agent", {"description": "look", "prompt": "x"}),
        ("Task", {"description": "look"}), ("Skill", {"skill": "cook"}), ("TaskOutput", {"task_id": "b1"}),
        ("BashOutput", {"bash_id": "b1"}),
        ("mcp__db__query", {"sql": "x", "n": [1, {"a": None}]}), ("mcp__db__query", {"n": [1, {"a": None}], "sql": "x"}),
        ("mcp__db__query", {"n": [1, {"a": 1}], "sql": "x"}), ("mcp__db__query", {"n": [1, 2], "sql": "x"}), ("mcp__db__query", {}),
        ("Unknown", {"name": "a"}), ("Unknown", {1: 2, "1": 3}), ("LSP", {"path": "a"}), ("KillShell", {"shell_id": "b"}),
    ):  # fmt: skip
        yield tool, asked, SEEN, RULES
    nested: Any = 1
    for _ in range(19):
        nested = [nested]
    yield "Unknown", {"a": nested}, SEEN, RULES
    yield "Unknown", {"a": [nested]}, SEEN, RULES


def ended_otherwise() -> Made:
    for fate in (NEVER_RAN, STOPPED, BACKGROUND, CUT, TOLD):
        for tool, asked in (("Bash", {"command": "git checkout main && npm test"}), ("Edit", {"file_path": PATH}), ("Read",
        {"file_path": PATH})):  # fmt: skip
            yield tool, asked, Outcome(100, fate=fate), RULES
            yield tool, asked, Outcome(100, fate=fate, error=True, exit_code=1), RULES
    for code in (None, 1, 2, 124, 127):
        for asked in ("npm test", "rg total", "cat a.py", "git commit -m x", "git checkout main", "mkdir x"):
            for chars in (0, 1):
                yield "Bash", {"command": asked}, Outcome(chars, error=True, exit_code=code), RULES
        yield "Grep", {"pattern": "total"}, Outcome(0, error=True, exit_code=code), RULES
    for tool, asked in (
        ("Edit", {"file_path": PATH}), ("Read", {"file_path": PATH}), ("Read", {"file_path": "/w/STATUS.json"}),
        ("Read", {"file_path": "a.md"}),
        ("AskUserQuestion", {"questions": []}), ("ExitPlanMode", {"plan": "x"}), ("Bash", {"command": "make x"}),
        ("Bash", {"command": "npm test"}),
        ("Bash", {"command": "mkdir STATUS.json"}), ("Edit", {"file_path": "STATUS.json"}),
    ):  # fmt: skip
        for error in (False, True):
            for rules in (RULES, CONFIGURED):
                yield tool, asked, Outcome(9, error=error, exit_code=1 if error else None), rules
    for lines in (None, 0, 2, 3, 10):
        yield "Bash", {"command": "cat src/shop.py | head -3"}, Outcome(9, lines=lines), RULES
        yield "Bash", {"command": "cat src/shop.py"}, Outcome(9, lines=lines), RULES
        yield "Bash", {"command": "npm test | tail -3"}, Outcome(9, lines=lines), RULES


def told(tool: str, asked: dict[str, Any], outcome: Outcome, rules: Ruleset) -> Iterator[str]:
    names = ("error", "exit_code", "fate", "interval", "lines", "unchanged")
    how = [f"{name}={value}" for name in names if (value := getattr(outcome, name))]
    how += ["chars=0"] * (not outcome.chars) + ["configured"] * (rules is CONFIGURED)
    yield " ".join(["$", tool, json.dumps(asked), *how])
    found = classify(Call("T1", rules.tools.of(tool), asked, outcome), CWD, rules)
    yield f"  {found.kind} {found.tier} by {found.basis} | {found.label}"
    yield from (f"  shows {part[0]} {part[1]}{f' when {ran}' if ran else ''}" for part, ran in zip(found.parts, found.ran, strict=True))
    yield f"  {found.content} | {found.subjects} | {found.action}"
    also = {name: getattr(found, name) for name in ("changes", "commits", "edits", "error", "family", "moves")}
    if any(also.values()):
        yield "  " + " ".join(f"{name}={value}" for name, value in also.items() if value)


def test_a_call_is_classified_as_the_corpus_says(golden) -> None:
    golden(
        GOLDEN,
        "".join(f"{row}\n" for calls in (looks, reads_and_edits, other_tools, ended_otherwise) for call in calls() for row in told(*call)),
    )
