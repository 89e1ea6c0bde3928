"""A session that the real pi records, with all that its file may hold.

There are parallel calls, failures, parts of files, thinking, a command that the person runs, an edit of the context, a compaction of pi's
own, and a branch that was left.

    python -m tests.pi.recording

records it anew, for each provider, into tests/hosts/pi_sessions.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.client.scripted_api import call, say, thought
from tests.opencode.conversations import big_file
from tests.opencode.scripted_api import BothApis

from . import installs
from .client import PROVIDERS, ROOT, Machine, Project

FOLDER = ROOT / "tests" / "hosts" / "pi_sessions"
STEERING = Path(__file__).with_name("steering.ts")
PROJECT = "/home/dev/shop"  # where a recording says that it was made


def record(machine: Machine, name: str, provider: str, api: BothApis) -> str:
    """The text of the session's file."""
    project = Project(machine, name, api.url, provider, [STEERING], {"compaction": {"keepRecentTokens": 400}})
    (project.work / "src" / "big.js").write_text(big_file())
    api.places["work"] = str(project.work)
    thinking = (thought("The file first."),) if provider == "anthropic" else ()
    api.scripts.update(
        look=[
            call(("read", {"path": "src/big.js"}), thinking=thinking, text="I look."),
            call(("bash", {"command": "cat {work}/src/big.js | head -30"}), ("bash", {"command": "npm test"})),
            call(("read", {"path": "src/big.js", "offset": 10, "limit": 5})),
            call(("read", {"path": "nope.js"})),
            say("It fails."),
        ],
        fix=[
            call(("edit", {"path": "src/app.js", "edits": [{"oldText": "a - b", "newText": "a + b"}]})),
            call(("write", {"path": "notes.md", "content": "add was wrong\n"})),
            call(("bash", {"command": "npm test"})),
            say("Fixed."),
        ],
        astray=[call(("bash", {"command": "git log --oneline"})), say("One commit.")],
        on=[call(("bash", {"command": "git status --short"})), say("Two files have changed.")],
    )
    project.say("[[SCRIPT:look]] Why does the test fail?")
    project.ask("bash", command="echo by hand")
    missing = next(entry["id"] for entry in project.entries() if entry.get("message", {}).get("isError") and "nope" in str(entry))
    project.command(f"/omit {missing}")
    project.say("[[SCRIPT:fix]] Fix it.")
    project.compact()
    project.say("[[SCRIPT:astray]] What was committed?")
    fixed = next(entry["id"] for entry in project.entries() if "Fixed." in str(entry))
    compacted = next(entry["id"] for entry in project.entries() if entry["type"] == "compaction")
    assert fixed != compacted
    project.command(f"/back {compacted}")
    project.say("[[SCRIPT:on]] What has changed?")
    project.leave()
    text = project.file().read_text()
    program = os.path.realpath(installs.folder())
    for place, stands in ((str(project.work), PROJECT), (str(project.machine.root), "/home/dev"), (program, "/opt/pi")):
        text = text.replace(place, stands).replace(place.strip("/").replace("/", "-"), stands.strip("/").replace("/", "-"))
    return text


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, BothApis() as api:
        machine = Machine(Path(folder), installs.install())
        for provider in PROVIDERS:
            (FOLDER / f"{provider}.jsonl").write_text(record(machine, provider, provider, api))
            print(provider)


if __name__ == "__main__":
    main()
