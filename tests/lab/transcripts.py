"""Conversations of a known size, written as the client writes them, for tests of what the lab makes of them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from popkit_retention.lab.policy import Policy
from tests.hosts.lines import Lines

BEGAN = 1_790_000_000.0
BASE = 10_000
TEN, TEN_THOUGHT = 21, 27  # characters of ten tokens


def stamp(at: float) -> str:
    """A time, in seconds after the session began, as the client writes it."""
    return datetime.fromtimestamp(BEGAN + at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def filled(tokens: int, holds: str = "") -> str:
    """A text of so many tokens (a multiple of ten) that holds no string but these lines."""
    head = holds + "\n" if holds else ""
    return (head + "so on\n" * tokens)[: tokens // 10 * TEN]


class Transcript(Lines):
    """A transcript in which every line has its time; a call asks for ten tokens, and so does an answer's text."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0.0

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        return super().add(kind, parent, **{"timestamp": stamp(self.at), **fields})

    def wait(self, seconds: float) -> None:
        self.at += seconds

    def call(self, id: str, message: str = "", **fields) -> str:
        """A tool call of 21 characters."""
        return self.use(id, "Bash", {"command": f"cat {id} ####"[:6]}, message=message, **fields)

    def first(self, id: str, visible: int) -> str:
        """The first call, whose usage says how large system and tools are: BASE."""
        return self.call(id, usage=self.sees(visible))

    def sees(self, visible: int) -> dict:
        """The usage of a request that sends so many tokens beside system and tools."""
        return {"input_tokens": 10, "cache_creation_input_tokens": BASE + visible - 10, "cache_read_input_tokens": 0}

    def think(self, tokens: int, message: str, usage: dict | None = None) -> str:
        """A line of thinking, of so many tokens."""
        body = {
            "id": message,
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": ("so on\n" * tokens)[: tokens // 10 * TEN_THOUGHT]}],
            "model": "claude-opus-5",
        }
        return self.add("assistant", message=body | ({"usage": usage} if usage else {}))

    def answer(self, text: str, message: str, **fields) -> str:
        body = {"id": message, "role": "assistant", "content": [{"type": "text", "text": text}], "model": "claude-opus-5"}
        return self.add("assistant", message=body, **fields)

    def fold(self, summary: str = "") -> str:
        """A compaction and what is left of the conversation."""
        self.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=self.last, compactMetadata={"trigger": "auto"})
        return self.prompt(summary or filled(100), isCompactSummary=True)

    def write(self, path: Path) -> str:
        path.write_text("".join(json.dumps(entry) + "\n" for entry in self.entries))
        return str(path)


class Script(Policy):
    """Clears by a script: {request number: {tool_use id: placeholder}}. Records the contexts, and what was missed."""

    def __init__(self, script: dict[int, dict[str, str]]) -> None:
        self.script = script
        self.missed_ids: list[str] = []
        self.contexts: list[list[str]] = []
        self.colds: list[bool] = []

    def decide(self, view) -> list:
        self.contexts.append([block.id for block in view.context if block.id])
        self.colds.append(view.cold)
        wanted = self.script.get(view.number, {})
        return [(block, wanted[block.id], ["as told"]) for block in view.context if block.id in wanted]

    def missed(self, block) -> None:
        self.missed_ids.append(block.id)
