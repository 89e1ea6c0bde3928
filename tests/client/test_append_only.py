"""PopKit never changes what was sent: long sessions in the real clients, request by request. And what it is for: prompts get smaller."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from . import installs, long_day
from .append_only import NOISE, Body, change, changes, dangling, parts, plain, threads, unfounded
from .client import ClientHome
from .ends import OLDEST_IF_SLOW
from .long_day import calls_of
from .plugin_copy import linked
from .provider import blocks_of, faults, thoughts
from .scripted_api import ScriptedApi, position, text_of
from .terminal import ClientTerminal

ROOT = Path(__file__).resolve().parents[2]
DAY = ["go [[SCRIPT:morning]]", "go [[SCRIPT:afternoon]]", "/compact", "go [[SCRIPT:evening]]"]
HALF_A_DAY = [prompt for prompt in DAY if "afternoon" not in prompt]
# The host's own compaction tells where a thread begins anew; what one of ours leaves, test_compact.py shows.
CONFIGURATION = {"retention": {"say_once": "any", "shape": "safe", "compact": "off"}}
# Commits have the same names in every session.
ENVIRONMENT = {f"GIT_{who}_DATE": "2026-01-01T10:00:00Z" for who in ("AUTHOR", "COMMITTER")}
OURS = re.compile(r"popkit|Retention status|Prompt cache (?:warm|cold)|Said once|Reclaimable", re.IGNORECASE)
# The texts of docs/decisions/clearing/advice-for-the-summariser.md: what the summariser is told, which the host repeats, and the index.
# How a reference ends that says how to see what stayed out.
WAY_BACK = re.compile(r"; to see all: popkit restore [a-z2-7]{8,}\]")
AT_COMPACTION = re.compile(
    r"Additional Instructions:\\nPopKit tracked.*|<local-command-stdout>[^<]*Compacted.*"
    r'|SessionStart hook additional context: Tool results[^:]*:(?:\\n- (?:[^"\\]|\\[^n])*)*(?:\\n)*'
)
# The client's own note that a person called a command.
CALLED = re.compile(r"<command-name>/popkit.*")
# 2.1.100 gives a compaction the texts of the commands that were called.
INVOKED = re.compile(r"The following skills were invoked in this session.*")
AT_MOST = 0.75  # of the prompt without PopKit
AFTER_HALF_A_DAY = 0.83  # of its shorter prompt, what the tools and the system say is more


@dataclass
class Long:
    """A session that was played to its end."""

    api: ScriptedApi
    home: ClientHome
    day: long_day.Played
    is_oldest: bool

    def threads(self) -> list[list[Body]]:
        """Every sequence of requests that go on from each other; what a rewind took back is left out."""
        kept = [request for request in self.api.requests if position(request.body.get("messages", []))[0] != "detour"]
        return threads(kept, self.subagents)

    @property
    def subagents(self) -> list[str]:
        """The scripts that subagents played."""
        return [name for name in long_day.AGENTS if name in self.day.scripts]

    def of_day(self, half: float, whole: float) -> float:
        """What holds of half a day, or of the whole one if that was played."""
        return whole if "afternoon" in self.day.scripts else half

    def last_prompt(self) -> Body:
        """The last request before the compaction, which has all calls until then."""
        return self.threads()[0][-2]

    def alike(self, part: str) -> str:
        """A part of a request without the names that differ between sessions which play the same."""
        for found, name in ((self.home.root, "ROOT"), (re.sub("[^a-zA-Z0-9]", "-", str(self.home.root)), "ROOT")):
            part = part.replace(str(found), name)
        part = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", part)
        part = re.sub(r'"signature": "\w+"', "SEAL", part)
        part = re.sub(r"(toolu_[a-z]+_\d+_\d+)_\d+", r"\1", part)
        return re.sub(r"agentId: \w+|'a[0-9a-f]{16}'|subagent_tokens: \d+|duration_ms: \d+", "AGENT", part)


def play(installed: installs.Installed, folder: Path, api: ScriptedApi, plugin: Path | None, *, half: bool = False) -> Long:
    """The day in one process, and the night in another that resumes it."""
    session = laid_out(installed, folder, api, long_day.half_a_day() if half else long_day.whole_day())
    run = session.home.run_headless(HALF_A_DAY if half else DAY, plugin_dir=plugin)
    assert run.returncode == 0, run.stderr
    assert session.home.run_headless("go [[SCRIPT:night]]", plugin_dir=plugin, resume=run.session_id).returncode == 0
    return session


def laid_out(installed: installs.Installed, folder: Path, api: ScriptedApi, day: long_day.Played, **settings: str) -> Long:
    """A home with the project and the user's configuration, before anything is played."""
    home = ClientHome(folder, installed, api.url, {**ENVIRONMENT, "POPKIT_DOOR_MS": "60000"})  # the machine may be busy
    (home.config / "popkit").mkdir()
    configuration = {"retention": {**CONFIGURATION["retention"], **settings}}
    (home.config / "popkit" / "retention-config.json").write_text(json.dumps(configuration))
    long_day.lay_out(home)
    api.places["work"] = str(home.work)
    api.scripts.update(day.scripts)
    return Long(api, home, day, installed.version == installs.OLDEST_SUPPORTED)


