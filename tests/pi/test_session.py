"""The real pi with both kinds of provider: door, panel, bill, memory and the command inside a session; that nothing sent is ever changed;
and a helper that fails, without which the session goes on as it would."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from popkit_retention.core.hosts.transcripts import entries, transcript, usage
from popkit_retention.core.state import memory, store
from tests.client.scripted_api import call, say
from tests.hosts.conformance.faults import ALIKE, SERVE, STAND_IN, line
from tests.opencode.conversations import HANDLE, LINES, big_file, bodies, broken, results
from tests.opencode.scripted_api import BothApis
from tests.patience import until
from tests.policy.door_laws import OURS

from .client import PROVIDERS, Machine, Project
from .installs import Program
from .recording import STEERING

ONCE = pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
COLD_S = 3_000.0  # no cache is warm so long
READ = call(("read", {"path": "src/big.js"}))
TWICE = [READ, call(("bash", {"command": "cat src/big.js"})), say("Both are the same.")]


class Worked:
    """A session in which a file is read twice and `/popkit` is typed; pi ends; then the session goes on and reads the file again."""

    def __init__(self, project: Project, api: BothApis) -> None:
        self.project = project
        self.big = big_file()
        (project.work / "src" / "big.js").write_text(self.big)
        api.scripts.update(twice=TWICE, again=[READ, say("Still the same.")])
        project.say("[[SCRIPT:twice]] go")
        sent = len(api.requests)
        self.shown = project.command("/popkit")
        self.why = project.command("/popkit why T1")
        self.sent_by_the_command = len(api.requests) - sent
        self.statuses = list(project.statuses)
        self.kept = project.kept()
        self.requests_before = len(bodies(api, project))
        self.panel = json.loads(project.popkit_says("context", "--json").stdout)
        self.used = usage.newest_usage(str(self.kept))
        self.bill = json.loads(project.popkit_says("bill", str(self.kept), "--json").stdout)
        self.tried = json.loads(project.popkit_says("try", "--host", "pi", "--json").stdout)
        project.say("[[SCRIPT:again]] go on")  # a resumed session knows what it has shown
        self.requests = bodies(api, project)
        project.leave()


@pytest.fixture(scope="module", params=PROVIDERS)
def worked(request: pytest.FixtureRequest, pi_program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    """Played once for each kind of provider."""
    with BothApis() as api:
        project = Project(Machine(tmp_path_factory.mktemp("pi"), pi_program), "shop", api.url, request.param)
        api.places["work"] = str(project.work)
        yield Worked(project, api)


def test_panel_bill_and_trial_tell_of_the_session(worked: Worked) -> None:
    assert (worked.panel["session"], worked.panel["host"], worked.panel["calls"]) == (f"pi_{worked.project.session}", "pi", 2)
    assert worked.used is not None
    assert worked.panel["context"]["tokens"] == worked.used.tokens
    assert worked.panel["context"]["window"] == PROVIDERS[worked.project.provider][2]
    assert worked.bill["whole"]["requests"] == worked.requests_before
    assert (worked.tried["session"], worked.tried["calls"], worked.tried["host"]) == (f"pi_{worked.project.session}", 2, "pi")


def test_what_is_kept_is_private_and_agrees_with_pis_own_file(worked: Worked) -> None:
    assert worked.kept.stat().st_mode & 0o777 == 0o600
    assert worked.kept.parent.stat().st_mode & 0o777 == 0o700
    kept, file = (list(entries.read(str(path), path.stat().st_size)) for path in (worked.kept, worked.project.file()))
    assert kept == file
    names = [event.name for event in transcript.events_of(str(worked.kept))]
    assert names == ["prompted", "call", "call", "prompted", "call"]


def test_the_command_answers_without_a_request_and_the_model_never_reads_it(worked: Worked) -> None:
    print(worked.statuses[-1])
    assert worked.sent_by_the_command == 0
    assert "Retention status" in worked.shown
    assert "read src/big.js" in worked.why
    assert "Retention status" not in json.dumps(worked.requests[-1]["messages"])
    assert re.match(r"PopKit: context <?\d+% · (nothing|~\S+) reclaimable( when cold)?( · cache .+)?$", worked.statuses[-1])


def test_what_the_context_shows_enters_as_a_reference_and_comes_back_by_its_handle(worked: Worked) -> None:
    first, second, third = results(worked.requests[-1]).values()
    assert first == worked.big
    assert f"lines as in your read of src/big.js above, there lines 2–{LINES}" in second
    assert len(second) < len(worked.big) / 5
    handle = HANDLE.search(second)
    assert handle is not None
    assert worked.project.popkit_says("restore", handle[1]).stdout.rstrip("\n").endswith(worked.big.rstrip("\n"))
    assert "as in your read of src/big.js above" in third
    assert broken(worked.requests) == []


@ONCE
def test_a_widget_says_what_to_do_once_it_pays_and_goes_when_it_is_done(machine: Machine, api: BothApis, provider: str) -> None:
    machine.more["POPKIT_CLOCK"] = str(time.time() + COLD_S)
    project = Project(machine, "shop", api.url, provider)
    api.places["work"] = str(project.work)
    parts = [f"src/part{number}.js" for number in range(8)]
    for number, path in enumerate(parts):
        (project.work / path).write_text("first\n" + "".join(big_file(10 * number + seed) for seed in range(4)))
    changes = [call(("edit", {"path": path, "edits": [{"oldText": "first", "newText": "changed"}]})) for path in parts]
    api.scripts.update(on=[say("On.")], work=[*(call(("read", {"path": path})) for path in parts), *changes, say("Changed.")])
    project.say("[[SCRIPT:work]] go")
    print(project.widgets, project.popkit_says("context").stdout)
    (told,) = project.widgets[-1]
    assert re.fullmatch(r"PopKit: .*\(/popkit clear\)", told)
    project.command("/popkit clear --now")
    project.say("[[SCRIPT:on]] go on")
    project.leave()
    assert project.widgets[-1] == []


@ONCE
def test_a_call_that_would_write_a_reference_fails_and_the_model_reads_its_meaning(project: Project, api: BothApis) -> None:
    (project.work / "src" / "big.js").write_text(big_file())
    api.scripts["twice"] = TWICE
    project.say("[[SCRIPT:twice]] go")
    shown = results(bodies(api, project)[-1])
    reference = next(one for text in shown.values() for one in text.split("\n") if " lines as in your read of " in one)
    handle = HANDLE.search(reference)
    assert handle is not None
    writes = [
        ("write", {"path": "{work}/broken.js", "content": f"let a;\n{reference}\n"}),
        ("bash", {"command": f"cat > broken.js <<'EOF'\n{reference}\nEOF"}),
        ("write", {"path": "{work}/guide.md", "content": "\n".join(OURS)}),
    ]
    api.scripts["back"] = [*[call(one) for one in writes], call(("bash", {"command": f"popkit restore {handle[1]}"})), say("done")]
    project.say("[[SCRIPT:back]] write it back")
    *_, write, shell, guide, restored = results(bodies(api, project)[-1]).values()
    for denied in (write, shell):
        assert f": `popkit restore {handle[1]}`" in denied
    assert not (project.work / "broken.js").exists()
    assert (project.work / "guide.md").read_text() == "\n".join(OURS), guide
    assert "const " in restored, "the agent's shell finds our program"


@ONCE
def test_of_calls_made_at_once_the_later_one_refers_to_the_earlier(project: Project, api: BothApis) -> None:
    (project.work / "src" / "big.js").write_text(big_file())
    slow = ("bash", {"command": "for n in 1 2 3 4 5 6 7 8; do cat src/big.js > copy; npm test > log 2>&1; done; cat src/big.js"})
    api.scripts["once"] = [call(slow, ("read", {"path": "src/big.js"}), ("read", {"path": "nope.js"})), say("Done.")]
    assert project.say("[[SCRIPT:once]] go") == "Done."
    last = bodies(api, project)[-1]
    first, second, missing = results(last).values()
    assert first == big_file()
    assert "as in your bash " in second
    assert "ENOENT" in missing
    assert broken([last]) == []


@ONCE
def test_what_was_left_in_the_tree_is_leaned_on_no_more(machine: Machine, api: BothApis, provider: str) -> None:
    project = Project(machine, "shop", api.url, provider, extensions=[STEERING, *Project.OURS])
    api.places["work"] = str(project.work)
    (project.work / "src" / "big.js").write_text(big_file())
    api.scripts.update(hello=[say("Hello.")], read=[READ, say("Read.")])
    project.say("[[SCRIPT:hello]]")
    hello = project.entries()[-1]["id"]
    project.say("[[SCRIPT:read]] once")
    there = project.entries()[-1]["id"]
    project.command(f"/back {hello}")
    project.say("[[SCRIPT:read]] again")
    (shown,) = results(bodies(api, project)[-1]).values()
    assert shown == big_file()
    project.command(f"/back {there}")
    project.say("[[SCRIPT:read]] once more")
    first, second = results(bodies(api, project)[-1]).values()
    assert first == big_file()
    assert second == big_file() or "as in your read" in second
    index = transcript.index(str(project.kept()))
    assert index.doubts == []
    assert index.abandoned == 1


@ONCE
def test_what_one_session_taught_is_in_the_next_once_and_stays(project: Project, api: BothApis) -> None:
    counted = "tools/count_the_lines.sh"
    api.scripts.update(
        first=[
            call(("write", {"path": f"{{work}}/{counted}", "content": "wc -l src/app.js\n"})),
            call(("bash", {"command": f"sh {counted} --all"})),
            say("Counted."),
        ],
        more=[say("Yes.")],
    )
    project.popkit_says("memory", "on")
    project.say("[[SCRIPT:first]] go")
    project.leave()
    known = memory.project_of(str(project.popkit), str(project.work))
    until(lambda: not known.to_learn() and known.document(), "the session is learnt")
    project.session = ""
    api.clear()
    project.say("[[SCRIPT:more]] go")
    project.say("[[SCRIPT:more]] go on")
    requests = bodies(api, project)
    assert [json.dumps(body["messages"]).count("# Project memory") for body in requests] == [1, 1]
    assert f"sh {counted} --all" in json.dumps(requests[0]["messages"])
    assert broken(requests) == []
    booked = store.read_lines(store.ContextFiles(str(project.popkit), f"pi_{project.session}").journal)
    assert [entry["event"] for entry in booked].count("memory") == 1


@ONCE
@pytest.mark.parametrize("fault", [*(pytest.param(fault, marks=[pytest.mark.slow] if fault in ALIKE else []) for fault in SERVE), "gone"])
def test_whatever_is_wrong_with_the_helper_results_enter_as_they_came(
    pi_program: Program, api: BothApis, provider: str, fault: str, tmp_path: Path
) -> None:
    program, stand_in = tmp_path / "popkit", tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    machine = Machine(tmp_path, pi_program, door_ms=150)
    with tempfile.TemporaryDirectory(prefix="popkit-") as short:
        if fault != "gone":
            program.write_text(f"#!/bin/sh\n{line(fault, stand_in, short)}\n")
            program.chmod(0o755)
        machine.more["POPKIT_COMMAND"] = str(program)
        project = Project(machine, "shop", api.url, provider, settings={"compaction": {"keepRecentTokens": 300}})
        (project.work / "src" / "big.js").write_text(big_file())
        api.scripts.update(twice=TWICE, on=[say("On.")])
        assert project.say("[[SCRIPT:twice]] go") == "Both are the same."
        requests = bodies(api, project)
        assert list(results(requests[-1]).values()) == [big_file(), big_file()]
        assert broken(requests) == []
        project.compact()
        assert project.say("[[SCRIPT:on]] go on") == "On."
        assert "PopKit does not answer" in project.command("/popkit")
        project.leave()
