"""The place of a session: its folders and rules, what it remembers, and where it stands still under a data rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.codex import TOOLS as CODEX
from popkit_retention.core.io import volatile
from popkit_retention.core.policy.calls import TEXT_CHARS
from popkit_retention.core.state import data_rules, journal, session, store
from popkit_retention.core.state.site import Site, site_at_start, site_of

ID = "11111111-2222-3333-4444-555555555555"
GUEST = "ses_0123456789abcdefABCDEFGH"
NEW = {"AI_AGENT": "claude-code_2-1-332_harness"}
has_place = pytest.mark.skipif(not volatile.is_possible(), reason="this system has no place in memory")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for folder, _ in volatile.folders(str(tmp_path)):
        volatile.remove(folder)


def site(home: Path, *rules: str, session_id: str = ID, project: str = "/shop", **environ: str) -> Site:
    """A site of a session under these rules."""
    if rules:
        data_rules.say(str(home), session_id, rules)
    return Site({"POPKIT_HOME": str(home), **environ}, session_id, project)


def configure(home: Path, **config: object) -> None:
    (home / "retention-config.json").write_text(json.dumps(config))


def test_a_project_is_the_host_s_or_the_folder_of_the_payload(home: Path) -> None:
    assert (site(home).project, site(home, CLAUDE_PROJECT_DIR="/other").project) == ("/shop", "/other")
    assert site(home, CLAUDE_PROJECT_DIR="").project == "/shop"
    assert len(site(home, project="/" * TEXT_CHARS).project) == TEXT_CHARS
    assert site(home, project="/" * (TEXT_CHARS + 1)).project == ""


def test_a_recording_may_have_the_tools_of_any_host(home: Path) -> None:
    environ = {"POPKIT_HOME": str(home)}
    recorded, run = (one.tools.of("apply_patch").operation for one in (Site(environ, ID, is_recorded=True), Site(environ, ID)))
    assert (recorded, run) == (CODEX.of("apply_patch").operation, TOOLS.of("apply_patch").operation)
    assert recorded != run


def test_a_session_is_of_the_project_in_which_it_began(home: Path) -> None:
    assert site(home).session_project == "/shop"
    session.update(str(home), ID, project="/first")
    assert site(home).session_project == "/first"
    assert vars(site(home, session_id="").session) == {}


def test_what_a_session_remembers_all_its_processes_know(home: Path) -> None:
    one = site(home)
    one.remember(profile="spec", model="m")
    assert vars(one.session) == vars(site(home).session) == {"profile": "spec", "model": "m"}
    one.remember(model=None)
    assert vars(site(home).session) == {"profile": "spec"}
    other = site(home)
    assert vars(other.session) == {"profile": "spec"}
    assert one.claim("memory", 5.0)
    assert (one.session.memory, other.claim("memory", 6.0), other.session.memory) == (5.0, False, 5.0)


def test_a_text_of_our_own_is_given_once_and_journalled_with_the_main_thread(home: Path) -> None:
    entry = journal.advised(3, 5.0)
    one, other = site(home), site(home)
    assert vars(one.session) == {}
    assert (one.give_once("memory", 5.0, entry), other.give_once("memory", 6.0, entry)) == (True, False)
    assert (journal.read(one.paths()), one.session.memory) == ([entry], 5.0)


@pytest.mark.parametrize(("chosen", "profile"), [("aggressive", "aggressive"), (None, "conservative"), (7, "conservative")])
def test_rules_are_those_of_the_chosen_profile_or_of_the_configured_one(home: Path, chosen: object, profile: str) -> None:
    configure(home, profile="conservative")
    one = site(home)
    one.remember(profile=chosen)
    assert one.rules().profile == one.rules_for(chosen).profile == profile


def test_paths_are_of_the_main_thread_or_of_an_agent(home: Path) -> None:
    one = site(home)
    main, agent = store.ContextFiles(str(home), ID), store.ContextFiles(str(home), ID, "a1")
    assert (one.paths().state, one.paths("a1").state) == (main.state, agent.state)
    assert (one.paths().is_held, site(home, "zdr").paths("a1").is_held) == (False, True)


# --- data rules ------------------------------------------------------------------------------------------------------------------------


def facts(one: Site) -> tuple[bool, ...]:
    return one.enabled, one.stands_still, one.awaits_rules, one.is_in_memory


@pytest.mark.parametrize(
    ("rules", "environ", "config", "expected"),
    [
        ((), {}, {}, (True, False, False, False)),
        ((), NEW, {}, (False, True, True, False)),
        (("zdr",), {}, {}, (False, True, False, False)),
        (("unknown",), {}, {}, (False, True, True, False)),
        ((), NEW, {"data_rules": []}, (True, False, False, False)),
        ((), {}, {"enabled": False}, (False, False, False, False)),
        ((), NEW, {"enabled": False}, (False, True, False, False)),
    ],
)
def test_a_session_stands_still_under_a_rule_and_awaits_what_is_not_said(
    home: Path, rules: tuple[str, ...], environ: dict[str, str], config: dict[str, Any], expected: tuple[bool, ...]
) -> None:
    configure(home, **config)
    assert facts(site(home, *rules, **environ)) == expected
    made = site_of({"session_id": ID, "cwd": "/shop"}, {"POPKIT_HOME": str(home), **environ})
    assert (made is not None) == expected[0]


def test_what_stands_still_remembers_for_itself_alone(home: Path) -> None:
    one = site(home, "zdr")
    before = sorted(path.name for path in (home / "sessions" / ID).iterdir())
    one.remember(profile="spec", model="m")
    one.remember(model=None)
    assert (vars(one.session), one.claim("memory", 1.0), one.give_once("memory", 1.0, journal.advised(3, 1.0))) == (
        {"profile": "spec"},
        False,
        False,
    )
    assert sorted(path.name for path in (home / "sessions" / ID).iterdir()) == before
    assert vars(site(home).session) == {}


def test_a_text_of_our_own_need_not_wait_for_the_rules(home: Path) -> None:
    one = Site({"POPKIT_HOME": str(home), **NEW}, ID)
    assert one.awaits_rules
    assert [one.give_once("memory", 1.0, journal.advised(3, 1.0)) for _ in range(2)] == [True, False]
    assert len(journal.read(one.paths())) == 1


def test_a_statement_is_made_where_there_are_rules(home: Path) -> None:
    assert site(home).rules_in_words() == ""
    assert site(home, "hipaa").rules_in_words() == data_rules.in_words(("hipaa",), False)


@has_place
def test_under_a_named_rule_the_files_of_a_session_lie_in_memory(home: Path) -> None:
    session.update(str(home), ID, profile="aggressive")
    one = site(home, "zdr")
    assert (one.home, vars(one.session)) == (str(home), {"profile": "aggressive"})
    one.begin_in_memory()
    assert vars(one.session) == {}
    assert facts(one) == (True, False, False, True)
    assert one.home == volatile.find(str(home), ID) == site(home).home
    assert one.lasting_home == str(home)
    one.remember(profile="spec")
    assert (vars(site(home).session), one.rules_in_words()) == ({"profile": "spec"}, data_rules.in_words(("zdr",), True))
    assert one.paths().folder.startswith(one.home)
    assert vars(session.read(str(home), ID)) == {"profile": "aggressive"}, "what was kept before the rule"
    one.end_in_memory()
    assert (volatile.folders(str(home)), one.home, facts(one)) == ([], str(home), (False, True, False, False))
    assert vars(one.session) == {"profile": "aggressive"}
    one.end_in_memory()


@has_place
@pytest.mark.parametrize(
    ("rules", "session_id", "config"),
    [((), ID, {}), (("unknown",), ID, {}), (("zdr",), GUEST, {}), (("zdr",), ID, {"enabled": False}), ((), "", {"data_rules": ["zdr"]})],
)
def test_no_other_session_has_a_folder_in_memory(home: Path, rules: tuple[str, ...], session_id: str, config: dict[str, Any]) -> None:
    configure(home, **config)
    one = site(home, *rules, session_id=session_id)
    one.begin_in_memory()
    assert (volatile.folders(str(home)), one.home, one.is_in_memory) == ([], str(home), False)


# --- payloads --------------------------------------------------------------------------------------------------------------------------


def test_a_payload_that_names_no_session_has_no_site(home: Path) -> None:
    environ = {"POPKIT_HOME": str(home)}
    for payload in ({}, {"session_id": ""}, {"session_id": 7}):
        assert site_of(payload, environ) is None
        assert site_at_start(payload, environ, True) is None
    made = site_of({"session_id": ID, "cwd": "/shop"}, environ)
    assert made is not None
    assert (made.session_id, made.project) == (ID, "/shop")
    begun = site_at_start({"session_id": ID, "cwd": "/shop"}, environ, False)
    assert begun is not None
    assert (begun.session_id, begun.project) == (ID, "/shop")


@pytest.mark.parametrize("is_new_client", [True, False])
def test_a_session_that_begins_in_another_client_waits_for_its_rules(home: Path, is_new_client: bool) -> None:
    data_rules.say(str(home), ID, ())
    made = site_at_start({"session_id": ID}, {"POPKIT_HOME": str(home), **NEW}, is_new_client)
    assert made is not None
    assert (made.awaits_rules, data_rules.is_said(str(home), ID)) == (is_new_client, not is_new_client)


@has_place
def test_a_session_that_begins_under_a_rule_has_its_folder_in_memory(home: Path) -> None:
    data_rules.say(str(home), ID, ("zdr",))
    made = site_at_start({"session_id": ID}, {"POPKIT_HOME": str(home), **NEW}, True)
    assert made is not None
    assert (made.is_in_memory, made.data_rules) == (True, ("zdr",))


def test_where_it_is_switched_off_no_session_begins(home: Path) -> None:
    configure(home, enabled=False)
    for environ in ({}, NEW):
        assert site_at_start({"session_id": ID}, {"POPKIT_HOME": str(home), **environ}, True) is None
