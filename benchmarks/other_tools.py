"""The tools of others that shorten tool results, each asked as its host would ask it.

A tool's `changes` are {id of a result: Change} over one session, in which it has a home of its own with nothing in it. Tools of Python are
installed from PyPI in an environment of their own, sqz from crates.io, opencode-dcp from npm, in the versions that are named here.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import venv
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

from shown_results import until

from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.entries import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shown_results import Recording, Shown

PATIENCE_S = 300.0
SESSION = "00000000-0000-4000-8000-00000000b0b0"
# Claude Code's names of what a hook may put in the place of a result, beside the field that the tool's own schema has.
_REPLACED = ("updatedToolOutput", "updatedMCPToolOutput")
# What of a result's record its reader sees, by tool; all texts where the tool is not here.
_SEEN = {"Bash": (("stdout",), ("stderr",)), "Read": (("file", "content"),)}


class Change(NamedTuple):
    """What enters in the place of a result, and how many characters it replaces."""

    text: str
    replaces: int


class CannotRun(Exception):
    """Why a tool cannot be run here."""


def payload(shown: Shown) -> dict[str, Any]:
    """Return what Claude Code writes to a PostToolUse hook."""
    return {
        "session_id": SESSION, "transcript_path": "/nonexistent", "cwd": "/nonexistent", "hook_event_name": "PostToolUse",
        "tool_name": shown.tool, "tool_input": shown.tool_input, "tool_response": shown.response, "tool_use_id": shown.id,
    }  # fmt: skip


def change_of(shown: Shown, printed: str) -> Change | None:
    """Return the change that a hook's answer makes; None where it leaves the result as it is, or says nothing that the host understands."""
    try:
        answer = json.loads(printed)["hookSpecificOutput"]
    except (ValueError, TypeError, KeyError):
        return None
    output = next((answer[name] for name in _REPLACED if name in answer), None) if isinstance(answer, dict) else None
    return None if output is None else Change(seen(shown.tool, output), len(seen(shown.tool, shown.response)))


def seen(tool: str, response: object) -> str:
    """Return the text of a result's record that the model sees."""
    if isinstance(response, dict) and tool in _SEEN:
        return "\n".join(text for text in (_at(response, path) for path in _SEEN[tool]) if text)
    if isinstance(response, dict):
        response = list(response.values())
    if isinstance(response, list):
        return "\n".join(text for text in (seen("", item) for item in response) if text)
    return response if isinstance(response, str) else ""


def _at(record: object, path: Sequence[str]) -> str:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, str) else ""


def spent(command: Sequence[str], given: str, env: dict[str, str]) -> tuple[float, str]:
    """Return the seconds of processor time of a process with its children, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=given, env=env, cwd=env["HOME"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def environment(home: str) -> dict[str, str]:
    """Return the environment of a tool: nothing of the user's but the language."""
    return {"HOME": home, "PATH": os.defpath, "LC_ALL": "C.UTF-8", "COZEMPIC_NO_GLOBAL_INIT": "1", "COZEMPIC_NO_AUTO_UPDATE": "1"}


