"""Under a data rule nothing of a session is kept, whoever says that there is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.config.layers import MANAGED, Layer, merge
from popkit_retention.core.state import data_rules, journal, store
from popkit_retention.core.state.site import Site
from popkit_retention.dashboard.catalog import Catalog
from popkit_retention.dashboard.other_hosts import OtherHosts

NEW = {"AI_AGENT": "claude-code_2-1-332_harness"}
OLD = {"AI_AGENT": "claude-code_2-1-330_harness"}
ID = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("reported", "rules"),
    [
        ([], ()),
        (["hipaa"], ("hipaa",)),
        (["zdr", "hipaa"], ("zdr", "hipaa")),
        (["a rule of tomorrow"], ("a rule of tomorrow",)),
        (None, ("unknown",)),
        ("hipaa", ("unknown",)),
        ([7], ("unknown",)),
        ({"hipaa": False, "zdr": False}, ()),
        ({"hipaa": False, "zdr": True}, ("zdr",)),
        ({"hipaa": False}, ("zdr",)),  # absent: in force
        ({"hipaa": False, "zdr": False, "other": True}, ("other",)),
    ],
)
def test_what_a_client_says_is_a_list_of_rules_and_what_it_leaves_open_is_one(reported: object, rules: tuple[str, ...]):
    assert data_rules.reported(reported, NEW) == rules


def test_of_a_session_without_data_rules_nothing_is_said(tmp_path: Path):
    assert Site({"POPKIT_HOME": str(tmp_path)}, ID, "/shop").rules_in_words() == ""


@pytest.mark.parametrize(
    ("environ", "is_asked"),
    [
        (NEW, True),
        ({"AI_AGENT": "claude-code_2-1-331_agent"}, True),
        ({"AI_AGENT": "claude-code_3-0-0"}, True),
        (OLD, False),
        ({}, False),
        ({"AI_AGENT": "another_9-9-9"}, False),
        ({**NEW, "ANTHROPIC_BASE_URL": "https://api.anthropic.com"}, True),
        ({**NEW, "ANTHROPIC_BASE_URL": "https://gateway.example"}, False),
        ({**NEW, "ANTHROPIC_BASE_URL": "https://api.anthropic.com.example"}, False),
        ({**NEW, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}, False),
    ],
)
def test_only_a_client_that_asks_its_provider_can_say_more_later(environ: dict[str, str], is_asked: bool):
    assert data_rules.is_asked(environ) is is_asked
    assert (data_rules.reported(None, environ) == ()) is not is_asked


@pytest.mark.parametrize("configured", [None, [], ["zdr"]])
@pytest.mark.parametrize("said", [None, (), ("hipaa",), ("unknown",)])
@pytest.mark.parametrize("environ", [NEW, OLD, {}], ids=["new", "old", "shell"])
def test_a_rule_holds_whoever_names_it(tmp_path: Path, environ: dict[str, str], said: tuple[str, ...] | None, configured: list[str] | None):
    if said is not None:
        data_rules.say(str(tmp_path), ID, said)
    held = data_rules.held(environ, str(tmp_path), ID, configured)
    assert ("hipaa" in held) == (said == ("hipaa",))
    assert ("zdr" in held) == (configured == ["zdr"])
    is_open = said == ("unknown",) or (said is None and environ is NEW)
    assert ("unknown" in held) == (is_open and configured is None)


def test_rules_that_cannot_be_read_hold(tmp_path: Path):
    data_rules.say(str(tmp_path), ID, ())
    path = tmp_path / "sessions" / ID / data_rules.NAME
    path.unlink()
    path.mkdir()
    assert data_rules.held({}, str(tmp_path), ID, None) == ("unknown",)


def test_no_layer_takes_away_a_rule_of_another():
    def rules(**layers: object) -> object:
        return merge([Layer(name, name, {"data_rules": rules}) for name, rules in layers.items()]).get("data_rules")

    assert rules(user=["zdr"], **{MANAGED: ["hipaa"]}) == ["zdr", "hipaa"]
    assert rules(user=["zdr"], **{MANAGED: []}) == ["zdr"]
    assert rules(shipped=["zdr"], user=[]) == ["zdr"]
    assert rules(shipped=["zdr"], user=None) == ["zdr"]
    assert rules(shipped=None, user=[]) == []
    assert rules(shipped=None) is None


def test_a_site_under_a_rule_writes_nothing_and_goes_on(tmp_path: Path):
    (tmp_path / "retention-config.json").write_text(json.dumps({"data_rules": ["hipaa"]}))
    site = Site({"POPKIT_HOME": str(tmp_path)}, ID, str(tmp_path))
    assert not site.enabled
    site.remember(model="one")
    assert site.session.model == "one"
    assert site.claim("hinted", 1.0) is False
    with pytest.raises(store.SessionUnderDataRule):
        site.paths().locked()
    with pytest.raises(store.SessionUnderDataRule):
        store.journal(site.paths(), journal.entered_whole("toolu_1", 1.0))
    assert {path.name for path in tmp_path.iterdir()} == {"retention-config.json", "cache"}, "the cache is of the configuration"


@pytest.mark.parametrize("rules", [(), ("hipaa",), ("unknown",)])
def test_the_page_lists_no_session_under_a_rule(tmp_path: Path, rules: tuple[str, ...]):
    popkit, transcripts = tmp_path / "popkit", tmp_path / "claude" / "projects" / "-shop"
    transcripts.mkdir(parents=True)
    (transcripts / f"{ID}.jsonl").write_text("{}\n")
    data_rules.say(str(popkit), ID, rules)
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "HOME": str(tmp_path), "POPKIT_HOME": str(popkit)}
    catalog = Catalog(environ, str(popkit), lambda: 1.0, OtherHosts(environ))
    assert (ID in catalog.sessions()) is not bool(rules)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("x", "x"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "unknown"),
        ("", "unknown"),
        ("a\nb", "unknown"),
        ("\x1b[2J", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_rule_has_a_short_name_that_can_be_shown(name: object, rule: str):
    assert data_rules.reported([name, name], NEW) == (rule,)


def test_no_account_has_more_than_twenty_rules():
    names = [f"rule {number}" for number in range(21)]
    assert data_rules.reported(names[:20], NEW) == tuple(names[:20])
    assert data_rules.reported(names, NEW) == ("unknown",)


def test_what_was_said_is_a_line_for_each_rule_and_named_ones_stay(tmp_path: Path):
    home, path = str(tmp_path), tmp_path / "sessions" / ID / data_rules.NAME
    assert not data_rules.is_said(home, ID)
    for said, text in ((("unknown",), "unknown\n"), (("zdr",), "zdr\n"), (("hipaa", "zdr"), "zdr\nhipaa\n"), ((), "zdr\nhipaa\n")):
        data_rules.say(home, ID, said)
        assert path.read_text() == text
    data_rules.forget(home, ID)
    assert path.read_text() == "zdr\nhipaa\n"
    for text in ("", "unknown\n"):
        path.write_text(text)
        assert data_rules.is_said(home, ID)
        data_rules.forget(home, ID)
        assert not path.exists()
    data_rules.forget(home, ID)
    path.write_text("zdr\ncut")
    assert data_rules.held({}, home, ID, None) == ("zdr",)
    path.write_text("x" * 4_095 + "\nzdr\n")
    assert data_rules.held({}, home, ID, None) == ("x" * 4_095,), "no client says more"


def test_rules_are_said_in_a_folder_of_our_own_alone(tmp_path: Path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sessions" / ID).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        data_rules.say(str(tmp_path), ID, ("zdr",))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("said", "configured", "held"),
    [
        (("unknown", "zdr"), ["b", "a", "b"], ("b", "a", "zdr")), (("unknown", "zdr"), None, ("unknown", "zdr")),
        (("zdr",), [7], ("7", "zdr")), (None, [], ()), (None, "zdr", ("unknown",)), ((), ["zdr"], ("zdr",)),
    ],
)  # fmt: skip
def test_configured_rules_come_first_and_stand_for_what_nobody_has_said(
    tmp_path: Path, said: tuple[str, ...] | None, configured: object, held: tuple[str, ...]
):
    if said is not None:
        (tmp_path / "sessions" / ID).mkdir(parents=True)
        (tmp_path / "sessions" / ID / data_rules.NAME).write_text("".join(f"{rule}\n" for rule in said))
    assert data_rules.held(NEW, str(tmp_path), ID, configured) == held
    assert data_rules.held(NEW, str(tmp_path), "", configured) == tuple(
        dict.fromkeys(map(str, configured if isinstance(configured, list) else ()))
    )


@pytest.mark.parametrize(
    ("more", "is_asked"),
    [
        ({"AI_AGENT": "claude-code_2-1-331"}, True), ({"AI_AGENT": "claude-code_2-1"}, False), ({"AI_AGENT": "claude-code_2-2"}, True),
        ({"AI_AGENT": "claude-code"}, False), ({"AI_AGENT": "claude-code_2-1-331-beta"}, True), ({"AI_AGENT": "claude-code_x-3"}, True),
        ({"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "0"}, True), ({"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "false"}, True),
        ({"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}, True), ({"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "true"}, False),
        ({"ANTHROPIC_BASE_URL": ""}, True), ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1"}, True),
    ],
)  # fmt: skip
def test_which_clients_ask_for_the_rules_of_their_account(more: dict[str, str], is_asked: bool):
    assert data_rules.is_asked({**NEW, **more}) is is_asked


def test_rules_are_told_in_words():
    told = [
        data_rules.in_words(rules, is_in_memory)
        for rules in (("unknown",), ("unknown", "hipaa", "zdr", "x"))
        for is_in_memory in (True, False)
    ]
    assert told[0] == told[1]
    assert told[0].startswith(
        "Claude Code has not said whether a data rule (HIPAA, zero data retention) applies to this session. Until it does"
    )
    assert told[0].endswith("PopKit keeps nothing of it.")
    for text in told[2:]:
        assert text.startswith("This session is under a data rule (HIPAA, zero data retention, x). PopKit ")
    assert "works, but holds everything about it in memory and writes nothing to disk." in told[2]
    assert "has no folder in memory for it" in told[3]
    assert all("  " not in text and text.endswith(".") for text in told)
