"""A compaction of the real pi that PopKit answers without a model, what comes back of it, and pi's own: words stay, in their order, and so
do the pairs of calls and results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from popkit_retention.core.hosts.transcripts import transcript, usage
from tests.client.provider import ADAPTIVE, Mode, faults, mode_of
from tests.client.scripted_api import call, say
from tests.opencode.conversations import HANDLE, big_file, bodies, broken
from tests.opencode.scripted_api import BothApis
from tests.patience import until

from .client import PROVIDERS, Machine, Project
from .installs import Program
from .long_work import FILES, inputs, lay, pairs, scripts, shown, words, worked

SMALL = {"compaction": {"keepRecentTokens": 400}}  # pi refuses to compact what is shorter
ONCE = pytest.mark.parametrize("provider", ["anthropic"], indirect=True)


def changed(project: Project, words: str) -> str:
    """What the person is told of a change that a command has asked for, once it is made."""
    count = len(project.notes)
    project.begin(words)
    until(lambda: project.ask("get_state") and len(project.notes) > count + 1, "the change to be made")
    return project.notes[-1]


class Compacted:
    """A session that has worked, was compacted, went on, and had it undone; each with the last request behind it."""

    def __init__(self, project: Project, api: BothApis) -> None:
        self.project = project
        self.api = api
        self.before = worked(project, api)
        sent = len(api.requests)
        self.answer = project.compact()
        self.sent_by_it = len(api.requests) - sent
        self.told = project.notes[-1]
        project.say("[[SCRIPT:on]] go on")
        self.after = bodies(api, project)[len(bodies(api, project)) - 2]
        self.requests = bodies(api, project)
        project.leave()  # what is resumed stays as it is
        project.say("[[SCRIPT:on]] and on")
        self.resumed = bodies(api, project)
        self.undone = changed(project, "/popkit undo")
        project.say("[[SCRIPT:on]] and on")
        self.back = bodies(api, project)[-2]
        self.kept = project.kept()


@pytest.fixture(scope="module", params=PROVIDERS)
def compacted(request: pytest.FixtureRequest, pi_program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compacted]:
    """Played once for each kind of provider."""
    with BothApis() as api:
        machine = Machine(tmp_path_factory.mktemp("pi"), pi_program)
        project = Project(machine, "shop", api.url, request.param, settings=SMALL)
        api.places["work"] = str(project.work)
        yield Compacted(project, api)


def test_no_model_is_asked_and_much_leaves(compacted: Compacted) -> None:
    assert compacted.sent_by_it == 0
    assert compacted.told.startswith("Compacted without a model: ")
    assert compacted.answer["estimatedTokensAfter"] < compacted.answer["tokensBefore"] / 3
    assert len(json.dumps(compacted.after)) < len(json.dumps(compacted.before)) / 3


def test_what_was_said_stands_word_for_word_and_in_its_order(compacted: Compacted) -> None:
    before, after = words(compacted.before), words(compacted.after)
    assert after[: len(before)] == before
    assert after[len(before) :] == [("assistant", "Done."), ("user", "[[SCRIPT:on]] go on")]
    assert "NAME_OF_MINE" in str(after[0])


def test_every_call_has_its_result_and_every_result_its_call(compacted: Compacted) -> None:
    for body in (compacted.after, compacted.back):
        assert all(call and call == result for call, result in pairs(body))
    before = [call for call, _ in pairs(compacted.before)]
    assert [call for call, _ in pairs(compacted.after)] == before


def test_what_stays_is_as_it_was_and_the_rest_comes_back_by_its_handle(compacted: Compacted) -> None:
    before, after = shown(compacted.before), shown(compacted.after)
    left = {id for id, text in after.items() if text != before.get(id, text)}
    assert len(left) >= FILES
    for id in left:
        handle = HANDLE.search(after[id])
        assert handle is not None
        printed = compacted.project.popkit_says("restore", handle[1]).stdout
        assert before[id].strip() in printed


def test_the_undo_gives_back_what_was_there(compacted: Compacted) -> None:
    assert compacted.undone.startswith("Put back in place: ")
    assert {id: shown(compacted.back)[id] for id in shown(compacted.before)} == shown(compacted.before)
    assert {id: inputs(compacted.back)[id] for id in inputs(compacted.before)} == inputs(compacted.before)
    assert words(compacted.back)[: len(words(compacted.before))] == words(compacted.before)


def test_between_compactions_nothing_that_was_sent_is_changed(compacted: Compacted) -> None:
    first = [body for body in compacted.requests if len(pairs(body)) <= len(pairs(compacted.before))]
    assert broken(first[:-1]) == []
    behind = compacted.resumed[len(compacted.requests) - 2 :]
    assert len(behind) == 4
    assert broken(behind) == []


def test_the_provider_would_take_every_request(compacted: Compacted) -> None:
    mode = ADAPTIVE if compacted.project.provider == "anthropic" else Mode()
    assert mode_of(compacted.after, {}) == mode
    for body in (compacted.before, compacted.after, compacted.back):
        assert faults(body["messages"], mode) == []


def test_state_transcript_and_file_agree(compacted: Compacted) -> None:
    panel = json.loads(compacted.project.popkit_says("context", "--json").stdout)
    used = usage.newest_usage(str(compacted.kept))
    assert used is not None
    assert panel["context"]["tokens"] == used.tokens
    kept, file = transcript.index(str(compacted.kept)), transcript.index(str(compacted.project.file()))
    assert kept.doubts == []
    assert kept.compactions == file.compactions == 2
    assert kept.calls == file.calls
    bill = json.loads(compacted.project.popkit_says("bill", str(compacted.project.file()), "--json").stdout)
    assert bill["whole"]["requests"] == len(bodies(compacted.api, compacted.project))


# --- at other times ----------------------------------------------------------------------------------------------------------------------


@ONCE
def test_a_full_window_is_compacted_in_mid_turn_and_the_turn_goes_on(machine: Machine, api: BothApis, provider: str) -> None:
    project = Project(machine, "shop", api.url, provider, settings=SMALL, window=40_000)
    api.places["work"] = str(project.work)
    lay(project)
    steps = scripts(True)["work"]
    full = call(("bash", {"command": "echo full"}), cache_read_input_tokens=30_000)
    api.scripts["work"] = [*steps[:-1], full, call(("bash", {"command": "echo behind"})), say("Done.")]
    assert project.say("[[SCRIPT:work]] go") == "Done."
    assert {entry["fromHook"] for entry in project.entries() if entry["type"] == "compaction"} == {True}
    assert any(note.startswith("Compacted without a model: ") for note in project.notes)
    last = bodies(api, project)[-1]
    assert all(call and call == result for call, result in pairs(last))
    assert len(json.dumps(last)) < 30_000
    assert [request for request in api.requests if request.kind != "turn"] == []
    project.leave()


@ONCE
def test_a_clear_that_was_asked_for_in_a_shell_is_made_once_pi_is_idle(project: Project, api: BothApis) -> None:
    before = worked(project, api)
    count = len(project.notes)
    asked = project.popkit_says("context", "clear", "--now")
    assert asked.returncode == 0, asked.stderr
    until(lambda: project.ask("get_state") and len(project.notes) > count, "the clear to be made")
    project.say("[[SCRIPT:on]] go on")
    after = bodies(api, project)[-1]
    assert len(json.dumps(after)) < len(json.dumps(before)) / 3
    assert [entry for entry in project.entries() if entry["type"] == "compaction"] == []
    assert words(after)[: len(words(before))] == words(before)


@ONCE
def test_behind_a_compaction_of_pis_own_no_reference_leads_nowhere(machine: Machine, api: BothApis, provider: str) -> None:
    project = Project(machine, "shop", api.url, provider, settings={"compaction": {"keepRecentTokens": 300}})
    api.places["work"] = str(project.work)
    (project.work / "src" / "big.js").write_text(big_file())
    api.scripts.update(
        twice=[call(("read", {"path": "src/big.js"})), say("Read."), say("unused")],
        again=[call(("bash", {"command": "cat src/big.js"})), say("The same.")],
        on=[say("On.")],
    )
    project.say("[[SCRIPT:twice]] read it")
    project.say("[[SCRIPT:again]] show it")
    assert any("as in your read" in text for text in shown(bodies(api, project)[-1]).values())
    project.compact()
    assert project.notes[-1] == "pi compacts this time, not PopKit: nothing would leave."
    project.say("[[SCRIPT:on]] go on")
    last = bodies(api, project)[-1]
    assert broken([last]) == []
    assert not any("as in your read" in text for text in shown(last).values())
    assert any(text.strip() == big_file().strip() for text in shown(last).values())
    project.leave()


@ONCE
def test_where_popkit_is_switched_off_pi_compacts_as_ever(machine: Machine, api: BothApis, provider: str) -> None:
    (machine.popkit).mkdir(parents=True)
    (machine.popkit / "retention-config.json").write_text('{"retention": {"compact": "off"}}')
    project = Project(machine, "shop", api.url, provider, settings=SMALL)
    api.places["work"] = str(project.work)
    worked(project, api)
    project.compact()
    entries: list[dict[str, Any]] = project.entries()
    assert [entry.get("fromHook") for entry in entries if entry["type"] == "compaction"] == [False]
    project.leave()


@ONCE
def test_calls_that_leave_whole_are_named_where_they_stood_again_and_again(machine: Machine, api: BothApis, provider: str) -> None:
    machine.popkit.mkdir(parents=True)
    (machine.popkit / "retention-config.json").write_text('{"retention": {"compact_target": 0.03}}')
    project = Project(machine, "shop", api.url, provider, settings=SMALL)
    for name in ("line", "row"):
        steps = [call(("bash", {"command": f"seq -f '{name} %g of number {n}' 90"}), text=f"The {name} {n}.") for n in range(100)]
        api.scripts.update({name: [*steps, say("Done.")], "on": [call(("bash", {"command": "git log"})), say("On.")]})
        project.say(f"[[SCRIPT:{name}]] go")
        before = bodies(api, project)[-1]
        project.compact()
        project.say("[[SCRIPT:on]] go on")
        after = bodies(api, project)[-2]
        assert any(text.startswith("[PopKit left out bash seq") for text in shown(after).values())
        assert all(call and call == result for call, result in pairs(after))
        assert words(after)[: len(words(before))] == words(before)
        assert len(json.dumps(after)) < len(json.dumps(before)) / 2
    project.leave()
