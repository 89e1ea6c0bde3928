"""A home, a project and the transcript of a session in it, which tests clear, undo and restore."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from popkit_retention.core import archive
from popkit_retention.core.archive.verification import verify
from popkit_retention.core.hosts.transcripts.projects import folder_name
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.state import reconciling, store
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.state.site import Site
from tests.hooks.processes import ROOT
from tests.hosts.lines import Lines
from tests.kit.forks import Command, Done, Forks, Hook
from tests.reclaim import earlier

SESSION = "5e551019-0000-4000-8000-000000000001"
BEGAN = 1_790_000_000.0
STEP_S = 10.0
# A while after the last line: the prompt cache is cold.
LATER_S = 4_000.0


def stamp(seconds: float) -> str:
    """A time as the host writes it."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def spoke(path: Path, seconds: float) -> None:
    """The last that happened in a session was then: an entry of its transcript that says nothing of it."""
    with path.open("a") as file:
        file.write(json.dumps({"type": "queue-operation", "operation": "remove", "timestamp": stamp(seconds)}) + "\n")


def code(lines: int, name: str = "value") -> str:
    """A file of so many lines, about 30 characters each."""
    return "".join(f"export const {name}{n} = {n * 7919};\n" for n in range(lines))


def numbered(text: str) -> str:
    """What the model sees of a file."""
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.split("\n"), 1))


class Talk(Lines):
    """A transcript in the making, with a prompt cache. `tokens` is the prompt of the newest request."""

    def __init__(self, cwd: str = "/shop", version: str = "2.1.330", session_id: str = SESSION, tokens: int = 20_000):
        super().__init__()
        self.cwd, self.version, self.session_id, self.tokens = cwd, version, session_id, tokens

    @property
    def now(self) -> float:
        """When the last line was written."""
        return BEGAN + STEP_S * (len(self.entries) - 1)

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        common = {"timestamp": stamp(BEGAN + STEP_S * len(self.entries)), "cwd": self.cwd, "sessionId": self.session_id}
        return super().add(kind, parent, **{**common, "version": self.version, **fields})

    def use(self, id: str, tool: str, tool_input: dict, message: str = "", usage: dict | None = None, text: str = "", **fields) -> str:
        self.tokens += 500
        counted = {"input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": self.tokens - 503, "output_tokens": 9}
        return super().use(id, tool, tool_input, message, usage or counted, text, **fields)

    def read(self, id: str, path: str, text: str, **asked) -> None:
        """A whole Read call; `asked` are offset and limit."""
        self.use(id, "Read", {"file_path": path, **asked})
        lines = text.split("\n")
        first = asked.get("offset", 1)
        lines = lines[first - 1 : first - 1 + asked["limit"]] if "limit" in asked else lines
        file = {
            "filePath": path,
            "content": "\n".join(lines),
            "numLines": len(lines),
            "startLine": first,
            "totalLines": text.count("\n") + 1,
        }
        self.result(id, numbered("\n".join(lines)), {"type": "text", "file": file})

    def edit(self, id: str, path: str, old: str = "1", new: str = "2", original: str = "1\n") -> None:
        self.use(id, "Edit", {"file_path": path, "old_string": old, "new_string": new})
        patch = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-" + old, "+" + new]}
        structure = {"filePath": path, "oldString": old, "newString": new, "originalFile": original, "structuredPatch": [patch]}
        self.result(id, f"The file {path} has been updated.", {**structure, "userModified": False, "replaceAll": False})

    def glob(self, id: str, pattern: str, names: list[str]) -> None:
        self.use(id, "Glob", {"pattern": pattern})
        self.result(id, "\n".join(names), {"filenames": names, "durationMs": 3, "numFiles": len(names), "truncated": False})

    def ask(self, id: str, question: str, answer: str) -> None:
        self.use(id, "AskUserQuestion", {"questions": [{"question": question}]})
        self.result(id, f'User has answered your questions: "{question}"="{answer}".', {"answers": {question: answer}})

    def idle(self, calls: int) -> None:
        """Calls that have nothing to do with what was seen before."""
        for number in range(calls):
            self.bash(f"idle-{len(self.entries)}-{number}", f"mkdir -p out/{len(self.entries)}")


class Thinker(Talk):
    """A talk with thinking before every call and answer, in all the shapes that hosts write: a line of its own, two of them, in the line
    of the call, none."""

    def use(self, id: str, tool: str, tool_input: dict, message: str = "", *given, **fields) -> str:
        message = message or "m-" + id
        shape = len(self.entries) % 5
        if shape in (1, 2):
            self.think(message, redacted=True)
        if shape in (0, 1, 3):
            self.think(message)
        uuid = super().use(id, tool, tool_input, message, *given, **fields)
        if shape == 2:
            content = self.entries[-1]["message"]["content"]
            content[:] = [thought("in one line"), {"type": "text", "text": "I look, [thinking]."}, *content]
        return uuid

    def say(self, text: str, usage: dict | None = None, **fields) -> str:
        message = f"m{len(self.entries)}"
        self.think(message)
        uuid = super().say(text, usage, **fields)
        self.entries[-1]["message"]["id"] = message
        return uuid

    def think(self, message: str, redacted: bool = False, **fields) -> str:
        """A line of thinking alone."""
        block = {"type": "redacted_thinking", "data": "c2VhbGVk" * 60} if redacted else thought(f"What to do, {len(self.entries)}?")
        body = {"id": message, "role": "assistant", "content": [block], "model": "claude-opus-5", "stop_reason": None}
        return self.add("assistant", message=body, **fields)


