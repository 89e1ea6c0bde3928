"""Rollouts of Codex, made up: newer ones, older ones, and those of the first versions."""

from __future__ import annotations

import json
import time
from pathlib import Path

SESSION = "019a2f00-1111-7222-8333-444455556666"
PROJECT = "/home/dev/shop"
_BEGAN = 1_790_000_000


class Rollout:
    """Writes a rollout line by line. `form`: `records` (what a request used in a line of its own), `counts` (only behind the results of its
    calls), `items` (lines that are the items themselves, without times or usage)."""

    def __init__(self, form: str = "records", project: str = PROJECT, model: str = "gpt-5.6-sol") -> None:
        self.form = form
        self.session = SESSION
        self.project = project
        self.lines: list[object] = []
        self.now = _BEGAN
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
        self.prompt = 12_000  # tokens of the next request
        self.read = 0  # of them from the cache
        self.calls = 0
        if form == "items":
            self.lines += [{"id": SESSION, "timestamp": self._stamp(), "instructions": None}, {"record_type": "state"}]
            self.message("user", f"<environment_context>\n<cwd>{project}</cwd>\n</environment_context>")
            return
        meta = {"id": SESSION, "timestamp": self._stamp(), "cwd": project, "originator": "codex_cli_rs", "cli_version": "0.155.0"}
        self.line("session_meta", {**meta, "base_instructions": {"text": "You are a made-up agent. " * 40}})
        self.message("developer", "<permissions instructions>Everything is allowed.</permissions instructions>")
        self.message("user", f"<environment_context>\n  <cwd>{project}</cwd>\n</environment_context>")
        self.line("turn_context", {"cwd": project, "model": model, "effort": "high"})

    def _stamp(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.now))

    def line(self, kind: str, payload: dict) -> None:
        self.now += 1
        self.lines.append({"timestamp": self._stamp(), "ordinal": len(self.lines), "type": kind, "payload": payload})

    def item(self, payload: dict) -> None:
        if self.form == "items":
            self.lines.append(payload)
        else:
            self.line("response_item", payload)

    def message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
        self.prompt += len(text) // 4

    def say(self, text: str) -> None:
        self.message("user", text)
        if self.form != "items":
            self.line("event_msg", {"type": "user_message", "message": text})

    def answer(self, text: str) -> None:
        self.message("assistant", text)
        self.used()

    def think(self) -> None:
        self.item({"type": "reasoning", "id": f"rs_{len(self.lines)}", "summary": [], "encrypted_content": "gAAAAA" + "x" * 600})

    def call(self, name: str, given: object, output: object, think: bool = True) -> str:
        """One request with one call, and its result; `given` a text for a tool that takes one."""
        if think:
            self.think()
        id = self.begin_call(name, given)
        self.used(late=self.form == "counts")
        self.returned(id, given, output)
        if self.form == "counts":
            self._count()
        return id

    def begin_call(self, name: str, given: object) -> str:
        self.calls += 1
        id = f"call_{self.calls}"
        if isinstance(given, str):
            self.item({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": name, "input": given})
        else:
            self.item({"type": "function_call", "name": name, "arguments": json.dumps(given), "call_id": id})
        return id

    def returned(self, id: str, given: object, output: object) -> None:
        kind = "custom_tool_call_output" if isinstance(given, str) else "function_call_output"
        self.item({"type": kind, "call_id": id, "output": output})
        self.prompt += len(json.dumps(output)) // 4 + 60

    def run(self, line: str, output: str, code: int = 0, **more: object) -> str:
        """A command line, in the tool of its time."""
        if self.form == "records":
            header = f"Chunk ID: ab{self.calls:04x}\nWall time: 0.05 seconds\nProcess exited with code {code}\nOriginal token count: 9\n"
            return self.call("exec_command", {"cmd": line, **more}, f"{header}Output:\n{output}")
        given = {"command": ["bash", "-lc", line], **more}
        if self.form == "counts":
            return self.call("shell", given, f"Exit code: {code}\nWall time: 0.1 seconds\nOutput:\n{output}")
        return self.call("shell", given, json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}}))

    def used(self, late: bool = False) -> None:
        """A request is over."""
        usage = {"input_tokens": self.prompt, "cached_input_tokens": self.read, "output_tokens": 120, "reasoning_output_tokens": 40}
        self.read = self.prompt
        self.total = {name: count + usage[name] for name, count in self.total.items()}
        self.last = usage
        if self.form == "records":
            self.line("token_usage_record", {"response_id": f"resp_{len(self.lines)}", "usage": {**usage, "cache_write_input_tokens": 0}})
        if self.form != "items" and not late:
            self._count()

    def _count(self) -> None:
        info = {"total_token_usage": self.total, "last_token_usage": self.last, "model_context_window": 258_400}
        self.line("event_msg", {"type": "token_count", "info": None, "rate_limits": {}})
        for _ in range(2):  # it is said again when a limit changes
            self.line("event_msg", {"type": "token_count", "info": info, "rate_limits": {}})

    def compact(self, summary: str) -> None:
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]}]
        self.line("compacted", {"message": "", "replacement_history": [*history, {"type": "compaction", "encrypted_content": "gAAA"}]})
        self.line("event_msg", {"type": "context_compacted"})

    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-2026-09-21T14-13-20-{self.session}.jsonl"
        path.write_bytes(self.data())
        return path


