"""Sessions that hold all that a client puts beside texts, calls and results, compacted in every way, and what became of each kind."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.patience import until

from .client import Begin, ClientHome, Run
from .compacted import PNG, Compacted, words
from .plugin_copy import linked
from .probe import Probe, probe_hook
from .reclaimed import EDIT, LIST
from .scripted_api import Recorded, ScriptedApi, call, say, thought
from .terminal import ClientTerminal

# As small as one may be: the client looks at its beginning, and counts its pages.
PDF = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 {0} {0}]>>endobj
trailer<</Root 1 0 R>>
%%EOF
"""
READ_PDF, PASTED_PDF = (base64.b64encode(PDF.format(size).encode()).decode() for size in (11, 22))
PASTED_PNG = base64.b64encode(base64.b64decode(PNG) + b"pasted").decode()
WATCHED = "{work}/watched.txt"
FILES = {
    "named.txt": "What stands in the file that was named with an at sign.\n",
    "sub/CLAUDE.md": "In sub, always whistle.\n",
    "sub/x.py": "x = 1\n",
    ".claude/rules/py.md": "---\npaths:\n  - '**/*.py'\n---\nPython files are written upside down.\n",
    ".claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets people\n---\nSay hello THREE times [[SCRIPT:talk]]\n",
}
GO = "go @named.txt [[SCRIPT:first]]"
TYPED, TYPED_LATER = "QUEUED: never touch secret.cfg", "QUEUED: and leave the lights on"
PASTED = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PASTED_PNG}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PASTED_PDF}},
    {"type": "text", "text": "what is this? [[SCRIPT:talk]]"},
]
# Each kind of what a client sends, and what is looked for of it in the messages.
TOLD = {
    "words typed in mid-turn": TYPED,
    "report of a background agent": "REPORT: the readme is short.",
    "file named with @": FILES["named.txt"].strip(),
    "text of an invoked skill": "Say hello THREE times",
    "context of another plugin's hook": "The other plugin knows that it rains.",
    "reminder of an edited file": "what the person wrote meanwhile",
    "CLAUDE.md of a sub-folder": FILES["sub/CLAUDE.md"].strip(),
    "rule with paths": "Python files are written upside down.",
    "CLAUDE.md of the project": "Always sing while working.",
}
# What its other hook says whenever a session starts, which a compaction and a resume are, too.
AT_START = "The other plugin greets whoever starts."
SHOWN = {
    "picture that was pasted": PASTED_PNG, "document that was pasted": PASTED_PDF, "picture that was read": PNG,
    "document that was read": READ_PDF,
}  # fmt: skip
# Goes on once the client has written down what was typed, or reported, meanwhile.
SEEN = "until grep -q '{0}' '{{transcripts}}'/*/*.jsonl; do sleep 0.05; done; echo went on"
JOB = {"description": "small job", "prompt": "Do it [[SCRIPT:job]]", "subagent_type": "general-purpose", "run_in_background": True}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "how high is it?"}}
HIT = {"type": "web_search_result", "title": "Heights", "url": "https://example.invalid/heights", "encrypted_content": "SEALED-HIT"}
CITED = {
    "type": "text",
    "text": "It is 90 m high.",
    "citations": [
        {
            "type": "web_search_result_location", "url": HIT["url"], "title": "Heights", "encrypted_index": "SEALED-INDEX",
            "cited_text": "It is ninety metres high.",
        }
    ],
}  # fmt: skip
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [HIT]}
OF_THE_SERVER = {"call of the server's": "how high is it?", "what it found": "SEALED-HIT", "citation": "SEALED-INDEX"}
BEHIND = [call(("Bash", {"command": "echo behind"})), say("filled")]


def filling(*before: Any, **more: Any) -> list[Any]:
    """A script whose last step but two fills the window in the middle of the turn, with something to leave before."""
    runs = [call(("Bash", {"command": f"seq -f 'line %g of number {number}' 300"})) for number in range(3)]
    full = call(("Bash", {"command": "echo full"}), text="Nearly there.", cache_read_input_tokens=190_000, **more)
    return [*runs, *before, full, *BEHIND]


