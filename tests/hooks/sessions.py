"""Sessions that never happened, as the client would have written and reported them: transcript lines and the hook payloads beside them.

A `Day` grows step by step from a source of random numbers. Each `Step` is one hook, with what changes on disk before it and the lines
that are in the transcript before and after it. `play` feeds the steps to whatever runs hooks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.hooks.payloads import shell_output, text_file
from tests.hooks.session_writer import Step, Writer

PASSED = "> shop@1.0.0 test\n> node test.js\n\n{0} passing (3ms)"
FAILED = "Exit code 1\n\n> shop@1.0.0 test\n> node test.js\n\nFAIL add(1,2) = {0}\n{0} failing"
UNCHANGED = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current"
# A transcript line may reach the file this long after its hook.
LAG_S = 0.2


class Day(Writer):
    """A session in the making, step by step."""

    def reading(self, path: str = "") -> tuple:
        """(tool, input, answer) of a Read: whole, in part, or of a file that has not changed."""
        path = path or self.random.choice(sorted(self.files))
        lines = self.files[path].split("\n")
        tool_input: dict = {"file_path": path}
        kind = self.random.random()
        if kind < 0.25 and len(lines) > 6:
            first = self.random.randrange(1, len(lines) - 4)
            size = self.random.randrange(2, 5)
            shown = lines[first - 1 : first - 1 + size]
            tool_input.update(offset=first, limit=size)
            file = {"filePath": path, "content": "\n".join(shown), "numLines": len(shown), "startLine": first, "totalLines": len(lines)}
            return "Read", tool_input, {"response": {"type": "text", "file": file}, "text": _numbered(shown, first)}
        if kind < 0.4 and path in self.seen:
            return "Read", tool_input, {"response": {"type": "file_unchanged", "file": {"filePath": path}}, "text": UNCHANGED}
        self.seen.add(path)
        return "Read", tool_input, {"response": text_file(path, self.files[path]), "text": _numbered(lines, 1)}

    def shell(self, command: str, output: str = "", agent: str = "") -> None:
        answer = {"response": shell_output(output), "text": output or "(Bash completed with no output)"}
        self.call("Bash", {"command": command, "description": "a command"}, answer, agent)

    def failing(self, command: str, error: str, agent: str = "") -> None:
        self.call("Bash", {"command": command, "description": "a command"}, {"error": error}, agent)

    def edit(self) -> None:
        path = self.random.choice(sorted(self.files))
        old = self.files[path]
        new = old + f"line added as {self.calls}\n" * self.random.randrange(1, 4)
        self._write(path, new)
        self.seen.discard(path)
        response = {"filePath": path, "oldString": "", "newString": "x", "originalFile": old, "structuredPatch": [], "userModified": False}
        tool_input = {"file_path": path, "old_string": "", "new_string": "x", "replace_all": False}
        self.call("Edit", tool_input, {"response": response, "text": f"The file {path} has been updated."})

    def write(self) -> None:
        path = str(self.project / f"src/new{self.random.randrange(4)}.js")
        text = f"made by {self.calls}\n" * self.random.randrange(1, 30)
        self._write(path, text)
        self.seen.discard(path)
        response = {"type": "create", "filePath": path, "content": text, "structuredPatch": [], "originalFile": None, "userModified": False}
        self.call("Write", {"file_path": path, "content": text}, {"response": response, "text": f"File created successfully at: {path}"})

    def change_by_shell(self) -> None:
        path = self.random.choice(sorted(self.files))
        self._write(path, self.files[path] + "formatted\n" * self.random.randrange(1, 3))
        self.seen.discard(path)
        self.shell(f"sed -i s/a/b/ {path}")

    def move(self) -> None:
        into = self.cwd == str(self.project)
        self.cwd = str(self.project / "src") if into else str(self.project)
        self.shell("cd src" if into else "cd ..")

    def search(self, agent: str = "") -> None:
        word = self.random.choice(("add", "login", "TODO", "import"))
        found = "\n".join(f"src/app.js:{n}:{word}" for n in range(self.random.randrange(4)))
        kind = self.random.randrange(4)
        if kind == 0 and (found or not agent):  # what a subagent's empty Grep says is another test's
            response = {"mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": found.count("\n") + 1}
            answer = {"response": response, "text": found or "No matches found"}
            self.call("Grep", {"pattern": word, "path": self.cwd, "output_mode": "content"}, answer, agent)
        elif kind == 1:
            names = ["src/app.js", "test.js"]
            response = {"filenames": names, "durationMs": 9, "numFiles": 2, "truncated": False}
            self.call("Glob", {"pattern": "**/*.js"}, {"response": response, "text": "\n".join(names)}, agent)
        elif not found:
            self.failing(f"rg -n {word} src", "Exit code 1", agent)
        else:
            self.shell(f"rg -n {word} src | head -20", found, agent)

    def run_tests(self) -> None:
        command = self.random.choice(
            ("npm test", "npm t", "npm run test -- --silent | tail -20", "pytest -q tests/a.py", "pytest", "npx tsc --noEmit")
        )
        if self.random.random() < 0.5:
            self.failing(command, FAILED.format(self.random.randrange(1, 9)))
        else:
            self.shell(command, PASSED.format(self.random.randrange(1, 9)))

    def look(self) -> None:
        path = self.random.choice(sorted(self.files))
        text = self.files[path].rstrip("\n")
        if self.random.random() < 0.5:
            self.shell(f"cat {path}", text)
        else:
            self.shell(f"sed -n 1,2p {path}", "\n".join(text.split("\n")[:2]))

    def other_tool(self) -> None:
        kind = self.random.randrange(6)
        if kind == 0:
            blocks = [{"type": "text", "text": f"value {self.random.randrange(3)}"}]
            self.call("mcp__demo__lookup", {"key": "colour"}, {"response": blocks, "text": blocks})
        elif kind == 1:
            self.call("mcp__demo__fail", {"key": "shape"}, {"error": "no such key: shape"})
        elif kind == 2:
            response = {"task": {"id": "1", "subject": "t1"}}
            self.call("TaskCreate", {"subject": "t1", "description": "d1"}, {"response": response, "text": "Task #1 created: t1"})
        elif kind == 3:
            todos = [{"content": "fix", "status": "pending", "activeForm": "Fixing"}]
            self.call("TodoWrite", {"todos": todos}, {"response": {"oldTodos": [], "newTodos": todos}, "text": "Todos have been modified"})
        elif kind == 4:
            response = {"questions": [], "answers": {"which?": "this"}}
            self.call("AskUserQuestion", {"questions": [{"question": "which?"}]}, {"response": response, "text": "User answered: this"})
        else:
            self.call("Read", {"file_path": str(self.project / "nope.txt")}, {"error": "File does not exist."})

    def agent(self) -> None:
        """A subagent with calls of its own, then its answer on the main thread."""
        self._pass()
        tool_input = {"description": "sub job", "prompt": "do it", "subagent_type": "general-purpose", "run_in_background": False}
        (asked,) = self._asked([("Agent", tool_input)])
        agent = f"a{len(self.chains):016x}"
        if self.chains and self.prompt_ids and self.random.random() < 0.3:
            agent = self.random.choice(list(self.chains))  # newer clients send a subagent on with a message
        else:
            self.chains[agent] = None
        self.before.append(self._line("user", agent, promptId=self.prompt_id, message={"role": "user", "content": "do it"}))
        for _ in range(self.random.randrange(1, 4)):
            if self.random.random() < 0.5:
                tool, read_input, answer = self.reading()
                self.seen.clear()
                self.call(tool, read_input, answer, agent)
            else:
                self.search(agent)
        self._pass()
        content = [{"type": "text", "text": f"the job is done: {self.calls}"}]
        response = {
            "status": "completed",
            "prompt": "do it",
            "agentId": agent,
            "content": content,
            "totalTokens": 9024,
            "totalToolUseCount": 2,
        }
        self._done(asked, ("Agent", tool_input), {"response": response, "text": content})

    def begin(self) -> None:
        self._step(self._payload("SessionStart", source="startup", model="claude-opus-4-8"), [])
        self.prompt()

    def prompt(self, words: str = "") -> None:
        self._pass(60.0)
        self.prompt_id = self._id()
        words = words or f"please do thing {len(self.steps)}"
        self._step(
            self._payload("UserPromptSubmit", prompt=words),
            [self._line("user", promptId=self.prompt_id, message={"role": "user", "content": words})],
        )

    def stop(self) -> None:
        self._pass(0.15)
        self.before.append(self._used("msg_" + self._id()[:8], {"type": "text", "text": "that is done"}))
        self._step(self._payload("Stop", stop_hook_active=False), [self._line("system", subtype="stop_hook_summary")])

    def command(self, words: str) -> None:
        """A /popkit:context command, which the hook answers and the host keeps as a line of its own."""
        self._pass()
        line = self._line("system", subtype="informational", level="warning", content="UserPromptSubmit operation blocked by hook:\nPopKit")
        self._step(self._payload("UserPromptSubmit", prompt="/popkit:context " + words), [line])

    def compact(self, keeps: bool) -> None:
        """The conversation is folded; with `keeps` the host carries its last call and result over. Then the user goes on."""
        self._pass()
        self._step(self._payload("PreCompact", trigger="manual", custom_instructions=""), [])
        self._pass()
        payload = self._payload("SessionStart", source="compact", model="claude-opus-4-8")
        metadata: dict = {"trigger": "manual", "preTokens": 1000}
        if keeps:
            metadata["preservedMessages"] = {"uuids": list(self.last_group), "allUuids": list(self.last_group)}
        self.leaf = None
        boundary = self._line("system", subtype="compact_boundary", logicalParentUuid=self._id(), compactMetadata=metadata)
        summary = self._line(
            "user", isCompactSummary=True, isVisibleInTranscriptOnly=True, message={"role": "user", "content": "In short: …"}
        )
        self._step(payload, [boundary, summary])
        self.seen.clear()
        self.prompt()

    def end_and_resume(self) -> None:
        self._pass()
        self._step(self._payload("SessionEnd", reason="prompt_input_exit"), [])
        self.now += 3_600.0
        self._step(self._payload("SessionStart", source="resume", model="claude-opus-4-8"), [])
        self.seen.clear()
        self.prompt()

    def reject(self) -> None:
        """A call that the client refuses: it is in the transcript, and no hook hears of it."""
        self._pass()
        (asked,) = self._asked([("Edit", {"file_path": str(self.project / "test.js"), "old_string": "nowhere", "new_string": "x"})])
        error = "<tool_use_error>String to replace not found in file.\nString: nowhere</tool_use_error>"
        block = {"type": "tool_result", "content": error, "is_error": True, "tool_use_id": asked[0]}
        line = self._line("user", promptId=self.prompt_id, message={"role": "user", "content": [block]})
        line[1].update(parentUuid=asked[1], toolUseResult="Error: String to replace not found in file.\nString: nowhere")
        self.before.append(line)

    def something(self) -> None:
        """One of the things that happen in a session."""
        kinds: list[tuple[int, Callable]] = [
            (26, lambda: self.call(*self.reading())),
            (8, lambda: self.together([self.reading() for _ in range(self.random.randrange(2, 4))])),
            (14, self.search),
            (10, self.run_tests),
            (10, self.edit),
            (3, self.write),
            (4, self.change_by_shell),
            (5, self.look),
            (2, self.move),
            (6, self.other_tool),
            (3, lambda: self.shell("git add -A && git commit -qm fix", "")),
            (4, lambda: self.shell(self.random.choice(("mkdir -p build", "git status", "node -v && ls src", "echo done")), "x")),
            (2, self.agent),
            (5, self._next_turn),
        ]
        self.random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]()

    def _next_turn(self) -> None:
        self.stop()
        self.prompt()


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def day(folder: Path, random_: random.Random, calls: int, **how) -> Day:
    """A session of at least so many calls with a compaction, an end and a resume in it, stopped at the end of a turn."""
    played = Day(folder, random_, **how)
    played.begin()
    events = [lambda: played.compact(keeps=False), played.end_and_resume, lambda: played.compact(keeps=True)]
    while played.calls < calls:
        if events and played.calls > calls * (4 - len(events)) // 5:
            events.pop(0)()
        played.something()
    played.stop()
    return played


def play(steps: list[Step], run: Callable[[dict, float], dict | None], late: random.Random | None = None) -> None:
    """Feeds the steps: files, lines, hook, lines. With `late` some lines reach the file only after the next hook, if that comes soon.
    `run` returns what the hook answers; another tool output in it is what the lines hold."""
    held: list = []
    for number, step in enumerate(steps):
        for path, text in step.written.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        soon = number + 1 < len(steps) and _hurries(step, steps[number + 1])
        if late is None or not held:
            _append(step.before)
        else:
            held += step.before
        _replace_output(step, run(step.payload, step.at))
        _append(held)
        held = []
        if late is not None and soon and late.random() < 0.5:
            held = list(step.after)
        else:
            _append(step.after)
    _append(held)


def _replace_output(step: Step, answer: dict | None) -> None:
    """Writes the output that a hook gives in place of a Read's."""
    response = (answer or {}).get("hookSpecificOutput", {}).get("updatedToolOutput")
    if response is None:
        return
    file = response["file"]
    for _, entry in step.after:
        entry["message"]["content"][0]["content"] = _numbered(file["content"].split("\n"), file["startLine"])
        if "toolUseResult" in entry:
            entry["toolUseResult"] = response


def _hurries(step: Step, following: Step) -> bool:
    """Whether the next hook may run before the lines of this one are written. A hook that answers a person waits for them."""
    if step.payload.get("source") == "compact" or following.payload.get("prompt", "").startswith("/popkit:"):
        return False
    return following.at - step.at < LAG_S


def _append(lines: list) -> None:
    for path, entry in lines:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
