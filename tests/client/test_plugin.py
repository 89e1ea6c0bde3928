"""The plugin inside the real client, oldest supported and newest: every result is tracked, and no byte of ours reaches the API."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from popkit_retention.core import retention_tracker
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from tests.patience import HANG_S, until

from . import installs
from .client import ClientHome, Run
from .ends import BOTH
from .plugin_copy import linked
from .scripted_api import ScriptedApi, call, say

ROOT = Path(__file__).resolve().parents[2]
MCP_SERVER = Path(__file__).parent / "mcp_server.py"
APP, README = "{work}/src/app.js", "{work}/README.md"
EDIT = {"file_path": APP, "old_string": "a - b", "new_string": "a + b"}
JOB = {"description": "small job", "prompt": "Read it [[SCRIPT:job]]", "subagent_type": "general-purpose", "run_in_background": False}
DAY = {
    "day": [
        call(("Read", {"file_path": APP}), ("Read", {"file_path": "{work}/test.js", "offset": 1, "limit": 2})),
        call(("Bash", {"command": "grep -rn add src"})),
        call(("Bash", {"command": "npm test"})),
        call(("Edit", EDIT)),
        call(("Bash", {"command": "npm test"})),
        call(("Bash", {"command": "cd src && cat app.js"})),
        call(("Bash", {"command": "cd .. && sed -i s/FAIL/FAILED/ test.js"})),
        call(("Bash", {"command": "git add -A && git commit -qm fix"})),
        call(("mcp__demo__lookup", {"key": "colour"})),
        call(("mcp__demo__fail", {"key": "shape"})),
        call(("Agent", JOB)),
        say("the day is done"),
    ],
    "job": [call(("Read", {"file_path": README})), call(("Bash", {"command": "grep -c x README.md"})), say("the readme is short")],
    "rejected": [call(("Edit", {**EDIT, "old_string": "nowhere to be found"})), say("that was rejected")],
    "more": [call(("Bash", {"command": "rg -n add src || true"})), call(("Bash", {"command": "npm test"})), say("more is done")],
}
# (stage, its prompt, what its transcript has at the end)
STAGES = [
    ("compacted", "/compact", '"subtype":"compact_boundary"'),
    ("gone on", "go [[SCRIPT:more]]", "more is done"),
    ("rejected", "go [[SCRIPT:rejected]]", "that was rejected"),
]


class Tracked:
    """A client home with the plugin in it, and what the plugin keeps there."""

    def __init__(self, home: ClientHome, api: ScriptedApi):
        self.home = home
        self.api = api
        api.scripts.update(DAY)
        for who in ("AUTHOR", "COMMITTER"):
            home.extra_env |= {f"GIT_{who}_NAME": "dev", f"GIT_{who}_EMAIL": "dev@example.invalid"}
        home.extra_env["POPKIT_DOOR_MS"] = "60000"  # the machine may be busy
        self.popkit_home = Path(home.env()["CLAUDE_CONFIG_DIR"]) / "popkit"

    def run(self, prompt, **more) -> Run:
        return self.home.run_headless(prompt, plugin_dir=linked(), mcp_server=MCP_SERVER, **more)

    def site(self, session_id: str) -> Site:
        return Site({"POPKIT_HOME": str(self.popkit_home)}, session_id, str(self.home.work))

    def stored(self, session_id: str, agent_id: str = "") -> dict:
        """What the hooks have kept of a context, and what one of them could not add in time, without what only the transcript knows."""
        site = self.site(session_id)
        retention_tracker.change(site, site.paths(agent_id), "", lambda _stored, _rules: False)
        return shared_facts(store.load(site.paths(agent_id)).state)

    def rebuilt(self, session_id: str, agent_id: str = "") -> dict:
        """What transcript and journal give for a context."""
        site = self.site(session_id)
        path = self.home.transcript_path(session_id)
        if agent_id:
            path = path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
        return shared_facts(
            rebuild(str(path), reconciling.journal_of(site, site.paths(agent_id)), site.rules_for, session_id, agent_id).state
        )

    def errors(self) -> str:
        log = self.popkit_home / "hooks.log"
        return log.read_text() if log.exists() else ""

    def session_id(self) -> str:
        """The session that the client has written last."""
        return max((self.home.config / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime).stem

    def live_labels(self, session_id: str) -> list[str]:
        return [row["label"] for row in self.stored(session_id)["live"]]


@pytest.fixture
def tracked(home: ClientHome, api: ScriptedApi) -> Tracked:
    return Tracked(home, api)


@dataclass
class Day:
    """A day of work; its session is resumed and compacted, and goes on, also to a call that is rejected; at last the panel is asked for.
    At each stage, what the hooks have kept of it and what transcript and journal give."""

    tracked: Tracked
    session_id: str = ""
    stored: dict[str, dict] = field(default_factory=dict)
    rebuilt: dict[str, dict] = field(default_factory=dict)
    errors: str = ""
    expired: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    panel: str = ""
    sent_for_the_panel: list = field(default_factory=list)

    def note(self, stage: str) -> None:
        self.stored[stage] = self.tracked.stored(self.session_id)
        self.rebuilt[stage] = self.tracked.rebuilt(self.session_id)

    def play(self) -> None:
        tracked, requests = self.tracked, self.tracked.api.requests
        self.session_id = tracked.run("go [[SCRIPT:day]]").session_id
        self.note("worked")
        self.errors = tracked.errors()
        paths = tracked.site(self.session_id).paths()
        self.expired = list(store.read_expired(paths, store.load(paths).state).values())
        self.sent = [request.body for request in requests]

        def prompts() -> Iterator[str]:
            for stage, prompt, written in STAGES:
                yield prompt
                path = tracked.home.transcript_path(self.session_id)
                until(lambda: written in path.read_text(), "the client has written what it answered")  # noqa: B023
                self.note(stage)
            tracked.api.clear()
            yield "/popkit:context retention"
            self.sent_for_the_panel = list(requests)

        self.panel = tracked.run(prompts(), resume=self.session_id).stdout


@pytest.fixture(scope="module", params=BOTH)
def day(request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Played once for each client."""
    with ScriptedApi() as api:
        home = ClientHome(tmp_path_factory.mktemp("day"), clients[request.param], api.url)
        api.places["work"] = str(home.work)
        tracked = Tracked(home, api)
        tracked.popkit_home.mkdir()
        (tracked.popkit_home / "retention-config.json").write_text('{"compact": "off"}')  # of ours, see test_compact.py
        played = Day(tracked)
        played.play()
        yield played


