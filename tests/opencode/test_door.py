"""The door in the real OpenCode, with both kinds of provider: what a result says when it enters, and that nothing sent is ever changed."""

from __future__ import annotations

import json

import pytest

from tests.client.scripted_api import call, say

from .client import Project
from .conversations import HANDLE, LINES, big_file, bodies, broken, results, twice
from .scripted_api import BothApis

READ = call(("read", {"filePath": "{work}/src/big.js"}))


@pytest.fixture
def big(project: Project) -> str:
    """A file of the project, and its text."""
    text = big_file()
    (project.work / "src" / "big.js").write_text(text)
    return text


def test_what_the_context_shows_enters_as_a_reference_and_comes_back_by_its_handle(project: Project, api: BothApis, big: str) -> None:
    api.scripts.update(twice=twice(), again=[READ, say("Still the same.")])
    project.say("[[SCRIPT:twice]] go")
    first, second = results(bodies(api, project)[-1]).values()
    assert f"{LINES}: " in first
    assert f"lines as in your read of src/big.js above, there 2–{LINES}" in second
    assert len(second) < len(big) / 5
    handle = HANDLE.search(second)
    assert handle is not None
    assert project.popkit_says("restore", handle[1]).stdout.rstrip("\n").endswith(big.rstrip("\n"))
    project.leave()  # a resumed session knows what it has shown
    project.say("[[SCRIPT:again]] go")
    *_, third = results(bodies(api, project)[-1]).values()
    assert "lines 2–119 as in your read of src/big.js above" in third
    assert broken(bodies(api, project)) == []


def test_what_was_taken_back_or_compacted_away_is_leaned_on_no_more(project: Project, api: BothApis, big: str) -> None:
    api.scripts.update(hello=[say("Hello.")], read=[READ, say("Read.")])
    project.say("[[SCRIPT:hello]]")
    project.say("[[SCRIPT:read]] once")
    project.take_back()
    project.say("[[SCRIPT:read]] again")
    (shown,) = results(bodies(api, project)[-1]).values()
    assert f"{LINES}: " in shown
    assert " as in your" not in shown
    project.compact()
    project.say("[[SCRIPT:read]]")
    (shown,) = results(bodies(api, project)[-1]).values()
    assert " as in your" not in shown


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
def test_a_subagent_has_a_context_of_its_own(project: Project, api: BothApis, big: str) -> None:
    task = {"description": "look", "prompt": "[[SCRIPT:twice]]", "subagent_type": "general"}
    api.scripts.update(main=[READ, call(("task", task)), say("Done.")], twice=twice())
    project.say("[[SCRIPT:main]] go")
    of_subagent = [body for body in bodies(api, project) if "[[SCRIPT:twice]]" in json.dumps(body["messages"][0])]
    first, second = results(of_subagent[-1]).values()
    assert " as in your" not in first, "the subagent has not seen what the main thread has"
    assert "as in your read of src/big.js above" in second
    (agent,) = (project.kept().with_suffix("") / "subagents").iterdir()
    assert '"tool_result"' in agent.read_text()
