"""Conversations in which the cache is known: each request reads what the one before has left, unless it is told to read less; and a
breakdown as the client gives it, with a session of its project."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from popkit_retention.bill.digest import digest_of
from tests.lab.transcripts import Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.bill.records import Digest

BASE = 20_000
# No two conversations are asked for at the same time: an answer that is the same in id and time is a copy.
_BEGUN = itertools.count()


class Conversation(Transcript):
    """A conversation whose requests grow by 2,000 tokens each, 10 seconds apart, written to a cache that lives an hour."""

    def __init__(self, model: str = "claude-opus-4-6", hour: bool = True) -> None:
        super().__init__()
        self.at = next(_BEGUN) * 0.001
        self.model, self.hour = model, hour
        self.cached = 0
        self.count = 0
        self.prompt("begin")
        self.request()

    def request(
        self, reads: int | None = None, total: int | None = None, thinks: bool = False, output: int = 50, says: str = "", **entry: Any
    ) -> None:
        """A request; `reads`: tokens from the cache, everything that was left there unless it is said; `says`: the provider's word for what
        was not found there."""
        self.wait(10)
        self.count += 1
        read = self.cached if reads is None else reads
        whole = max(BASE, self.cached) + 2_000 if total is None else total
        created = whole - read
        lives = {"ephemeral_5m_input_tokens": 0 if self.hour else created, "ephemeral_1h_input_tokens": created if self.hour else 0}
        usage = {
            "input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": created, "cache_creation": lives,
            "output_tokens": output,
        }  # fmt: skip
        blocks = [{"type": "thinking", "thinking": "so"}] if thinks else []
        body = {"id": f"m-{self.count}", "role": "assistant", "model": self.model, "usage": usage}
        diagnostics = {"diagnostics": {"cache_miss_reason": {"type": says, "cache_missed_input_tokens": 9}}} if says else {}
        self.add("assistant", message={**body, "content": [*blocks, {"type": "text", "text": "done"}], **diagnostics}, **entry)
        self.cached = whole

    def attach(self, **fields) -> None:
        self.add("attachment", attachment=fields)

    def sent(
        self, tools: tuple[str, ...] = ("Bash",), effort: str = "high", digest: str = "", source: str = "sdk", system: str = "",
        messages: tuple[str, ...] | None = None, on: tuple[str, int] | None = None, **params: Any,
    ) -> str:  # fmt: skip
        """What newer clients note of a request that they send; its id. `messages`: a word for each, where they are noted; all that it has,
        or what follows so many of an earlier request's (`on`: its id, how many)."""
        shape = f"{tools} {system}"
        defined = [{"name": name, "description": f"What {name} does."} for name in tools]
        self.entries.append({"type": "api-request-shape", "shapeHash": shape, "shape": {"system": [{"text": system}], "tools": defined}})
        id = f"request-{len(self.entries)}"
        noted = {"id": id, "params": {"output_config": {"effort": effort}, **params}, "requestDigest": digest or id}
        known = {} if messages is None else {"keep": 0, "tail": list(messages)}
        if on is not None:
            known.update(base=on[0], keep=on[1])
        self.entries.append({"type": "api-request", "querySource": source, "shapeHash": shape, **noted, **known})
        return id

    def command(self, name: str) -> None:
        self.prompt(f"<command-name>{name}</command-name>")

    def written(self, path: Path) -> Path:
        """Write it to a file, the notes of requests as the client writes them."""
        self.write(path)
        path.write_text(path.read_text().replace('{"type": "api-request', '{"type":"api-request'))
        return path

    def digest(self, folder: Path) -> Digest:
        path = self.written(folder / "session.jsonl")
        return digest_of(str(path), path.stat().st_size)

    def losses(self, folder: Path) -> list[tuple[str, int]]:
        """[(cause, tokens)] of what its cache lost."""
        return [(loss["cause"], loss["tokens"]) for loss in self.digest(folder)["losses"]]


# --- what stands before the first word ---------------------------------------------------------------------------------------------------


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