def test_hooks_alone_give_the_state_that_transcript_and_journal_give(day: Day):
    assert day.errors == ""
    assert day.stored["worked"] == day.rebuilt["worked"]
    tracked = day.tracked
    agents = list((tracked.popkit_home / "sessions" / day.session_id).glob("agent-*.state.json"))
    assert len(agents) == 1
    agent_id = agents[0].name[len("agent-") : -len(".state.json")]
    assert tracked.stored(day.session_id, agent_id) == tracked.rebuilt(day.session_id, agent_id)
    assert [row["tool"] for row in tracked.stored(day.session_id, agent_id)["live"]] == ["Read", "Bash"]


def test_a_day_of_work_expires_what_the_rules_say(day: Day):
    ended = {result.label: result.ended[0] for result in day.expired}
    assert ended["Read src/app.js"] == "edited"
    assert ended["Read test.js:1-2"] == "changed_on_disk"
    assert ended["Edit src/app.js"] == "ttl_calls"
    assert ended["Bash cd src && cat app.js"] == "committed"
    runs = [result for result in day.expired if result.label == "Bash npm test"]
    assert [result.ended[0] for result in runs] == ["superseded"]
    assert runs[0].error
    assert runs[0].verdict.startswith("exit 1: ")
    live = [row["label"] for row in day.stored["worked"]["live"]]
    edit = "Bash cd .. && sed -i s/FAIL/FAILED/ test.js"
    assert live == ["Bash npm test", edit, "demo.lookup", "demo.fail", "Agent small job"], "somebody may resume it"


def test_no_request_carries_a_byte_of_ours(day: Day):
    sent = json.dumps(day.sent)
    assert day.sent
    assert "PopKit" not in sent
    assert "popkit_home" not in sent