@pytest.fixture(scope="module")
def is_slow(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for the whole day."""
    return request.config.getoption("--slow")


@pytest.fixture(scope="module")
def without(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory, is_slow: bool) -> Iterator[Long]:
    """The newest client, without PopKit."""
    with ScriptedApi() as api:
        yield play(clients["newest"], tmp_path_factory.mktemp("without"), api, None, half=not is_slow)


@pytest.fixture(scope="module")
def newest(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory, is_slow: bool) -> Iterator[Long]:
    """The newest client, headless."""
    with ScriptedApi() as api:
        yield play(clients["newest"], tmp_path_factory.mktemp("newest"), api, linked(), half=not is_slow)


@pytest.fixture(scope="module")
def oldest(clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Long]:
    """The oldest supported client, headless, for half a day."""
    with ScriptedApi() as api:
        yield play(clients["oldest"], tmp_path_factory.mktemp("oldest"), api, linked(), half=True)


@pytest.fixture(scope="module", params=OLDEST_IF_SLOW)
def terminal(
    request: pytest.FixtureRequest, clients: dict[str, installs.Installed], tmp_path_factory: pytest.TempPathFactory, is_slow: bool
) -> Iterator[Long]:
    """A client in a terminal, for some hours, or half a day: a detour is taken back by a rewind, the panel is open while the work goes on,
    the session is loaded again."""
    with ScriptedApi() as api:
        day = long_day.half_a_day() if is_slow else long_day.some_hours()
        session = laid_out(clients[request.param], tmp_path_factory.mktemp("terminal"), api, day, profile="spec")
        with ClientTerminal(session.home, plugin_dir=linked(), columns=150) as screen:
            screen.wait_ready()
            for script in ("morning" if is_slow else "outset", "detour"):
                screen.send(f"go [[SCRIPT:{script}]]")
                screen.wait(f"the {script} is done")
                screen.wait_idle()
            screen.rewind()
            screen.send("/popkit:context" if session.is_oldest else "/popkit")
            screen.wait("Retention status" if session.is_oldest else "The pane is open.")
            screen.send("instead [[SCRIPT:evening]]")
            screen.wait("the evening is done")
            screen.wait_idle()
            screen.send("/compact")
            screen.wait("ompacted")
            screen.wait_idle()
            [transcript] = session.home.config.glob("projects/*/*.jsonl")
            screen.load(transcript.stem)
            screen.ask("go [[SCRIPT:night]]", lambda shown: "the night is done" in shown)
            screen.wait_idle()
        yield session


@pytest.fixture(params=OLDEST_IF_SLOW)
def headless(request: pytest.FixtureRequest) -> Long:
    """Either client with PopKit."""
    return request.getfixturevalue(request.param)


# --- the checker -----------------------------------------------------------------------------------------------------------------


def asked(*texts: str) -> Body:
    """A request with a result for each text; the mark for the cache stands on the last one."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, text in enumerate(texts):
        messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}]})
        content = [{"type": "text", "text": text}] if number == len(texts) - 1 else text
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": content}]})
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    system = [{"type": "text", "text": f"header {len(texts)}"}, {"type": "text", "text": "You help."}]
    return {"tools": [{"name": "Read"}], "system": system, "messages": messages}