def thought(text: str) -> dict:
    """A thinking block."""
    return {"type": "thinking", "thinking": text, "signature": "c2VhbGVk" * 40}


def worked(cwd: str = "/shop", kind: type[Talk] = Talk, **how) -> Talk:
    """A session with a result of every fate. Expired and past their grace: `old-test`, `found`, `read-old`. Expired lately: `read-app`.
    Expired and small: `read-tiny`. Live: `read-lib`, `new-test`. Preserved: `failed`, `asked`."""
    talk = kind(cwd, **how)
    talk.prompt("please fix it")
    talk.read("read-old", cwd + "/old.ts", code(120))
    talk.edit("edit-old", cwd + "/old.ts")
    talk.read("read-tiny", cwd + "/tiny.ts", "x\n")
    talk.edit("edit-tiny", cwd + "/tiny.ts")
    talk.glob("found", "**/*.ts", [f"{cwd}/src/part{n}.ts" for n in range(60)])
    talk.bash("old-test", "npm test", "".join(f"  ok {n} - adds and takes away\n" for n in range(90)))
    talk.ask("asked", "which one?", "the second " * 40)
    talk.use("failed", "mcp__demo__deploy", {"to": "shop"})
    talk.result("failed", "no such place: shop\n" * 40, "Error: " + "no such place: shop\n" * 40, error=True)
    talk.idle(22)
    talk.read("read-lib", cwd + "/lib.ts", code(90, "lib"))
    talk.read("read-app", cwd + "/app.ts", code(100, "app"))
    talk.edit("edit-app", cwd + "/app.ts")
    talk.bash("new-test", "npm test", "".join(f"  ok {n} - adds and takes it away\n" for n in range(90)))
    talk.say("Done.")
    return talk


EXPIRED = {"read-old", "found", "old-test"}  # what a clear takes unasked
LATELY = {"read-app"}  # and with --now
LIVE = {"read-lib", "new-test"}


class Later(Talk):
    """What a session says after a break."""

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        return super().add(kind, parent, timestamp=stamp(BEGAN + 2 * LATER_S + STEP_S * len(self.entries)), **fields)


