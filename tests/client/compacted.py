"""A client home whose conversation is compacted without a model, and what the tests of that ask of its requests."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from .client import ClientHome, Run
from .plugin_copy import linked
from .provider import blocks_of, thoughts
from .reclaimed import EDIT, EXCERPT, LIST, Reclaimed
from .scripted_api import Recorded, ScriptedApi, Step, call, redacted, say, text_of, thought

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PASTED = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "text", "text": "see [[SCRIPT:see]]"},
]
# Calls of "work": the long file that is edited afterwards, the first run.
READ, RUN = "toolu_work_2_0", "toolu_work_1_0"
PICTURE = {"file_path": "{work}/picture.png"}
SCRIPTS = {
    # What stands in the middle is dead: the long file is edited after its Read, the first run is superseded by the last.
    "work": [
        call(("Read", EXCERPT), thinking=(thought("what is noted?"),)),
        call(("Bash", {"command": "npm test"})),
        call(("Read", {"file_path": LIST}), ("Read", {"file_path": "{work}/README.md"}), text="Two files.", thinking=(redacted(),)),
        call(("Edit", EDIT), thinking=(thought("so that is it"),)),
        call(("Write", {"file_path": "{work}/count", "content": "2"})),
        call(("Bash", {"command": "npm test"})),
        say("the work is done", thinking=(thought("done"),)),
    ],
    # The provider says that the window is full while the turn has calls behind it.
    "fill": [
        *(call(("Bash", {"command": f"seq -f 'line %g of number {number}' 300"})) for number in range(3)),
        call(("Read", {"file_path": LIST})),
        call(("Edit", {**EDIT, "old_string": "exports.item0002 =", "new_string": "exports.item2 ="})),
        *(call(("Bash", {"command": f"echo step {number}"})) for number in range(3)),
        call(("Bash", {"command": "echo full"}), text="Nearly there.", cache_read_input_tokens=190_000),
        call(("Bash", {"command": "echo behind"})),
        say("filled"),
    ],
    "see": [call(("Read", PICTURE)), say("seen")],
    # So many calls that what was edited is out of use, see LEAST_QUIET.
    "rest": [*(call(("Bash", {"command": f"echo {number}"})) for number in range(3)), say("rested")],
    "again": [
        call(("Bash", {"command": "rm count; npm test"})),
        call(("Write", {"file_path": "{work}/count", "content": "2"})),
        call(("Bash", {"command": "npm test"})),
        # With fewer, too much is in use for a second compaction without a model.
        *(call(("Bash", {"command": f"echo {number}"})) for number in range(6)),
        say("ran again"),
    ],
}
OWN_ROWS = re.compile(r"<command-name>/(\w+)")


class Compacted(Reclaimed):
    """The plugin as it is shipped; what is answered in place of a summary is `[PopKit …]`."""

    def __init__(self, home: ClientHome, api: ScriptedApi):
        super().__init__(home, api, profile="")
        api.strict = True
        api.scripts.update(SCRIPTS)
        (home.work / "CLAUDE.md").write_text("Always sing while working.\n")
        (home.work / "picture.png").write_bytes(base64.b64decode(PNG))

    def play(self, prompts: Any, resume: str | None = None, **more: Any) -> Run:
        done = self.home.run_headless(prompts, plugin_dir=linked(), resume=resume, **more)
        assert done.returncode == 0, done.stderr
        return done

    def agent(self, script: str) -> Step:
        """A step that has a subagent play a script."""
        job = {"description": "small job", "prompt": f"Do it [[SCRIPT:{script}]]", "subagent_type": "general-purpose"}
        return call(("Agent", {**job, "run_in_background": False}))

    def journal(self, session_id: str, event: str = "") -> list[dict[str, Any]]:
        path = self.popkit_home / "sessions" / session_id / "main.journal.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [entry for entry in map(json.loads, lines) if event in ("", entry["event"])]

    def agrees(self, session_id: str) -> bool:
        """Whether what the hooks keep is what transcript and journal give."""
        return self.stored(session_id) == self.rebuilt(session_id)


@dataclass
class Worked:
    """A session that has something to leave: the scripts "work" and "rest" were played. `last`: its last request."""

    world: Compacted
    session_id: str
    last: Recorded


def work(home: ClientHome, api: ScriptedApi) -> Worked:
    """Play it in one headless process."""
    world = Compacted(home, api)
    done = world.play(["go [[SCRIPT:work]]", "and [[SCRIPT:rest]]"])
    return Worked(world, done.session_id, api.turns()[-1])


def good(request: Recorded) -> list[str]:
    """What the provider would refuse in a request."""
    return [*request.faults]


def words(request: Recorded, role: str) -> list[str]:
    """What one side said, without reminders and the rows of commands."""
    texts = [block["text"].strip() for message in request.body["messages"] if message["role"] == role for block in blocks_of(message)
             if block["type"] == "text"]  # fmt: skip
    return [text for text in texts if not text.startswith("<")]


def boundaries(run: Run) -> list[dict[str, Any]]:
    """What the host says of each compaction of a run, the time from the event to the answer among it."""
    return [event["compact_metadata"] for event in run.events if event.get("subtype") == "compact_boundary"]


def toasts(run: Run) -> list[str]:
    return [event["text"] for event in run.events if event.get("subtype") == "ui_toast"]


def thinks(request: Recorded) -> list[dict[str, Any]]:
    return [block for _, block in thoughts(request.body["messages"])]


def own_rows(request: Recorded) -> list[str]:
    """The commands whose rows a request has."""
    return OWN_ROWS.findall(request.text)


def shape(request: Recorded) -> str:
    """Roles and sizes of a request, for people: `user 23, assistant call 76, …`."""
    sizes = []
    for message in request.body["messages"]:
        for block in blocks_of(message):
            size = len(block.get("text") or text_of(block.get("content")) or json.dumps(block.get("input", "")))
            sizes.append(f"{message['role']} {block['type']} {size}")
    return f"{request.kind}, {len(request.text):,} characters: " + ", ".join(sizes)


def tell(name: str, before: Recorded, after: Recorded) -> None:
    """Prints what a compaction made of a request."""
    print(f"\n{name}\n  before: {shape(before)}\n  after: {shape(after)}")
