"""A conversation of pi's that a compaction without a model makes much shorter: files are read, edited, and quiet since."""

from __future__ import annotations

import json
from typing import Any

from tests.client.scripted_api import Step, call, say, text_of, thought
from tests.opencode.conversations import big_file, bodies
from tests.opencode.scripted_api import BothApis

from .client import Project

FILES = 12
Block = dict[str, Any]


def lay(project: Project) -> None:
    """Write the files that the work is about."""
    for number in range(FILES):
        (project.work / "src" / f"part{number}.js").write_text(big_file(100 + number))


def scripts(thinks: bool) -> dict[str, list[Step]]:
    """The scripts `work`, which leaves dead results behind it, and `on`. `thinks`: whether the provider has blocks of thinking."""
    thinking = (thought("One after the other."),) if thinks else ()
    reads = [call(("read", {"path": f"src/part{number}.js"}), text=f"I read part {number}.", thinking=thinking) for number in range(FILES)]
    edits = [
        call(("edit", {"path": f"src/part{number}.js", "edits": [{"oldText": _line(number), "newText": f"const seen = {number};"}]}))
        for number in range(FILES)
    ]
    fixes = [
        call(("bash", {"command": "npm test"}), ("bash", {"command": "git status --short"})),
        call(("edit", {"path": "src/app.js", "edits": [{"oldText": "a - b", "newText": "a + b"}]})),
        call(("bash", {"command": "npm test"})),
    ]
    quiet = [call(("bash", {"command": f"echo {number}"})) for number in range(5)]
    return {"work": [*reads, *edits, *fixes, *quiet, say("Done.")], "on": [call(("bash", {"command": "git log --oneline"})), say("On.")]}


def _line(number: int) -> str:
    return big_file(100 + number).split("\n")[3]


def words(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(who, what) of all that was said in a request, without what pi itself says of a summary."""
    texts = [(message["role"], block["text"]) for message, block in _blocks(body) if block.get("type") == "text" and block["text"]]
    return [(role, text) for role, text in texts if not text.startswith("The conversation history before this point")]


def pairs(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(id of a call, id of the result behind it) in order; "" for what is missing."""
    calls = [block["id"] for _, block in _blocks(body) if block.get("type") == "tool_use"]
    results = [block["tool_use_id"] for _, block in _blocks(body) if block.get("type") == "tool_result"]
    return [(id, id if id in results else "") for id in calls] + [("", id) for id in results if id not in calls]


def inputs(body: dict[str, Any]) -> dict[str, str]:
    """Id of a call -> its input."""
    return {block["id"]: json.dumps(block["input"]) for _, block in _blocks(body) if block.get("type") == "tool_use"}


def shown(body: dict[str, Any]) -> dict[str, str]:
    """Id of a call -> its result."""
    return {block["tool_use_id"]: text_of(block.get("content")) for _, block in _blocks(body) if block.get("type") == "tool_result"}


def _blocks(body: dict[str, Any]) -> list[tuple[dict[str, Any], Block]]:
    return [
        (message, block)
        for message in body["messages"]
        for block in ([{"type": "text", "text": message["content"]}] if isinstance(message["content"], str) else message["content"])
    ]


def worked(project: Project, api: BothApis) -> dict[str, Any]:
    """Do the work; return the last request of it."""
    lay(project)
    api.scripts.update(scripts(project.provider == "anthropic"))
    assert project.say("[[SCRIPT:work]] Go through all parts, and keep the name NAME_OF_MINE.") == "Done."
    return bodies(api, project)[-1]
