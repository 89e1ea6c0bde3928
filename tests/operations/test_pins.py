"""Pins and profiles: what a person changes stays, through a rebuild and for the hooks, and a mistake changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.operations.context_words import answer
from popkit_retention.core.state import store
from popkit_retention.core.state.opening import open_context
from tests.views.written import Written, spec_session


class Asked:
    """A session that is asked one line after the other, each time with nothing in memory."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.written = spec_session(folder / "projects")
        self.seconds_between = 1

    def __call__(self, line: str) -> str:
        self.written.now += self.seconds_between
        return answer(line, self.written.site(self.home), str(self.written.path), self.written.now)

    def data(self, line: str) -> dict:
        return json.loads(self(line + " --json"))

    def journal(self) -> list:
        return store.read_lines(self.written.site(self.home).paths().journal)

    def state(self):
        return store.load(self.written.site(self.home).paths()).state


@pytest.fixture
def ask(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


def test_a_pin_is_journalled_by_its_full_id(ask: Asked) -> None:
    ask("pin T3")
    assert [(entry["event"], entry["target"]) for entry in ask.journal()] == [("pin", "toolu_03Read")]
    assert ask.journal()[0]["at"] == ask.written.now


def test_a_pin_brings_an_expired_result_back_and_holds_it(ask: Asked) -> None:
    assert ask.data("why T3")["state"] == "expired"
    ask("pin T3")
    held = ask.data("why T3")
    assert (held["state"], held["pinned_by"]) == ("live", "toolu_03Read")
    assert "toolu_03Read" in ask.state().live


def test_a_pattern_holds_what_comes_later_too(ask: Asked) -> None:
    ask("pin src/*.ts")
    ask.written.read("src/new.ts")
    ask.written.edit("src/new.ts")
    assert ask.data("why T15")["pinned_by"] == "src/*.ts"


def test_a_pattern_may_be_a_file_name_or_the_words_of_a_command(ask: Asked) -> None:
    assert ask.data("pin 'npm test'")["held"] == ["toolu_05Bash", "toolu_07Bash"]
    assert ask.data("pin config.ts")["pins"] == ["npm test", "config.ts"]


def test_pinning_twice_is_journalled_once(ask: Asked) -> None:
    ask("pin T3")
    assert "was already pinned" in ask("pin 3")
    assert len(ask.journal()) == 1


def test_an_unpinned_result_lives_by_its_tier_again(ask: Asked) -> None:
    ask("pin T10 T11")
    ask("unpin T10")
    assert ask.data("why T10")["pinned_by"] == ""
    assert ask.data("retention")["pins"] == ["toolu_11Read"]


def test_what_left_the_context_can_still_be_unpinned_by_a_part_of_its_id(ask: Asked) -> None:
    ask("pin T10")
    ask.written.compact()
    assert ask.data("unpin 10Read")["pins"] == []


@pytest.mark.parametrize(
    "line",
    ["pin T99", "pin T3 T99", "pin nothing-like-it", "pin ''", "unpin T3", "unpin src/*.ts", "retention --profile fast",
     "retention --aggressive --conservative", "retention --aggressive --profile spec", "timeline --last none", "clear --tier all", "why x"],
)  # fmt: skip
def test_a_mistake_is_answered_and_changes_nothing(ask: Asked, line: str) -> None:
    shown = ask(line)
    assert shown.startswith("\nPopKit: ")
    assert ("help lists all words" in shown) is (line.split(maxsplit=1)[0] in ("retention", "timeline", "clear")), (
        "where the words are wrong"
    )
    assert ask.journal() == []
    assert ask.written.site(ask.home).session.profile is None


def test_a_pin_of_the_configuration_is_not_ours_to_let_go(ask: Asked) -> None:
    ask.home.mkdir()
    (ask.home / "retention-config.json").write_text('{"retention": {"pins": ["config.ts"]}}')
    assert 'T3 is held by "config.ts" in the configuration' in " ".join(ask("unpin T3").split())
    assert "config.ts holds 1 result (configuration)" in ask("retention --details")


def test_a_profile_lasts_for_the_session_and_reaches_the_hooks(ask: Asked) -> None:
    ask("retention --aggressive")
    assert ask.data("why T14")["expires"]["at_call"] == 14 + 2
    site = ask.written.site(ask.home)
    assert site.rules().profile == "aggressive"
    _, rules = open_context(site, site.paths(), store.load(site.paths()))
    assert rules.profile == "aggressive"
    ask("retention --profile default")
    assert ask.written.site(ask.home).rules().profile == "auto"
    assert ask.data("retention")["profile_source"] == "configuration"


def test_the_profile_that_is_shipped_can_be_chosen_over_a_configured_one(ask: Asked) -> None:
    ask.home.mkdir()
    (ask.home / "retention-config.json").write_text('{"retention": {"profile": "aggressive"}}')
    assert ask.data("retention")["profile"] == "aggressive"
    assert "Profile auto for this session: a clear takes what costs more to keep" in ask("retention --profile auto")
    assert (ask.data("retention")["profile"], ask.data("clear --dry-run")["profile"]) == ("auto", "auto")
    ask("retention --profile default")
    assert ask.data("retention")["profile"] == "aggressive"


def test_a_shorter_profile_ends_at_once_what_is_older(ask: Asked) -> None:
    ask.written.call("ListMcpResourcesTool", {}, "none")
    ask.written.call("ListMcpResourcesTool", {"server": "x"}, "none at all")
    assert ask.data("why T14")["state"] == "live"
    ask("retention --aggressive")
    assert ask.data("why T14")["ended"]["trigger"] == "ttl_calls"


def test_the_answer_is_the_same_when_nothing_can_be_written(ask: Asked, tmp_path: Path) -> None:
    ask.seconds_between = 0
    shown = ask("retention")
    other = tmp_path / "file"
    other.write_text("no folder")
    site = Written.site(ask.written, other)
    assert answer("retention", site, str(ask.written.path), ask.written.now) == shown
    assert "Not a directory" in " ".join(answer("pin T3", site, str(ask.written.path), ask.written.now).split())


def test_without_a_transcript_the_hooks_state_is_shown(ask: Asked) -> None:
    ask.seconds_between = 0
    shown = ask("timeline --all")
    ask.written.path.unlink()
    assert ask("timeline --all") == shown


def test_a_stored_state_that_is_broken_is_rebuilt(ask: Asked) -> None:
    ask.seconds_between = 0
    shown = ask("timeline")
    Path(ask.written.site(ask.home).paths().state).write_text("{broken")
    assert ask("timeline") == shown