def test_a_compaction_ends_what_was_before_it(day: Day):
    assert day.stored["compacted"]["epoch"] == 1
    assert day.stored["compacted"]["live"] == []
    assert day.stored["gone on"] == day.rebuilt["gone on"]
    assert day.stored["gone on"]["epoch"] == 1


def test_a_rejected_call_fires_no_hook_and_is_found_in_the_transcript_on_demand(day: Day):
    tracked = day.tracked
    if tracked.home.installed.version == installs.OLDEST_SUPPORTED:  # where the mod runs, its band may have asked already
        assert day.stored["rejected"]["index"] == day.stored["gone on"]["index"]
    rebuilt = reconciling.reconcile(tracked.site(day.session_id), str(tracked.home.transcript_path(day.session_id)))
    assert rebuilt.state.index == day.stored["gone on"]["index"] + 1
    *_, rejected = rebuilt.state.live.values()
    assert (rejected.label, rejected.tier, rejected.error) == ("Edit src/app.js", "preserved", True)
    assert tracked.stored(day.session_id) == tracked.rebuilt(day.session_id)


def test_the_panel_is_answered_without_a_request(day: Day):
    tracked = day.tracked
    assert day.sent_for_the_panel == []
    if tracked.home.installed.version != installs.OLDEST_SUPPORTED:  # print mode of the oldest client shows no reason of a blocked prompt
        assert "Retention status" in day.panel
    shown = subprocess.run(
        [ROOT / "bin/popkit", "context", "retention", "--session", day.session_id],
        env=tracked.home.env() | {"PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin"}, cwd=tracked.home.work,
        capture_output=True, text=True, check=False, timeout=HANG_S,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "Retention status" in shown.stdout


def test_a_compaction_in_mid_turn_keeps_what_the_client_carries_over(tracked: Tracked):
    tracked.api.scripts |= {
        "fill": [
            call(("Bash", {"command": "echo filling"})),
            call(("Bash", {"command": "echo full"}), cache_read_input_tokens=190_000),
            say("not reached"),
        ],
        "after": [call(("Bash", {"command": "echo after"})), say("went on")],
    }
    tracked.api.summary = "It was a long turn. [[SCRIPT:after]]"
    tracked.home.extra_env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    session_id = tracked.run(["fill it [[SCRIPT:fill]]", "go [[SCRIPT:more]]"]).session_id
    assert [request.kind for request in tracked.api.requests].count("summary") == 1
    rebuilt = reconciling.reconcile(tracked.site(session_id), str(tracked.home.transcript_path(session_id)))
    in_context = tracked.api.turns()[-1].text
    known = {result.label for result in [*rebuilt.state.live.values(), *rebuilt.state.expired.values()]}
    assert ("Bash echo full" in known) == ("echo full" in in_context)
    assert "Bash echo filling" not in known
    assert "Bash echo after" in known
    assert rebuilt.state.epoch == 1
    assert tracked.stored(session_id) == tracked.rebuilt(session_id)


def test_off_means_off(tracked: Tracked):
    tracked.home.extra_env["POPKIT_OFF"] = "1"
    tracked.run("go [[SCRIPT:more]]")
    assert not tracked.popkit_home.exists()


def test_a_subagent_in_the_background_is_tracked_like_any_other(tracked: Tracked):
    tracked.home.extra_env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = ""  # the client's own default
    job = {name: value for name, value in JOB.items() if name != "run_in_background"}
    its_end = f"until grep -qs 'the readme is short' {tracked.home.config}/projects/*/*/subagents/*.jsonl; do sleep 0.1; done"
    tracked.api.scripts["background"] = [call(("Agent", job)), call(("Bash", {"command": its_end})), say("started")]
    run = tracked.run("go [[SCRIPT:background]]")
    assert tracked.errors() == ""
    assert tracked.stored(run.session_id) == tracked.rebuilt(run.session_id)
    (agent,) = (tracked.popkit_home / "sessions" / run.session_id).glob("agent-*.state.json")
    agent_id = agent.name[len("agent-") : -len(".state.json")]
    assert tracked.stored(run.session_id, agent_id) == tracked.rebuilt(run.session_id, agent_id)
