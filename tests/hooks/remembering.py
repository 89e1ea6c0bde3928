"""A project whose sessions are remembered, the hooks in it, and hooks beside a `popkit` that waits: whether, how and when it is started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from popkit_retention.core.state import memory, store
from tests.hooks import payloads
from tests.hooks.processes import HOOKS, Home, copy_hooks, feed, finish, run_event, start_argv
from tests.patience import until

MEMORY = "# Memory of shop\n\n- `src/app.js`, `test.js`\n- `npm test`"


class Remembering:
    """A project with a memory, and the hooks of a session in it."""

    def __init__(self, folder: Path):
        self.home = Home(folder)
        self.work = folder / "shop"
        (self.work / "src").mkdir(parents=True)
        (self.work / ".git").mkdir()
        self.transcript = folder / f"{payloads.SESSION}.jsonl"
        self.transcript.write_text("")
        self.project = memory.project_of(str(self.home.path), str(self.work))

    def remember(self, document: str = MEMORY) -> None:
        self.project.turn_on(1.0)
        self.project.write_document(document)

    def tell(self, maker, *words, hooks: Path = HOOKS, **more):
        """Runs the hook of an event."""
        payload = maker(*words, **{"cwd": str(self.work), "transcript_path": str(self.transcript), **more})
        ran = run_event(payload, self.env())
        assert ran.failed_open or ran.in_words, ran
        return ran

    def env(self) -> dict[str, str]:
        return self.home.env(CLAUDE_CONFIG_DIR=str(self.home.parent / "claude"))

    def begin(self, source: str = "startup", **more) -> str:
        """What the model is told at a session's start."""
        ran = self.tell(payloads.session_start, source, **more)
        return context_of(ran.stdout)

    def booked(self) -> list[dict]:
        return [entry for entry in store.read_lines(self.home.paths(payloads.SESSION).journal) if entry["event"] == "memory"]


def context_of(stdout: bytes) -> str:
    """What a hook tells the model."""
    return json.loads(stdout).get("hookSpecificOutput", {}).get("additionalContext", "") if stdout else ""


BLOCKS = """
import os, sys
report = os.environ["REPORT"]
with open(report + ".tmp", "w") as file:
    print(os.getpid(), os.getpgid(0), os.getsid(0), *sys.argv[1:], sep="\\n", file=file)
os.rename(report + ".tmp", report)
open(os.environ["FIFO"]).read()
with open(report + ".done", "w") as file:
    file.write(os.environ["POPKIT_HOME"])
"""


@pytest.fixture(scope="session")
def blocking_hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the hooks, beside a `popkit` that waits."""
    hooks = tmp_path_factory.mktemp("blocking") / "hooks"
    copy_hooks(hooks)
    (hooks / "popkit.py").write_text(BLOCKS)
    return hooks


class Blocking:
    """The hooks beside a `popkit` that tells how it was called and then waits until somebody writes to a pipe."""

    def __init__(self, shop: Remembering, folder: Path, hooks: Path):
        """`hooks`: those beside such a `popkit`."""
        self.hooks = hooks
        self.report, self.fifo = folder / "report", folder / "fifo"
        os.mkfifo(self.fifo)
        self.shop = shop
        self.env = {**shop.env(), "REPORT": str(self.report), "FIFO": str(self.fifo)}

    def run(self, script: str, payload: dict):
        """Runs a hook to its end, its output read to the end too."""
        process = start_argv([sys.executable, "-S", "-E", str(self.hooks / f"{script}.py")], self.env)
        feed(process, {**payload, "cwd": str(self.shop.work), "transcript_path": str(self.shop.transcript)})
        return finish(process)

    def child(self) -> list[str]:
        """What the child has told of itself."""
        until(self.report.exists, "a child was started")
        return self.report.read_text().splitlines()

    def let_go(self) -> None:
        self.fifo.open("w").close()
        until(self.report.with_name("report.done").exists, "the child goes on")