def patch_of(*files: str, verb: str = "Update") -> str:
    hunks = "".join(f"*** {verb} File: {name}\n@@\n-old\n+new\n" for name in files)
    return f"*** Begin Patch\n{hunks}*** End Patch\n"


def worked(form: str = "records", project: str = PROJECT) -> Rollout:
    """A session that looks around, edits, runs tests, and looks again."""
    rollout = Rollout(form, project)
    rollout.say("Fix the rounding of prices. Always run the tests before you commit.")
    rollout.call("update_plan", {"plan": [{"step": "look", "status": "in_progress"}, {"step": "fix", "status": "pending"}]}, "Plan updated")
    rollout.run("rg -n price_of src", "\n".join(f"src/part_{n}.py:{n}: def price_of_{n}(item):" for n in range(60)))
    source = "\n".join(f"def price_of_{n}(item):\n    return round(item.price * {n}, 2)" for n in range(150))
    rollout.run("cat src/prices.py", source)
    rollout.run("sed -n 1,80p src/bills.py", source[:3_000])
    rollout.run("pytest -q", "F\n1 failed, 11 passed in 0.12s", 1)
    if form == "items":
        rollout.call(
            "shell", {"command": ["apply_patch", patch_of("src/prices.py", "src/bills.py")]}, '{"output":"Done","metadata":{"exit_code":0}}'
        )
    else:
        rollout.call("apply_patch", patch_of("src/prices.py", "src/bills.py"), "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.")
    rollout.run("pytest -q", "12 passed in 0.10s")
    rollout.answer("Prices are rounded once now, and all tests pass.")
    rollout.say("Commit it.")
    rollout.run("git commit -am 'Round prices once'", "[main 0123abc] Round prices once\n 2 files changed")
    rollout.answer("Committed.")
    return rollout


FORK = "019a2f00-9999-7222-8333-444455556666"


def forked(parent: Rollout) -> Rollout:
    """A fork of a session, which an hour later writes its parent's lines again, and goes on with two requests."""
    fork = Rollout(parent.form, parent.project)
    meta = {**fork.lines[0]["payload"], "id": FORK, "forked_from_id": SESSION}
    fork.now, fork.session, fork.lines = parent.now + 3_600, FORK, []
    fork.line("session_meta", meta)
    for line in parent.lines:
        fork.line(line["type"], line["payload"])
    fork.prompt, fork.read, fork.total, fork.calls = parent.prompt, parent.read, parent.total, 100
    fork.say("Rather round down.")
    fork.run("cat src/prices.py", "def price_of(item): ...")
    fork.answer("Rounded down.")
    return fork
