"""A change of a policy that is killed at any moment is made or not made, and the log tells of it exactly if it was made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import TOOL
from tests.kit.forks import Command, Done, Forks, Function, Work
from tests.kit.kills import kill_at_each_call, kill_at_random_moments, lay_down

BEFORE = (("rag", {"limit": 7}), ("memory", {"older_than_days": 90}), ("rag", {"keep_session_ids": ["s1", "s2"]}))
CONFIGURE = Function("tests.governance.operations:configure", ["rag", {"limit": 11, "vacuum": True}])
COMMAND = Command(["retention", "set", "rag.limit=11", "rag.vacuum=true"])
ACCEPT = Function("tests.governance.operations:accept", [])
ROLL_BACK = Function("tests.governance.operations:roll_back", [1])
LOOK = Function("tests.governance.operations:look", [])
LOG_ONLY = Function("tests.governance.operations:log_a_configure", ["rag", {"limit": 11, "vacuum": True}])


class Case:
    """Work that makes one revision, in a home as it was before it."""

    def __init__(self, folder: Path, forks: Forks, work: Work, configured: bool = True, begun: bool = False, asked: bool = False):
        self.forks, self.work = forks, work
        self.home, self.template = folder / "home", folder / "template"
        self.template.mkdir(parents=True)
        self.environ = {"POPKIT_HOME": str(self.template)}
        with Controller(self.environ) as controller:
            for domain, config in BEFORE if configured else ():
                controller.configure(domain, config)
        if asked:
            with Controller(self.environ, TOOL, "shop-0123456789ab") as agent:
                assert not agent.configure("rag", {"limit": 9_000})["success"]
        if begun:  # and nobody has finished it yet
            assert forks.run(LOG_ONLY, self.environ).killed
        self.old = self._stored(self.template)
        environ = self.world()
        done = forks.run(work, environ)
        assert done.code == 0, done
        self.new = self._stored(self.home)
        assert self.new != self.old
        self.made: list[bool] = []

    def world(self) -> dict[str, str]:
        lay_down(self.template, self.home)
        return {"POPKIT_HOME": str(self.home)}

    def _stored(self, home: Path) -> dict:
        path = home / "data/state/retention-policies.json"
        return {**json.loads(path.read_text(encoding="utf-8")), "updated_at": ""} if path.exists() else {}

    def check(self, done: Done) -> None:
        stored = self._stored(self.home)
        assert stored in (self.old, self.new), "whoever only reads the file sees the old one or the new one"
        with Controller({"POPKIT_HOME": str(self.home)}) as controller:
            verified = controller.verify() if not controller.opened().unfinished() else None
            policies = {**controller.policies(), "updated_at": ""}
            assert controller.opened().unfinished() == [], "what was begun is finished"
            assert controller.verify()["ok"], controller.verify()
            assert verified is None or verified["ok"]
            made = policies == self.new
            assert made or policies == {**controller.policies(), "updated_at": "", **self.old}
            logged = controller.log(action="configured")["entries"]
            assert [each["details"]["revision"] for each in logged] == list(range(policies["revision"], 0, -1))
            assert stored == self.old or made, "what was made is not taken back"
            self.made.append(made)
            assert not (made and controller.requests()["requests"]), "what is made waits no longer"
            assert controller.configure("memory", {"limit": 3})["revision"] == policies["revision"] + 1
            assert controller.get("rag") == policies["rag"]
            assert controller.verify()["ok"]
        names = sorted(path.name for path in (self.home / "data/state").iterdir())
        assert names == ["retention-log.sqlite", "retention-policies.json", "retention.lock"], "nothing is left behind"


CASES = {
    "configure": {"work": CONFIGURE},
    "the first configure": {"work": CONFIGURE, "configured": False},
    "the command": {"work": COMMAND},
    "rollback": {"work": ROLL_BACK},
    "accepting what an agent asked for": {"work": ACCEPT, "asked": True},
    "finishing what another began": {"work": LOOK, "begun": True},
}


@pytest.mark.parametrize("what", CASES)
def test_killed_at_any_call_that_changes_something_it_is_made_or_not(forks: Forks, tmp_path: Path, what: str, count):
    """At every third of them, at each with --slow."""
    case = Case(tmp_path, forks, **CASES[what])
    step = count(3, 1)
    kills = kill_at_each_call(forks, case.work, case.world, case.check, step)
    print(f"{what}: {kills} kills")
    assert kills * step > 12, "there were moments to be killed at"
    assert case.made == sorted(case.made), "before it is logged it is not made, and from then on it is"
    assert all(case.made) if what == "finishing what another began" else 1 < case.made.count(True) < len(case.made)


def test_killed_at_random_moments_it_is_made_or_not(forks: Forks, tmp_path: Path, count):
    case = Case(tmp_path, forks, CONFIGURE)
    kills = kill_at_random_moments(forks, case.work, case.world, case.check, count(10, 500))
    print(f"configure: {kills} random kills")
