"""Transcript lines as the client writes them, for tests of what reads them."""

from __future__ import annotations

import json
from pathlib import Path

START = "2026-01-05T10:00:"


class Lines:
    """A transcript in the making: each method adds a line and returns its uuid; the parent is the last line unless one is named."""

    def __init__(self):
        self.entries: list[dict] = []
        self.last: str | None = None

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        uuid = fields.pop("uuid", f"u{len(self.entries) + 1}")
        entry = {
            "type": kind, "uuid": uuid, "parentUuid": self.last if parent == "" else parent, "isSidechain": False,
            "timestamp": f"{START}{len(self.entries):02d}.000Z", "cwd": "/shop", **fields,
        }  # fmt: skip
        self.entries.append(entry)
        self.last = uuid
        return uuid

    def prompt(self, text: str = "go", **fields) -> str:
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def use(self, id: str, tool: str, tool_input: dict, message: str = "", usage: dict | None = None, text: str = "", **fields) -> str:
        content = ([{"type": "text", "text": text}] if text else []) + [{"type": "tool_use", "id": id, "name": tool, "input": tool_input}]
        body = {"id": message or "m-" + id, "role": "assistant", "content": content, "model": "claude-opus-5"}
        return self.add("assistant", message=body | ({"usage": usage} if usage else {}), **fields)

    def result(self, id: str, content, structure=None, error: bool = False, **fields) -> str:
        block = {"type": "tool_result", "tool_use_id": id, "content": content} | ({"is_error": True} if error else {})
        more = {} if structure is None else {"toolUseResult": structure}
        return self.add("user", message={"role": "user", "content": [block]}, **more, **fields)

    def bash(self, id: str, command: str, output: str = "", error: bool = False, **fields) -> str:
        """A whole Bash call."""
        self.use(id, "Bash", {"command": command}, **fields)
        if error:
            return self.result(id, output, "Error: " + output, error=True)
        return self.result(id, output or "(Bash completed with no output)", {"stdout": output, "stderr": "", "interrupted": False})

    def say(self, text: str, usage: dict | None = None, managed: object = None, **fields) -> str:
        """An answer; `managed`: what it says of clearing by the provider."""
        body = {"id": f"m{len(self.entries)}", "role": "assistant", "content": [{"type": "text", "text": text}], "model": "claude-opus-5"}
        body["context_management"] = managed
        return self.add("assistant", message=body | ({"usage": usage} if usage else {}), **fields)

    def compact(self, kept: list[str] | None = None, logical: str | None = "gone") -> str:
        metadata = {"trigger": "auto"} | ({"preservedMessages": {"allUuids": kept}} if kept else {})
        self.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=logical, compactMetadata=metadata)
        return self.prompt("summary", isCompactSummary=True)

    def write(self, path: Path) -> str:
        path.write_text("".join(json.dumps(entry) + "\n" for entry in self.entries))
        return str(path)