def shorten(body: Body) -> None:
    body["messages"][2]["content"][0]["content"] = "[the first]"


def leave_out(body: Body) -> None:
    del body["messages"][1:3]


def swap(body: Body) -> None:
    messages = body["messages"]
    messages[2], messages[4] = messages[4], messages[2]


def say_more(body: Body) -> None:
    body["messages"][0]["content"] += " on"


def put_before(body: Body) -> None:
    body["messages"].insert(0, {"role": "user", "content": "first of all"})


def instruct(body: Body) -> None:
    body["system"][1]["text"] += " PopKit helps too."


def equip(body: Body) -> None:
    body["tools"].append({"name": "restore"})


def test_marks_for_the_cache_and_a_lone_text_as_a_list_are_no_change():
    assert changes([asked("a"), asked("a", "b"), asked("a", "b", "c")]) == []


@pytest.mark.parametrize("tamper", [shorten, leave_out, swap, say_more, put_before, instruct, equip])
def test_the_checker_finds_whatever_is_changed(tamper: Callable[[Body], None]):
    after = asked("the first", "the second", "the third")
    tamper(after)
    assert len(changes([asked("the first"), asked("the first", "the second"), after])) == 1


def test_the_checker_finds_what_is_gone_at_the_end():
    assert "became ''" in change(asked("a", "b"), asked("a"))


def test_a_change_in_a_real_session_is_found(newest: Long):
    bodies = copy.deepcopy(newest.threads()[0])
    for body in bodies[20:]:
        block = next(block for message in body["messages"] for block in blocks_of(message) if block["type"] == "tool_result")
        block["content"] = plain(block)["content"].replace("src", "SRC", 1)
    assert len(changes(bodies)) == 1


# --- the law ---------------------------------------------------------------------------------------------------------------------


def check_every_request(session: Long) -> None:
    compared = 0
    for bodies in session.threads():
        # The oldest client writes how git stands into its system prompt when it starts, and again when it resumes.
        assert changes(bodies, system=not session.is_oldest) == []
        compared += len(bodies) - 1
    steps = sum(len(script) for name, script in session.day.scripts.items() if name != "detour")
    assert compared >= steps + 1 - len(session.threads()), "each but the first of its thread, and the one for the summary"
    assert [len(bodies) for bodies in session.threads()[2:]] == [6] * len(session.subagents)


def test_without_popkit_every_request_begins_with_what_the_one_before_sent(without: Long):
    check_every_request(without)


def test_every_request_begins_with_what_the_one_before_sent(headless: Long):
    check_every_request(headless)


def test_so_it_does_in_the_terminal_across_a_rewind(terminal: Long):
    check_every_request(terminal)


def test_all_thinking_is_bound_to_what_is_sent_before_it(headless: Long):
    bodies = [body for bodies in headless.threads() for body in bodies]
    assert len(list(thoughts(headless.last_prompt()["messages"]))) >= headless.of_day(5, 10)
    assert [fault for body in bodies for fault in faults(body["messages"]) if "bound" in fault] == []


def test_after_the_compaction_there_is_what_the_client_keeps_without_popkit_too(newest: Long, without: Long):
    """But for the texts of PopKit that speak of the compaction."""
    compacted, whole = (
        [AT_COMPACTION.sub("", part) for part in all_but_results(session, session.threads()[1][0])] for session in (newest, without)
    )
    assert compacted == whole
    assert len(compacted) >= 10


# --- what reaches the model ------------------------------------------------------------------------------------------------------


def results(body: Body) -> dict[str, str]:
    """id without its running number -> text of a result."""
    found = [block for message in body["messages"] for block in blocks_of(message) if block["type"] == "tool_result"]
    return {block["tool_use_id"].rpartition("_")[0]: text_of(block.get("content")) for block in found}


def all_but_results(session: Long, body: Body) -> list[str]:
    """All of a request but the results."""
    return [session.alike(part) for part in parts(body) if '"type": "tool_result"' not in part]