class Tool(ABC):
    """A tool of somebody else's. `kept`: how it is named and in which version; `asked`: how it is run here."""

    name = version = asked = ""
    in_the_middle = False  # whether it is asked once, about what the first half of a session holds

    def __init__(self, folder: Path) -> None:
        self.place = folder / self.name

    @property
    def python(self) -> str:
        return str(self.place / "bin" / "python")

    def is_there(self) -> bool:
        """Return whether the tool is installed."""
        return Path(self.python).exists()

    def install(self) -> None:
        """Install the tool in its folder, where it does not lie there already; raise CannotRun with what pip said."""
        if self.is_there():
            return
        venv.create(self.place)
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--disable-pip-version-check"]
        self._made([*pip, f"{self.name}=={self.version}"])

    def _made(self, command: Sequence[str]) -> None:
        print(f"{self.name}: installing", file=sys.stderr, flush=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(self.place, ignore_errors=True)
            raise CannotRun((done.stderr.strip().splitlines() or ["nothing was said"])[-1])

    @abstractmethod
    def changes(self, recording: Recording) -> dict[str, Change]:
        """Return the changes in one session."""

    def hook(self, _tool: str) -> list[str]:
        """Return the command that the host runs after a call of a tool; empty for none."""
        return []


class Sqz(Tool):
    """sqz's hook after Bash. Its other hook puts the command into a pipe before it runs, which a recording cannot show."""

    name, version, asked = "sqz", "2.1.1", "PostToolUse hook"

    def is_there(self) -> bool:
        return (self.place / "bin" / "sqz").exists()

    def install(self) -> None:
        """Install sqz with cargo: the package on PyPI fetches the program from GitHub as it first runs."""
        if self.is_there():
            return
        if shutil.which("cargo") is None:
            raise CannotRun("there is no cargo to install it with")
        self._made(["cargo", "install", "sqz-cli", "--version", self.version, "--locked", "--quiet", "--root", str(self.place)])

    def hook(self, tool: str) -> list[str]:
        return [str(self.place / "bin" / "sqz"), "hook", "claude-post"] if tool == "Bash" else []

    def changes(self, recording: Recording) -> dict[str, Change]:
        found = {}
        with tempfile.TemporaryDirectory() as home:
            for shown in recording.results:
                command = self.hook(shown.tool)
                if command and shown.response is not None:
                    change = change_of(shown, spent(command, json.dumps(payload(shown)), environment(home))[1])
                    if change:
                        found[shown.id] = change
        return found


class Kompactor(Tool):
    """kompactor's hooks after calls: one process runs its handlers for all results, which decide as a process for each would. Its outline
    of a large file answers before the call, from the file on disk; its shell prefix runs the command: a recording can show neither."""

    name, version, asked = "kompactor", "0.8.8", "PostToolUse hooks"
    handlers = {"Bash": "post-bash", "Grep": "post-explore", "Glob": "post-explore", "Read": "post-explore"}  # noqa: RUF012  read only
    program = """
import io, json, sys
from kompactor import hooks
given, printed = sys.stdin, sys.stdout
for line in given:
    name, payload = json.loads(line)
    sys.stdin, sys.stdout = io.StringIO(json.dumps(payload)), io.StringIO()
    hooks.run(name)
    print(json.dumps(sys.stdout.getvalue()), file=printed)
"""

    def hook(self, tool: str) -> list[str]:
        launcher = str(next(self.place.glob("lib/python*/site-packages/kompactor/_launch.py")))
        return [self.python, launcher, "hook", self.handlers[tool]] if tool in self.handlers else []

    def changes(self, recording: Recording) -> dict[str, Change]:
        asked = [shown for shown in recording.results if shown.tool in self.handlers and shown.response is not None]
        with tempfile.TemporaryDirectory() as home:
            given = "".join(json.dumps([self.handlers[shown.tool], payload(shown)]) + "\n" for shown in asked)
            printed = spent([self.python, "-c", self.program], given, environment(home))[1].splitlines()
        if len(printed) != len(asked):
            raise CannotRun(f"it answered {len(printed)} of {len(asked)} results")
        changed = {shown.id: change_of(shown, json.loads(line)) for shown, line in zip(asked, printed)}
        return {id: change for id, change in changed.items() if change}


class Trimtok(Tool):
    """trimtok's two tools over MCP, with the whole result as its argument: the model has to call them. `spent_s`, `calls`: processor time
    of the servers and what they were asked."""

    name, version, asked = "trimtok", "4.2.5", "its MCP tools"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spent_s, self.calls = 0.0, 0

    def changes(self, recording: Recording) -> dict[str, Change]:
        calls = [call_of(number, shown) for number, shown in enumerate(recording.results)]
        with tempfile.TemporaryDirectory() as home:
            given = "".join(json.dumps(call) + "\n" for call in calls)
            seconds, printed = spent([self.python, "-m", "trimtok.mcp_server"], given, environment(home))
        self.spent_s, self.calls = self.spent_s + seconds, self.calls + len(calls)
        texts = [compressed_of(line) for line in printed.splitlines()]
        if len(texts) != len(calls):
            raise CannotRun(f"it answered {len(texts)} of {len(calls)} results")
        changed = [(shown, text) for shown, text in zip(recording.results, texts) if text is not None and text != shown.text]
        return {shown.id: Change(text, len(shown.text)) for shown, text in changed}


def call_of(number: int, shown: Shown) -> dict[str, Any]:
    """Return the call of trimtok's tool for a result."""
    arguments = {"command": str(shown.tool_input.get("command", "")), "output": shown.text}
    name = "trimtok_compress_terminal"
    if shown.tool != "Bash":
        name, arguments = "trimtok_compress_tool", {"tool_name": shown.tool, "result": shown.text}
    parameters = {"name": name, "arguments": {**arguments, "session_id": SESSION}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}


def compressed_of(line: str) -> str | None:
    """Return the text in an answer of trimtok's server; None for an error."""
    try:
        text = json.loads(json.loads(line)["result"]["content"][0]["text"])["compressed"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return text if isinstance(text, str) else None


class Cozempic(Tool):
    """cozempic's standard prescription over the transcript of a session that has come to its middle, which it writes anew."""

    name, version, asked = "cozempic", "1.8.39", "treat -rx standard, in the middle"
    in_the_middle = True

    def changes(self, recording: Recording) -> dict[str, Change]:
        lines = recording.path.read_text(encoding="utf-8", errors="replace")
        lines = until(lines, recording.messages[recording.middle]) if recording.messages else lines
        with tempfile.TemporaryDirectory() as home:
            copied = Path(home, ".claude", "projects", "-nonexistent", f"{SESSION}.jsonl")
            copied.parent.mkdir(parents=True)
            copied.write_text(lines, encoding="utf-8")
            command = [str(self.place / "bin" / "cozempic"), "treat", str(copied), "-rx", "standard", "--execute"]
            printed = spent(command, "", environment(home))[1]
            left, before = results_in(copied.read_text(encoding="utf-8", errors="replace")), results_in(lines)
        if "WOULD" in printed or not printed:
            raise CannotRun((printed.strip().splitlines() or ["it printed nothing"])[-1])
        return {id: Change(left.get(id, ""), len(text)) for id, text in before.items() if left.get(id, "") != text}


def results_in(lines: str) -> dict[str, str]:
    """Return id of a call -> the text of its result, from a transcript's lines."""
    found = {}
    for line in lines.split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        for block in blocks_of(entry) if isinstance(entry, dict) else ():
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                found[block["tool_use_id"]] = text_of_blocks(block.get("content"))[0]
    return found


class OpencodeDcp(Tool):
    """opencode-dcp's rules for repeated calls and errors, over the messages of a session that has come to its middle, in OpenCode's form.
    They run when the model calls its tool, which is called once for that; what a model would summarise with it is not in the figures."""

    name, version, asked = "opencode-dcp", "3.1.14", "its rules without a model, in the middle"
    in_the_middle = True

    def is_there(self) -> bool:
        return self.module.exists()

    @property
    def module(self) -> Path:
        return self.place / "node_modules" / "@tarquinen" / "opencode-dcp" / "dist" / "index.js"

    def install(self) -> None:
        """Install opencode-dcp from npm, without running the scripts of packages."""
        if self.is_there():
            return
        if shutil.which("npm") is None:
            raise CannotRun("there is no npm to install it with")
        self.place.mkdir(parents=True, exist_ok=True)
        package = f"@tarquinen/opencode-dcp@{self.version}"
        self._made(["npm", "install", "--prefix", str(self.place), "--no-audit", "--no-fund", "--ignore-scripts", package])

    def changes(self, recording: Recording) -> dict[str, Change]:
        node = shutil.which("node")
        if node is None:
            raise CannotRun("there is no node to run it with")
        results = [shown for shown in recording.results if shown.born <= recording.middle]
        with tempfile.TemporaryDirectory() as home:
            settings = Path(home, ".config", "opencode", "dcp.jsonc")
            settings.parent.mkdir(parents=True)
            settings.write_text('{"autoUpdate": false}')  # else it asks npm for itself
            program = str(Path(__file__).with_name("opencode_dcp.mjs"))
            given = json.dumps({"messages": opencode_messages(results)})
            printed = spent([node, program, str(self.module)], given, environment(home))[1]
        try:
            changed = json.loads(printed)
        except ValueError:
            raise CannotRun("it printed no JSON") from None
        lengths = {shown.id: len(shown.text) for shown in results}
        return {id: Change(text, lengths[id]) for id, text in changed.items()}


def opencode_messages(results: Sequence[Shown]) -> list[dict[str, Any]]:
    """Return a session of OpenCode's form: a prompt, and for each request that was answered with calls a message with their results. Tools
    and the fields of their input have OpenCode's names."""
    model = {"providerID": "anthropic", "modelID": "claude-opus-5"}
    first = {"id": "msg_0", "sessionID": SESSION, "role": "user", "time": {"created": 1}, "agent": "build", "model": model}
    messages = [_opencode_message(first, [{"type": "text", "text": "Go on."}])]
    for number in sorted({shown.born for shown in results}):
        info = {"id": f"msg_{number + 1}", "sessionID": SESSION, "role": "assistant", "parentID": "msg_0", "time": {"created": number + 2}}
        parts = [{"type": "step-start"}, *(_opencode_call(shown) for shown in results if shown.born == number)]
        messages.append(_opencode_message(info, parts))
    return messages


def _opencode_message(info: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    named = [{"id": f"prt_{info['id']}_{at}", "messageID": info["id"], "sessionID": SESSION, **part} for at, part in enumerate(parts)]
    return {"info": info, "parts": named}


def _opencode_call(shown: Shown) -> dict[str, Any]:
    given = {_camel(name): value for name, value in shown.tool_input.items()}
    time = {"start": 1, "end": 1}
    if shown.failed:
        state = {"status": "error", "input": given, "error": shown.text, "time": time}
    else:
        state = {"status": "completed", "input": given, "output": shown.text, "title": "", "metadata": {}, "time": time}
    return {"type": "tool", "callID": shown.id, "tool": shown.tool.lower(), "state": state}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


TOOLS: tuple[type[Tool], ...] = (Sqz, Kompactor, Trimtok, Cozempic, OpencodeDcp)
