"""One context, fed call by call: what the tests of the rules are written in.

Calls are named T1, T2, …, one second apart, in `/p`; every result has a text of its own unless one is given. Each step returns what it
ended, as {id: trigger}.
"""

from __future__ import annotations

import json
from pathlib import Path

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.io.codec import dumps, loads
from popkit_retention.core.policy import engine, events
from popkit_retention.core.policy.context import ContextState, state_of
from popkit_retention.core.policy.ruleset import Ruleset

SHIPPED = json.loads((Path(__file__).resolve().parents[2] / "retention-config.json").read_text(encoding="utf-8"))["retention"]
UNCHANGED = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current."


class Scenario:
    def __init__(self, config: dict | None = None, profile: str | None = None, cwd: str = "/p"):
        config = dict(config or {})
        self.config = {**SHIPPED, **config}
        self.rules = Ruleset.from_config(self.config, TOOLS, profile)
        self.state = ContextState("session")
        self.cwd = cwd
        self.at = 1_000_000.0
        self.turn = "turn 1"
        self.steps = 0
        self.decisions: list = []
        engine.reindex(self.state, self.rules)

    # What happened and what is left of it.

    @property
    def live(self) -> list[str]:
        return list(self.state.live)

    @property
    def expired(self) -> dict[str, str]:
        return {id: result.ended[0] for id, result in self.state.expired.items()}

    def result(self, id: str):
        return self.state.live.get(id) or self.state.expired[id]

    def tier(self, id: str) -> str:
        return self.result(id).tier

    def reasons(self, id: str) -> str:
        """The reasons of the last decision about a result, as one text."""
        return "; ".join([decision.reasons for decision in self.decisions if decision.id == id][-1])

    def quiet_age(self, id: str) -> int:
        return self.state.quiet_age(self.result(id))

    def observe(self, event) -> dict[str, str]:
        decisions = engine.observe(self.state, event, self.rules)
        self.decisions += decisions
        return {decision.id: decision.trigger for decision in decisions}

    # Tool calls.

    def call(self, tool: str, tool_input: dict, text: str | None = None, failed: bool = False, *, id=None, committed=None, cwd=None):
        self.steps += 1
        id = id or f"T{self.steps}"
        text = f"what {id} returned" if text is None else text
        outcome = outcomes.outcome_of_error(text) if failed else outcomes.outcome_of_text(TOOLS.of(tool), tool_input, text)
        self.at += 1
        return self.observe(events.Call(id, TOOLS.of(tool), tool_input, outcome, self.at, cwd or self.cwd, self.turn, committed))

    def read(self, path: str, first: int = 0, last: int = 0, text: str | None = None, **more):
        """A Read of a whole file, or of lines `first` to `last`."""
        start = max(first, 1)
        if text is None:
            text = "\n".join(f"line {n} as T{self.steps + 1} saw it" for n in range(start, max(last, start) + 1))
        numbered = "\n".join(f"{n}\t{line}" for n, line in enumerate(text.split("\n"), start))
        asked = {"file_path": path, **({"offset": first, "limit": last - first + 1} if first else {})}
        return self.call("Read", asked, numbered, **more)

    def read_again(self, path: str):
        """A Read that the host answers with "file unchanged"."""
        return self.call("Read", {"file_path": path}, UNCHANGED)

    def read_fails(self, path: str):
        return self.call("Read", {"file_path": path}, "File does not exist.", failed=True)

    def grep(self, pattern: str, path: str | None = None, text: str | None = None, **more):
        return self.call("Grep", {"pattern": pattern, **({"path": path} if path else {})}, text, **more)

    def bash(self, command: str, text: str | None = None, **more):
        return self.call("Bash", {"command": command}, text, **more)

    def bash_fails(self, command: str, output: str | None = None, code: int = 1, **more):
        output = f"what T{self.steps + 1} said" if output is None else output
        return self.call("Bash", {"command": command}, f"Exit code {code}" + ("\n" + output if output else ""), failed=True, **more)

    def edit(self, path: str, tool: str = "Edit", **more):
        return self.call(tool, {"notebook_path" if tool == "NotebookEdit" else "file_path": path}, "done", **more)

    def nothing(self, calls: int = 1) -> dict[str, str]:
        """Calls that have to do with nothing else."""
        ended = {}
        for _ in range(calls):
            ended.update(self.call("mcp__idle__wait", {"turn": self.steps}))
        return ended

    # Everything else that can happen.

    def save_and_load(self) -> None:
        """What lies between two hook processes; what expired is still known, as it is in the log."""
        expired = self.state.expired
        self.state = state_of(loads(dumps(self.state.to_json())))
        self.state.expired = expired
        engine.reindex(self.state, self.rules)

    def new_turn(self) -> None:
        self.turn = f"turn after T{self.steps}"

    def wait(self, seconds: float) -> dict[str, str]:
        self.at += seconds
        return self.observe(events.Tick(self.at))

    def pin(self, target: str) -> dict[str, str]:
        return self.observe(events.Pinned(target, self.at))

    def unpin(self, target: str) -> dict[str, str]:
        return self.observe(events.Unpinned(target, self.at))

    def end_session(self) -> dict[str, str]:
        return self.observe(events.SessionEnded(self.at))

    def compact(self, *kept: str) -> dict[str, str]:
        return self.observe(events.Compacted(self.at, kept))

    def clear(self, *ids: str) -> dict[str, str]:
        return self.observe(events.ManualClear(list(ids), self.at))

    def changed_on_disk(self, path: str, how: str = "modified") -> dict[str, str]:
        return self.observe(events.FilesChanged({path: how}, self.at))

    def choose(self, profile: str) -> dict[str, str]:
        self.rules = Ruleset.from_config(self.config, TOOLS, profile)
        return self.observe(events.ProfileChosen(profile, self.at))
