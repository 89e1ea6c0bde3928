"""A client home whose session has something to reclaim, and what the tests of clearing ask about it."""

from __future__ import annotations

import json
import subprocess

from tests.patience import HANG_S

from .client import ClientHome
from .scripted_api import Recorded, ScriptedApi, blocks_of, call, say
from .test_plugin import ROOT, Tracked

PLACEHOLDER = "[PopKit cleared "
LIST, NOTES, COUNT = "{work}/src/list.js", "{work}/notes.txt", "{work}/count"
EXCERPT = {"file_path": NOTES, "offset": 3, "limit": 60}
EDIT = {"file_path": LIST, "old_string": "exports.item0001 =", "new_string": "exports.item1 ="}
SCRIPTS = {
    # The first run is superseded by the last, the long file is edited after its Read, the excerpt stays live.
    "work": [
        call(("Read", EXCERPT)),
        call(("Bash", {"command": "npm test"})),
        call(("Read", {"file_path": LIST}), ("Read", {"file_path": "{work}/README.md"})),
        call(("Edit", EDIT)),
        call(("Write", {"file_path": COUNT, "content": "2"})),
        call(("Bash", {"command": "npm test"})),
        say("the work is done"),
    ],
    # The long run stands at the end of the prompt, so that clearing it costs little. The turn goes on until there is a file `seen`.
    "late": [
        call(("Read", EXCERPT)),
        call(("Bash", {"command": "npm test"})),
        call(("Write", {"file_path": COUNT, "content": "2"})),
        call(("Bash", {"command": "npm test"})),
        call(("Bash", {"command": "until [ -e seen ]; do sleep 0.05; done"})),
        say("the late work is done"),
    ],
    "runs": [
        call(("Bash", {"command": "npm test"})),
        call(("Write", {"file_path": COUNT, "content": "2"})),
        call(("Bash", {"command": "npm test"})),
        say("ran twice"),
    ],
    "edit": [
        call(("Read", EXCERPT)),
        call(("Bash", {"command": "npm test"})),
        call(("Read", {"file_path": LIST})),
        call(("Edit", EDIT)),
        say("the list is edited"),
    ],
    "look": [call(("Read", {"file_path": LIST}), ("Read", EXCERPT)), say("looked again")],
    "talk": [say("just talking")],
}
RUN, READ = "toolu_work_1_0", "toolu_work_2_0"


class Reclaimed(Tracked):
    """The plugin, and a project with long files. Its test run prints much, with a file `many` more; with a file `count` little. The
    user has configured the profile `spec`, under which a clear goes by lifetime and grace; "" for none, which is what is shipped. The tests
    have names, so that no line of a run is noise."""

    def __init__(self, home: ClientHome, api: ScriptedApi, profile: str = "spec"):
        super().__init__(home, api)
        self.profile = profile
        if profile:
            self.configure()
        api.scripts.update(SCRIPTS)
        self.lay_out()

    def lay_out(self) -> None:
        """Writes the long files, as they are before anything is played."""
        (self.home.work / "count").unlink(missing_ok=True)
        files = {
            "src/list.js": "".join(f"exports.item{n:04d} = 'what is sold as number {n}';\n" for n in range(1, 401)),
            "notes.txt": "".join(f"Note {n}: something that was thought of on day {n} of the year.\n" for n in range(1, 101)),
            "test.js": (
                "const { existsSync } = require('fs');\n"
                "const count = existsSync('count') ? 2 : existsSync('many') ? 400 : 60;\n"
                "for (let n = 1; n <= count; n++) console.log('PASS test_number_' + n + ' of what is sold');\n"
            ),
        }
        for name, text in files.items():
            (self.home.work / name).write_text(text)

    def configure(self, **settings) -> None:
        """Writes the user's own configuration; the profile stays."""
        chosen = {"profile": self.profile} if self.profile else {}
        self.popkit_home.mkdir(parents=True, exist_ok=True)
        (self.popkit_home / "retention-config.json").write_text(json.dumps({**chosen, **settings}))

    def popkit(self, *words: str) -> subprocess.CompletedProcess:
        """The command in a shell of the user's, in the project."""
        command = [ROOT / "bin" / "popkit", *words]
        return subprocess.run(command, env=self.home.env(), cwd=self.home.work, capture_output=True, text=True, check=False, timeout=HANG_S)

    def asked(self, *words: str) -> dict:
        """What `popkit context WORDS --json` answers."""
        done = self.popkit("context", *words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def contents(self, session_id: str) -> dict:
        """tool_use_id -> content, as the transcript holds it."""
        return {
            block["tool_use_id"]: block["content"]
            for line in self.home.transcript(session_id)
            if line["type"] == "user" and isinstance(line["message"]["content"], list)
            for block in line["message"]["content"]
            if block["type"] == "tool_result"
        }


def whole(lines: list) -> bool:
    """Whether every parent that a line of a transcript names is in it, and no line is in it twice."""
    uuids = [line["uuid"] for line in lines if "uuid" in line]
    parents = {line["parentUuid"] for line in lines if line.get("parentUuid")}
    return len(uuids) == len(set(uuids)) and parents <= set(uuids)


def chain(lines: list) -> str:
    """The lines of a transcript as they hang together, for whoever has to see why one was not followed."""
    ids = (f"{line.get('uuid', '')[:8]} <- {(line.get('parentUuid') or '')[:8]}" for line in lines)
    return "\n".join(f"{id} {line['type']} {line.get('subtype') or ''} {line.get('timestamp') or ''}" for id, line in zip(ids, lines))


def kinds(lines: list) -> set:
    """What the lines of a transcript are: `type` or `type:subtype`."""
    return {":".join(filter(None, [line["type"], line.get("subtype") or line.get("operation")])) for line in lines}


def placeholders(results: dict) -> dict:
    """id, without its running number, -> handle, of each result of a request or a transcript that is a placeholder now."""
    return {
        plain(use_id): content.partition("]")[0].rpartition(" ")[2]
        for use_id, content in results.items()
        if isinstance(content, str) and content.startswith(PLACEHOLDER)
    }


def plain(use_id: str) -> str:
    """The id of a scripted call without its running number."""
    return use_id.rpartition("_")[0]


def result(request: Recorded, use_id: str) -> str:
    """What the newest call of this id, without its running number, answered."""
    return [text for other, text in request.tool_results().items() if plain(other) == use_id][-1]


def blocks(request: Recorded) -> list:
    """(role, block) of everything that a request sends of the conversation, without the marks for the cache."""
    return [
        (message["role"], {name: value for name, value in block.items() if name != "cache_control"})
        for message in request.body["messages"]
        for block in blocks_of(message)
    ]


def changed(before: list, after: list) -> dict | None:
    """id of a result -> its content in `after`, of all that differ; None where the blocks differ in anything else."""
    if len(before) != len(after):
        return None
    contents = {}
    for (role, old), (other_role, new) in zip(before, after):
        if (role, old) == (other_role, new):
            continue
        if role != other_role or old["type"] != "tool_result" or {**old, "content": ""} != {**new, "content": ""}:
            return None
        contents[new["tool_use_id"]] = new["content"]
    return contents
