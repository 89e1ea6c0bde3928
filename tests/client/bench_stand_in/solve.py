"""A solve as the bench's runner documents it: an arm's setup, what it attaches as options of the Agent SDK, one prompt, its teardown.

    python solve.py PROMPT ARM…

runs in the repository that is to be changed, for one arm after the other, and prints in a line for each what the runner takes from it: the
SDK's cost, turns and session. Each arm finds the files as they are in Git's index.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import popkit  # noqa: F401  the arm registers itself
from bench.arm import ARMS
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

TOOLS = ["Bash", "Read", "Edit", "Write", "Glob", "Grep", "MultiEdit", "TodoWrite"]


async def solve(name: str, prompt: str) -> dict:
    arm = ARMS[name]()
    assert arm.ready() == (True, "ok"), arm.ready()
    before = dict(os.environ)
    arm.setup()
    try:
        plugins, tools = [], TOOLS
        if arm.kind == "tool":
            attached = arm.attach()
            plugins = [{"type": "local", "path": os.path.abspath(attached.plugin_dir)}]  # noqa: PTH100
            tools = [*TOOLS, "Agent", *attached.plugin_tool_globs]
            assert not attached.replace_tools
        options = ClaudeAgentOptions(
            allowed_tools=tools, max_turns=100, cwd=os.getcwd(), plugins=plugins, env=dict(os.environ),  # noqa: PTH109
            permission_mode="bypassPermissions", strict_mcp_config=not plugins, include_hook_events=bool(plugins),
        )  # fmt: skip
        messages = [message async for message in query(prompt=prompt, options=options)]
    finally:
        arm.teardown()
        arm.teardown()  # the runner may do it twice
    (result,) = (message for message in messages if isinstance(message, ResultMessage))
    assert dict(os.environ) == before
    return {"usd": result.total_cost_usd, "turns": result.num_turns, "session": result.session_id, "error": result.is_error}


prompt, *arms = sys.argv[1:]
for name in arms:
    print(json.dumps(asyncio.run(solve(name, prompt))))
    subprocess.run(["git", "checkout", "-q", "."], check=True)