def test_but_for_results_the_requests_are_those_without_popkit(newest: Long, without: Long):
    compared = 0
    (before, _, *agents), (plainly, _, *others) = newest.threads(), without.threads()
    for bodies, expected in zip((before[:-1], *agents), (plainly[:-1], *others)):
        assert len(bodies) == len(expected)
        for body, other in zip(bodies, expected):
            assert all_but_results(newest, body) == all_but_results(without, other)
            compared += 1
    assert compared >= newest.of_day(45, 85)


def test_a_result_holds_nothing_but_its_lines_references_and_counts(newest: Long, without: Long):
    short = 0
    for bodies, expected in zip(newest.threads(), without.threads()):
        whole = {use_id: without.alike(text) for use_id, text in results(expected[-1]).items()}
        for use_id, text in results(bodies[-1]).items():
            assert unfounded(newest.alike(text), whole[use_id]) == [], use_id
            short += len(text) < len(whole[use_id]) / 2
        assert dangling(bodies[-1]) == []
    assert short >= newest.of_day(10, 25)


def test_nothing_that_popkit_says_or_draws_reaches_the_model(headless: Long):
    assert strays(headless) == set()


def test_nor_does_what_it_says_and_draws_in_the_terminal(terminal: Long):
    assert strays(terminal) == set()


def strays(session: Long) -> set[str]:
    """What of PopKit's stands in requests of any kind, beside references, counts of noise, what a compaction is told and the name of a
    command that was called, with its file's text."""
    found = {part for request in session.api.requests for part in parts(request.body)}
    for known in (AT_COMPACTION, INVOKED, NOISE, CALLED, WAY_BACK):
        found = {known.sub("", part) for part in found}
    return {part[max(0, hit.start() - 150) : hit.end() + 150] for part in found for hit in OURS.finditer(part)}


# --- what it is for --------------------------------------------------------------------------------------------------------------


def edits(body: Body) -> Iterator[tuple[str, str, str, bool]]:
    """(path, old_string, the newest result of a Read of the path, whether it failed) of each Edit of a request."""
    calls: dict[str, dict[str, Any]] = {}
    shown: dict[str, str] = {}
    for message in body["messages"]:
        for block in blocks_of(message):
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result":
                called = calls[block["tool_use_id"]]
                path = called["input"].get("file_path", "")
                if called["name"] == "Read":
                    shown[path] = text_of(block["content"])
                elif called["name"] == "Edit":
                    yield path, called["input"]["old_string"], shown.get(path, ""), bool(block.get("is_error"))


def check_edits(session: Long) -> None:
    scripted = [each for name, steps in session.day.scripts.items() if name not in long_day.AGENTS for each in calls_of(steps)]
    done = [edit for body in (session.last_prompt(), session.threads()[1][-1]) for edit in edits(body)]
    assert len(done) == sum(tool == "Edit" for tool, _ in scripted) >= session.of_day(5, 20)
    assert [path for path, _, _, has_failed in done if has_failed] == []
    for name, text in session.day.files.items():
        assert (session.home.work / name).read_text() == text


def test_every_edit_succeeds(headless: Long):
    check_edits(headless)


def test_every_edit_succeeds_in_the_terminal(terminal: Long):
    check_edits(terminal)


def test_so_do_those_of_lines_that_entered_as_a_reference(newest: Long):
    referred = 0
    for _, old, shown, _ in edits(newest.last_prompt()):
        lines = [line for line in old.split("\n") if line.strip()]
        referred += "as in your " in shown and not any(line in shown for line in lines)
    assert referred >= newest.of_day(2, 5)


def size(body: Body) -> int:
    """Characters of a prompt: tools, system and messages."""
    return len(json.dumps([body["tools"], body["system"], body["messages"]], ensure_ascii=False))


def test_a_long_session_s_prompt_shrinks_by_a_sixth_and_in_the_end_by_a_quarter(newest: Long, without: Long):
    """A sixth after half a day, a quarter after all of it."""
    small, whole = newest.last_prompt(), without.last_prompt()
    assert len(results(small)) == len(results(whole)) == newest.of_day(40, 80)
    share = size(small) / size(whole)
    of_results = sum(map(len, results(small).values())) / sum(map(len, results(whole).values()))
    print(f"the last prompt: {size(small):,} of {size(whole):,} characters, {share:.3f}; its results {of_results:.3f}")
    assert share <= newest.of_day(AFTER_HALF_A_DAY, AT_MOST)
