"""What patterns are held against: paths and command lines, never what is searched for."""

from __future__ import annotations

from tests.policy.scenario import Scenario


def test_a_path_pattern_of_a_search_tool_is_held_against_the_place_that_is_searched():
    session = Scenario({"tool_overrides": {"Grep": {"patterns": {"docs/": "session"}}, "Glob": {"patterns": {"/p/docs": "session"}}}})
    session.grep("login", "docs/guide")
    session.grep("docs/login")
    session.call("Glob", {"pattern": "*.md", "path": "/p/docs"})
    assert [session.tier(id) for id in session.live] == ["session", "short", "session"]


def test_a_preserved_pattern_does_not_look_at_what_is_searched_for(session: Scenario):
    session.grep("STATUS.json")
    assert session.tier("T1") == "short"


def test_a_pin_by_pattern_does_not_look_at_what_is_searched_for(session: Scenario):
    session.pin("config.ts")
    session.grep("config.ts")
    session.read("src/config.ts")
    session.nothing(5)
    assert "T1" not in session.live
    assert session.edit("src/config.ts") == {}


def test_a_pattern_is_held_against_every_file_that_a_line_reads(session: Scenario):
    session.bash("cat a.py docs/STATUS.json | head -50")
    assert session.tier("T1") == "preserved"
