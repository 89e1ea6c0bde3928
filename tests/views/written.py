"""A small session, written as the host writes its transcript: one line a message, one call every ten seconds."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from popkit_retention.core.state.site import Site

BEGAN = 1_790_000_000.0
STEP_S = 10.0
PROJECT = "/home/dev/shop"


class Written:
    """A transcript that grows call by call. `now` is ten seconds after its last line."""

    def __init__(self, folder: Path, session: str = "5e551017-0000-4000-8000-000000000001", project: str = PROJECT) -> None:
        self.path = folder / f"{session}.jsonl"
        self.session = session
        self.project = project
        self.now = BEGAN
        self.calls = 0
        self.tokens = 20_000
        self.created = 490  # of a prompt, written to the cache
        self.for_an_hour = False  # whether the cache keeps that for an hour
        self.last: str | None = None
        self.model = "claude-opus-4-8"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("")

    def site(self, home: Path) -> Site:
        """The site of this session with its state in a home."""
        return Site({"POPKIT_HOME": str(home)}, self.session, self.project)

    def say(self, text: str) -> None:
        self._line("user", {"role": "user", "content": text})

    def ends(self, text: str = "done") -> None:
        """The assistant answers, which ends the turn."""
        self._answers(f"end_{self.now:.0f}", [{"type": "text", "text": text}])

    def call(self, tool: str, tool_input: dict, text: str, *, failed: bool = False, thought: str = "") -> str:
        """One call and its result, after a thought; returns its id."""
        self.calls += 1
        id = f"toolu_{self.calls:02}{tool}"
        use = {"type": "tool_use", "id": id, "name": tool, "input": tool_input}
        thinking = [{"type": "thinking", "thinking": thought, "signature": "c2VhbGVk"}] if thought else []
        self._answers(f"msg_{self.calls}", [*thinking, use])
        self.tokens += self.created + 10 + len(text) // 3
        result = {"type": "tool_result", "tool_use_id": id, "content": text, **({"is_error": True} if failed else {})}
        self._line("user", {"role": "user", "content": [result]})
        return id

    def read(self, name: str, first: int = 1, last: int = 40) -> str:
        """A Read of a file of 40 lines, or of some of its lines."""
        lines = [f"{number}\tline {number} of {name}, call {self.calls}" for number in range(first, last + 1)]
        asked = {"offset": first, "limit": last - first + 1} if (first, last) != (1, 40) else {}
        return self.call("Read", {"file_path": f"{self.project}/{name}", **asked}, "\n".join(lines))

    def grep(self, pattern: str, found: str = "") -> str:
        return self.call("Grep", {"pattern": pattern}, found or f"src/auth.ts:3: {pattern} {self.calls}\n" * 30)

    def edit(self, name: str) -> str:
        return self.call("Edit", {"file_path": f"{self.project}/{name}"}, f"The file {name} has been updated.")

    def bash(self, command: str, output: str = "") -> str:
        return self.call("Bash", {"command": command}, output or f"output {self.calls}\n" * 20)

    def bash_fails(self, command: str, output: str) -> str:
        return self.call("Bash", {"command": command}, "Exit code 1\n" + output, failed=True)

    def compact(self, trigger: str = "manual") -> None:
        metadata = {"trigger": trigger, "preTokens": self.tokens}
        boundary = {"subtype": "compact_boundary", "logicalParentUuid": self.last, "compactMetadata": metadata}
        self.last, parent = None, self.last
        self._line("system", None, content="Conversation compacted", **{**boundary, "logicalParentUuid": parent})

    def _answers(self, id: str, content: list) -> None:
        usage = {"input_tokens": 10, "cache_read_input_tokens": self.tokens, "cache_creation_input_tokens": self.created}
        full_usage = {**usage, "cache_creation": {"ephemeral_1h_input_tokens": self.created}} if self.for_an_hour else usage
        for block in content:  # the host writes a line for each
            self._line("assistant", {"id": id, "role": "assistant", "model": self.model, "content": [block], "usage": full_usage})

    def _line(self, kind: str, message: dict | None, **more: object) -> None:
        self.now += STEP_S / 2
        uuid = f"{self.calls:04}-{self.now:.0f}"
        stamp = datetime.fromtimestamp(self.now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        line = {"parentUuid": self.last, "uuid": uuid, "type": kind, "timestamp": stamp, "isSidechain": False, "sessionId": self.session,
                "cwd": self.project, **({"message": message} if message else {}), **more}  # fmt: skip
        self.last = uuid
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def spec_session(folder: Path, **names: str) -> Written:
    """The eight calls of the specification's drawing, and what a working session has besides."""
    written = Written(folder, **names)
    written.say("fix the login")
    written.read("src/auth.ts")
    written.grep("login")
    written.read("src/config.ts")
    written.edit("src/auth.ts")
    written.bash_fails("npm test", "FAIL src/auth.test.ts\n" * 20 + "Tests: 1 failed, 11 passed")
    written.grep("login")
    written.bash("npm test", "PASS src/auth.test.ts\n" * 10 + "Tests: 12 passed")
    written.bash("git commit -am 'Fix the login'", "[main 1a2]\n create mode 100644 src/config.ts")
    written.say("now the sessions, please")
    written.call("AskUserQuestion", {"questions": [{"question": "Cookies or tokens?"}]}, "User has answered: Cookies")
    written.read("src/session.ts", 1, 25)
    written.read("src/session.ts", 20, 38)
    written.call("Read", {"file_path": f"{written.project}/src/cookie.ts"}, "File does not exist.", failed=True)
    written.bash("npm run build", "built in 3 s\n" * 30)
    written.grep("setSession")
    return written


def long_session(folder: Path) -> Written:
    """A session of fifty calls with a compaction after the eighth."""
    written = Written(folder)
    written.say("look at everything")
    for number in range(8):
        written.read(f"src/old{number}.ts")
    written.compact()
    written.say("go on")
    for number in range(14):
        written.read(f"src/components/checkout/steps/step-{number}.tsx")
        written.edit(f"src/components/checkout/steps/step-{number}.tsx")
        written.bash("cd /home/dev/shop && npm test -- --runInBand src/components/checkout", f"Tests: {number} passed\n" * 8)
    return written