class Shop:
    """Everything that a session has on disk. `at` is the time of day. Its user has configured the profile `spec`, under which a clear goes
    by lifetime and grace, unless a test asks for another; "" for none, which is what is shipped."""

    def __init__(self, folder: Path, forks: Forks | None = None, session_id: str = SESSION, profile: str = "spec"):
        self.folder, self.forks, self.session_id, self.profile = folder, forks, session_id, profile
        self.claude, self.home, self.project = folder / "claude", folder / "popkit", folder / "shop"
        self.transcript = self.claude / "projects" / folder_name(str(self.project)) / f"{session_id}.jsonl"
        self.project.mkdir(parents=True, exist_ok=True)
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.at = BEGAN
        if profile:
            self.configure()

    # --- the world -------------------------------------------------------------------------------------------------------------

    def write(self, talk: Talk) -> bytes:
        """Lays the transcript down; it was written a while ago."""
        talk.write(self.transcript)
        self.at = talk.now + LATER_S
        return self.transcript.read_bytes()

    def environ(self, **more: str) -> dict[str, str]:
        folders = {"POPKIT_HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.claude), "HOME": str(self.folder)}
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **folders, "POPKIT_CLOCK": repr(self.at), **more}

    def configure(self, where: str = "user", **retention: object) -> None:
        """Writes the configuration of the user, whose profile stays, or of the project."""
        path = self.home / "retention-config.json" if where == "user" else self.project / ".claude" / "retention-config.json"
        if where == "user" and self.profile:
            retention = {"profile": self.profile, **retention}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"retention": retention}))

    # --- the operations --------------------------------------------------------------------------------------------------------

    def site(self) -> Site:
        return Site(self.environ(), self.session_id, str(self.project))

    def clear(self, **asked) -> tuple[earlier.Prospect, earlier.Cleared | None]:
        """Leaves placeholders in the transcript, as earlier versions did."""
        return earlier.clear(self.site(), str(self.transcript), self.at, Selection(**asked))

    def prospect(self, **asked) -> earlier.Prospect:
        """What a clear would take."""
        return earlier.prospect(self.site(), str(self.transcript), self.at, Selection(**asked))

    def noted(self) -> SessionNotes:
        """What was asked of the session, to be done once it is resumed."""
        return SessionNotes(str(self.home), self.session_id)

    def popkit(self, *words: str, **how) -> Done:
        """`popkit WORDS`, in a process of its own; see `Forks.run`."""
        environ = self.environ(**how.pop("environ", {}))
        return self.forks.run(Command([*words], how.pop("payload", b"")), environ, cwd=str(self.project), **how)

    def goes_on(self, talk: Talk, there: int) -> bytes:
        """The client appends what a talk has behind its first so many entries; returns these lines."""
        more = b"".join(json.dumps(entry).encode() + b"\n" for entry in talk.entries[there:])
        with self.transcript.open("ab") as file:
            file.write(more)
        return more

    def context(self, *words: str, **how) -> Done:
        """`popkit context WORDS` for this session."""
        return self.popkit("context", *words, "--session", self.session_id, **how)

    def hook(self, name: str, **payload: object) -> Done:
        """One hook, in a process of its own."""
        common = {"session_id": self.session_id, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        return self.forks.run(Hook(name, {**common, **payload}), self.environ(CLAUDE_PROJECT_DIR=str(self.project)))

    # --- what came of it -------------------------------------------------------------------------------------------------------

    def entries(self) -> list[dict]:
        return [json.loads(line) for line in self.transcript.read_bytes().splitlines()]

    def contents(self) -> dict[str, object]:
        """tool_use id -> content of every result in the transcript."""
        return contents_of(self.transcript.read_bytes())

    def cleared(self) -> dict[str, str]:
        """tool_use id -> handle of every placeholder in the transcript."""
        return {id: handle_in(content) for id, content in self.contents().items() if handle_in(content)}

    def archived(self, handle: str) -> object:
        """The content that the archive holds for a handle."""
        db = archive.open_archive(str(self.home / "archive.sqlite"), create=False)
        try:
            record = archive.retrieve_record(db, handle)
            return None if record is None else json.loads(record["content"])
        finally:
            db.close()

    def archive_report(self) -> tuple:
        """(records, clears that were not undone), the archive verified."""
        path = self.home / "archive.sqlite"
        if not path.exists() or not path.stat().st_size:
            return 0, 0
        db = archive.open_archive(str(path), create=False)
        try:
            report = verify(db)
            assert not report.broken, report.broken
            count = db.execute("SELECT count(*) FROM thought_records").fetchone()[0]
            return count, db.execute("SELECT count(*) FROM clears WHERE undone_at IS NULL").fetchone()[0]
        finally:
            db.close()

    def state(self):
        """The context as transcript and journal tell it."""
        return reconciling.reconcile(self.site(), str(self.transcript), now=self.at).state

    def ledger(self) -> dict:
        return self.state().counts.ledger

    def assert_state_follows(self) -> None:
        """What is stored is what a rebuild gives, however often."""
        rebuilt = reconciling.reconcile(self.site(), str(self.transcript))
        first = self.known()
        assert shared_facts(rebuilt.state) == first[0]
        reconciling.reconcile(self.site(), str(self.transcript))
        assert self.known() == first
        assert set(first[1].values()) - {""} == set(self.cleared().values()), "exactly what has a placeholder counts as cleared"

    def known(self) -> tuple:
        """(the stored state but for what only one side can know, id -> handle or "" of everything that is expired)."""
        paths = self.site().paths()
        stored = store.load(paths)
        assert stored is not None
        return shared_facts(stored.state), {id: result.cleared for id, result in store.read_expired(paths, stored.state).items()}


def contents_of(data: bytes) -> dict[str, object]:
    found = {}
    for line in filter(None, data.split(b"\n")):
        message = json.loads(line).get("message")
        for block in message["content"] if isinstance(message, dict) and isinstance(message.get("content"), list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                found[block["tool_use_id"]] = block.get("content")
    return found


def assert_only_contents_changed(before: bytes, after: bytes, ids: set[str]) -> None:
    """Line by line, byte by byte: of these results the content became a placeholder, and nothing else is different."""
    old_lines, new_lines = before.split(b"\n"), after.split(b"\n")
    assert len(old_lines) == len(new_lines)
    changed = set()
    for old, new in zip(old_lines, new_lines):
        if old == new:
            continue
        old_text, new_text, old_at, new_at = old.decode(), new.decode(), 0, 0
        for id, content in contents_of(new).items():
            if id not in ids:
                continue
            changed.add(id)
            assert handle_in(content)
            text = json.dumps(content, ensure_ascii=False)
            here = new_text.index(text, new_at)
            assert old_text.startswith(new_text[new_at:here], old_at)
            known, old_at = json.JSONDecoder().raw_decode(old_text, old_at + here - new_at)
            assert known == contents_of(old)[id]
            new_at = here + len(text)
        assert old_text[old_at:] == new_text[new_at:]
        assert len(new) < len(old)
    assert changed == ids


__all__ = [
    "EXPIRED", "LATELY", "LIVE", "ROOT", "SESSION", "Shop", "Talk", "Thinker", "assert_only_contents_changed", "code", "contents_of",
    "thought", "worked",
]  # fmt: skip