SCRIPTS = {
    "first": [
        call(("Read", {"file_path": LIST})),
        call(("Edit", EDIT)),
        call(("Bash", {"command": SEEN.format("never touch secret[.]cfg")})),
        call(("Read", {"file_path": "{work}/sub/x.py"}), ("Write", {"file_path": WATCHED, "content": "one\n"})),
        call(("Read", {"file_path": "{work}/picture.png"})),
        call(("Read", {"file_path": "{work}/paper.pdf"})),
        call(("Agent", JOB)),
        call(("Bash", {"command": SEEN.format("REPORT: the readme is shor[t]")})),
        *(call(("Bash", {"command": f"echo {number}"})) for number in range(3)),
        say("first done"),
    ],
    "job": [say(TOLD["report of a background agent"])],
    "full": filling(call(("Bash", {"command": SEEN.format("leave the lights o[n]")})), call(("Bash", {"command": "echo on"}))),
    "load": [
        call(("Read", {"file_path": LIST})), call(("Edit", EDIT)), call(("ToolSearch", {"query": "select:WebFetch"})),
        *(call(("Bash", {"command": f"echo {number}"})) for number in range(4)),
        say("loaded"),
    ],
    "load-full": filling(call(("ToolSearch", {"query": "select:CronList"})), call(("Bash", {"command": "echo on"}))),
    "search": [say("So it is.", raw=(SEARCH, FOUND, CITED))],
    "think-full": [
        call(("Bash", {"command": "seq -f 'line %g that was thought of' 300"}), thinking=(thought("what is to be done?"),)),
        *filling(call(("Bash", {"command": "echo on"})), thinking=(thought("nearly there"),)),
    ],
}  # fmt: skip


