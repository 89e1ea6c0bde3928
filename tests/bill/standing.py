"""A breakdown as the client gives it, and sessions of the project that it is of."""

from __future__ import annotations

from typing import Any

from tests.bill.conversations import Conversation

SERVER, OTHER = "linear", "plugin:docs:docs"
LINEAR = [f"mcp__linear__{name}" for name in ("create_issue", "list_issues", "update_issue")]
DOCS = [f"mcp__plugin_docs_docs__{name}" for name in ("find", "read")]


def breakdown(**more: Any) -> dict[str, Any]:
    """All that the client can say, and keys of `more` in place of it."""
    tools = [{"name": name, "serverName": SERVER, "tokens": 1_200 + 100 * at, "isLoaded": False} for at, name in enumerate(LINEAR)]
    tools += [{"name": name, "serverName": OTHER, "tokens": 400, "isLoaded": False} for name in DOCS]
    rows = {"System prompt": 1_642, "System tools": 8_160, "MCP tools": 4_700, "Custom agents": 60, "Memory files": 2_000, "Skills": 490}
    categories = [{"name": name, "tokens": tokens, "kind": "used", "isDeferred": False, "color": "x"} for name, tokens in rows.items()]
    categories += [{"name": "Messages", "tokens": 90_000, "kind": "used"}, {"name": "Free space", "tokens": 900_000, "kind": "free"}]
    return {
        "categories": categories,
        "totalTokens": sum(rows.values()),
        "model": "claude-opus-4-6",
        "memoryFiles": [
            {"path": "/shop/CLAUDE.md", "type": "Project", "tokens": 1_700}, {"path": "/u/CLAUDE.md", "type": "User", "tokens": 300},
        ],
        "mcpTools": tools,
        "agents": [{"agentType": "reviewer", "source": "projectSettings", "tokens": 60}],
        "slashCommands": {"totalCommands": 2, "includedCommands": 2, "tokens": 90},
        "skills": {
            "totalSkills": 2, "includedSkills": 2, "tokens": 490,
            "skillFrontmatter": [
                {"name": "loop", "source": "built-in", "tokens": 115}, {"name": "docs:write", "source": "plugin", "tokens": 375},
            ],
        },
        **more,
    }  # fmt: skip


def at_work() -> Conversation:
    """A session that used a tool of one server, a skill and an agent."""
    it = Conversation()
    it.entries[0]["cwd"] = "/shop"
    for id, tool, given, result in (
        ("t1", DOCS[0], {}, "text " * 200), ("t2", "Skill", {"skill": "write"}, "launching"),
        ("t3", "Agent", {"subagent_type": "reviewer"}, "all is well " * 50), ("t4", "Read", {"file_path": "a.py"}, "x = 1\n" * 600),
    ):  # fmt: skip
        it.use(id, tool, given, message=f"m-{it.count}")
        it.result(id, result)
    it.request()
    return it
