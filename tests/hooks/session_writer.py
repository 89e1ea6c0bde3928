"""What the client writes of a session and reports to hooks while it goes on: transcript lines, and the payloads beside them."""

from __future__ import annotations

import random
import uuid
from datetime import datetime, timezone
from pathlib import Path

SESSION = "5e551011-0000-4000-8000-000000000001"
BEGIN = 1_771_690_530.0  # 2026-02-21T16:15:30Z


class Step:
    """One hook: its payload and time, files written before it, lines written before and after it as (path, entry)."""

    def __init__(self, payload: dict, at: float, before: list, after: list, written: dict):
        self.payload = payload
        self.at = at
        self.before = before
        self.after = after
        self.written = written


class Writer:
    """A session being written. `prompt_ids`: whether payloads name the user's turn, which the oldest supported client does not."""

    def __init__(self, folder: Path, random_: random.Random, prompt_ids: bool = True, session_id: str = SESSION):
        self.random = random_
        self.prompt_ids = prompt_ids
        self.session_id = session_id
        self.project = folder / "shop"
        self.transcript = folder / "projects" / "-shop" / f"{session_id}.jsonl"
        self.steps: list[Step] = []
        self.calls = 0
        self.now = BEGIN
        self.cwd = str(self.project)
        self.files: dict[str, str] = {}
        self.seen: set[str] = set()
        self.leaf: str | None = None
        self.prompt_id = ""
        self.chains: dict[str, str | None] = {}  # of subagents
        self.last_group: list[str] = []
        self.before: list = []
        self.written: dict[str, str] = {}
        self.tokens = 9_000
        for name in ("src/app.js", "src/auth.ts", "test.js", "README.md", "package.json", "notes.test.md"):
            self._write(str(self.project / name), "".join(f"line {n} of {name}\n" for n in range(1, self.random.randrange(3, 40))))

    # --- what the client writes ------------------------------------------------------------------------------------------------

    def _id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _pass(self, longest: float = 12.0) -> None:
        """Time passes; now and then enough for a search to expire by its age."""
        seconds = 400.0 if self.random.random() < 0.02 else self.random.uniform(0.05, longest)
        self.now = round(self.now + seconds, 3)

    def _write(self, path: str, text: str) -> None:
        self.files[path] = text
        self.written[path] = text

    def _line(self, kind: str, agent: str = "", **more) -> tuple:
        """(path, entry) of the next line of the chain."""
        path = self.transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl" if agent else self.transcript
        parent = self.chains.get(agent) if agent else self.leaf
        stamp = datetime.fromtimestamp(self.now, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {
            "parentUuid": parent,
            "isSidechain": bool(agent),
            **({"agentId": agent} if agent else {}),
            "type": kind,
            "uuid": self._id(),
            "timestamp": stamp,
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.330",
            **more,
        }
        if agent:
            self.chains[agent] = entry["uuid"]
        else:
            self.leaf = entry["uuid"]
        return path, entry

    def _used(self, message: str, block: dict, agent: str = "") -> tuple:
        self.tokens += self.random.randrange(20, 200)
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 120, "cache_read_input_tokens": self.tokens, "output_tokens": 20}
        body = {"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": [block], "usage": usage}
        return self._line("assistant", agent, message=body)

    def _payload(self, event: str, **more) -> dict:
        common = {"session_id": self.session_id, "transcript_path": str(self.transcript), "cwd": self.cwd, "hook_event_name": event}
        return {**common, **({"prompt_id": self.prompt_id} if self.prompt_ids and self.prompt_id else {}), **more}

    def _step(self, payload: dict, after: list) -> None:
        self.steps.append(Step(payload, self.now, self.before, after, self.written))
        self.before, self.written = [], {}

    # --- one call --------------------------------------------------------------------------------------------------------------

    def _asked(self, calls: list[tuple], agent: str = "") -> list[tuple]:
        """The assistant asks for calls in one message; (id, uuid of its line) of each."""
        message = "msg_" + self._id()[:8]
        asked = []
        for tool, tool_input in calls:
            self.calls += 1
            id = f"toolu_{self.calls:05d}"
            line = self._used(message, {"type": "tool_use", "id": id, "name": tool, "input": tool_input}, agent)
            self.before.append(line)
            asked.append((id, line[1]["uuid"]))
        return asked

    def _done(self, asked: tuple, call: tuple, answer: dict, agent: str = "") -> tuple:
        """A call completed: its hook, then its line. `answer`: `response` and the `text` that the model gets, or `error`. The line."""
        id, uuid_ = asked
        tool, tool_input = call
        rest = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": id, "duration_ms": 4}
        if agent:
            rest.update(agent_id=agent, agent_type="general-purpose")
        error = answer.get("error")
        if error is not None:
            payload = self._payload("PostToolUseFailure", **rest, error=error, is_interrupt=False)
            block = {"type": "tool_result", "content": error, "is_error": True, "tool_use_id": id}
            structure: object = "Error: " + error
        else:
            payload = self._payload("PostToolUse", **rest, tool_response=answer["response"])
            block = {"type": "tool_result", "content": answer["text"], "tool_use_id": id, **({"is_error": False} if tool == "Bash" else {})}
            structure = answer["response"]
        chain = self.chains if agent else None
        line = self._line("user", agent, promptId=self.prompt_id, message={"role": "user", "content": [block]})
        line[1]["parentUuid"] = uuid_
        if chain is None:
            line[1]["toolUseResult"] = structure  # a subagent's file has the text alone
            self.last_group = [uuid_, line[1]["uuid"]]
        self._step(payload, [line])
        return line

    def call(self, tool: str, tool_input: dict, answer: dict, agent: str = "") -> None:
        """One call, alone in its message."""
        self._pass()
        (asked,) = self._asked([(tool, tool_input)], agent)
        self._done(asked, (tool, tool_input), answer, agent)

    def together(self, calls: list[tuple]) -> None:
        """Parallel calls (tool, input, answer), which complete in any order."""
        self._pass()
        asked = self._asked([(tool, tool_input) for tool, tool_input, _ in calls])
        order = list(range(len(calls)))
        self.random.shuffle(order)
        for at in order:
            self._pass(0.1)
            tool, tool_input, answer = calls[at]
            self._done(asked[at], (tool, tool_input), answer)