class Carrying(Compacted):
    """A project with all that, and another plugin, whose hooks add something to the first prompt, and at each start."""

    def __init__(self, home: ClientHome, api: ScriptedApi) -> None:
        super().__init__(home, api)
        api.scripts.update(SCRIPTS)
        api.places["transcripts"] = str(home.config / "projects")
        for name, text in FILES.items():
            path = home.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (home.work / "paper.pdf").write_bytes(base64.b64decode(READ_PDF))
        self.other = Probe.with_hooks(home.root / "other", {"UserPromptSubmit": probe_hook(), "SessionStart": probe_hook()})
        said = {"hookEventName": "UserPromptSubmit", "additionalContext": TOLD["context of another plugin's hook"]}
        begins = {"hookEventName": "SessionStart", "additionalContext": AT_START}
        self.other.answer(**{f"UserPromptSubmit:{GO}": {"hookSpecificOutput": said}, "SessionStart": {"hookSpecificOutput": begins}})
        home.extra_env |= {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", **self.other.env}

    def plays(self, prompts: Any, resume: str | None = None, *extra: str) -> Run:
        return self.play(prompts, resume, extra=["--plugin-dir", str(self.other.plugin_dir), *extra])

    def change(self) -> None:
        """The person changes a file that Claude has written."""
        with (self.home.work / "watched.txt").open("a") as file:
            file.write(TOLD["reminder of an edited file"] + "\n")

    def does(self, event: str, *asked: str) -> None:
        """Asks for a change of the conversation in a shell, and waits until it is done: the journal has one more of `event`."""
        session_id = self.session_id()
        before = len(self.journal(session_id, event))
        done = self.popkit("context", *asked, "--session", session_id)
        assert done.returncode == 0, done.stdout + done.stderr
        until(lambda: len(self.journal(session_id, event)) > before, " ".join(asked))

    def restored(self, handle: str) -> str:
        """What `popkit restore` prints."""
        return self.popkit("restore", handle).stdout


@dataclass
class Story:
    """One session in one process, and one that goes on from it: its request at each stage."""

    world: Carrying
    requests: dict[str, Recorded] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    screen: str = ""

    def talk(self, stage: str) -> Iterator[str]:
        """A turn, whose request shows what stands."""
        yield f"{stage} [[SCRIPT:talk]]"
        said = [turn for turn in self.world.api.turns() if (words(turn, "user") or [""])[-1] == f"{stage} [[SCRIPT:talk]]"]
        self.requests |= {stage: said[-1]} if said else {}

    def mid_turn(self, stage: str, script: str) -> None:
        """Notes the requests around the step that filled the window, and the one after them."""
        step = len(self.world.api.scripts[script]) - 3
        found = [turn for turn in self.world.api.turns() if f"toolu_{script}_{step - 1}_" in turn.text]
        self.requests[f"before {stage}"] = [turn for turn in found if f"toolu_{script}_{step}_" not in turn.text][-1]
        behind = [turn for turn in found if f"toolu_{script}_{step}_" in turn.text]
        self.requests |= dict(zip((stage, "gone on"), behind))

    def played(self, prompts: Iterable[Any], *extra: str) -> None:
        """A process that begins the session, or resumes it."""
        self.runs.append(self.world.plays(prompts, self.runs[0].session_id if self.runs else None, *extra))

    def shown(self) -> None:
        """A window that resumes it, with what stands there."""
        other = ["--plugin-dir", str(self.world.other.plugin_dir)]
        terminal = ClientTerminal(self.world.home, plugin_dir=linked(), resume=self.runs[0].session_id, extra=other, rows=300)
        with terminal:
            terminal.wait("just talking")
            self.screen = "\n".join(terminal.wait_idle())
            for prompt in self.talk("resumed"):
                terminal.turn(prompt, "just talking")


def holds(request: Recorded, kinds: dict[str, str]) -> dict[str, int]:
    """How often each kind stands in the messages of a request."""
    return {kind: request.text.count(json.dumps(text, ensure_ascii=False)[1:-1]) for kind, text in kinds.items()}


def carried(home: ClientHome, api: ScriptedApi) -> Story:
    """A session with each kind: cleared of one result, compacted between turns and in mid-turn, and each undone."""
    world = Carrying(home, api)
    story = Story(world)

    def prompts() -> Iterator[Any]:
        yield Begin(GO)
        until(api.turns, "Claude to work")
        yield TYPED
        world.change()
        yield PASTED
        yield "/greet"
        yield from story.talk("before")
        world.does("clear", "clear", "--id", "T1", "--now")
        yield from story.talk("cleared")
        world.does("undo", "undo")
        yield from story.talk("clear undone")
        yield "/compact"
        yield from story.talk("compacted")
        world.does("undo", "undo")
        yield from story.talk("compaction undone")
        yield Begin("fill [[SCRIPT:full]]")
        yield TYPED_LATER
        story.mid_turn("full", "full")
        world.does("undo", "undo")
        yield from story.talk("full undone")

    story.played(prompts())
    story.shown()
    return story


def loaded(home: ClientHome, api: ScriptedApi) -> Story:
    """A session with a tool that ToolSearch had loaded, compacted between turns; it is resumed, and compacted in mid-turn with another,
    and with blocks of a tool of the server's, and citations."""
    world = Carrying(home, api)
    story = Story(world)
    api.summary = "It went well. [[SCRIPT:rest]]"

    def prompts() -> Iterator[Any]:
        yield "load [[SCRIPT:load]]"
        yield from story.talk("before")
        yield "/compact"
        yield from story.talk("compacted")
        world.does("undo", "undo")
        yield from story.talk("compaction undone")

    def others() -> Iterator[Any]:
        yield from story.talk("resumed")
        yield "more [[SCRIPT:load-full]]"
        story.mid_turn("full", "load-full")
        yield "search [[SCRIPT:search]]"
        yield from story.talk("searched")
        yield "/compact"
        yield from story.talk("search compacted")

    story.played(prompts())
    story.played(others())
    return story


def mused(home: ClientHome, api: ScriptedApi) -> Story:
    """A session of a model that thinks by hand, whose window is full in the middle of a turn."""
    world = Carrying(home, api)
    story = Story(world)
    by_hand = ["--model", "claude-sonnet-4-5"]
    api.summary = "It went well. [[SCRIPT:rest]]"

    def prompts() -> Iterator[Any]:
        yield "think [[SCRIPT:think-full]]"
        story.mid_turn("full", "think-full")
        yield "load [[SCRIPT:load]]"
        yield from story.talk("before")
        yield "/compact"
        yield from story.talk("compacted")

    story.played(prompts(), *by_hand)
    story.played(story.talk("resumed"), *by_hand)
    return story
