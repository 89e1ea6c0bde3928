"""What stands in each prompt, and what is hidden of it, through the helper."""

from __future__ import annotations

import os

from hooks.utils.state import client_reports
from tests.bill.standing import LINEAR, breakdown

from .asking import SESSION, Helper


def test_what_the_client_says_is_kept_for_the_project(helper: Helper):
    helper.ask("/standing", {"breakdown": breakdown()})
    kept = client_reports.load_breakdown(str(helper.home), os.path.realpath(helper.project))
    assert (kept["session"], kept["missing"]) == (SESSION, [])
    helper.ask("/standing", {"breakdown": {}})
    kept = client_reports.load_breakdown(str(helper.home), os.path.realpath(helper.project))
    assert kept["problem"]["why"] == "it has no categories in use"
    assert len(kept["tools"]) == 5


def test_the_bill_is_answered_in_a_session_and_a_tool_is_hidden_there(helper: Helper):
    helper.ask("/standing", {"breakdown": breakdown()})
    assert helper.ask("/hidden") == {"names": [], "deferred": []}
    assert "MCP server linear (3 tools)" in helper.ask("/command", {"words": "bill"})["text"]
    assert "Nothing was changed" in helper.ask("/command", {"words": f"bill hide {LINEAR[0]}"})["text"]
    helper.ask("/command", {"words": f"bill hide {LINEAR[0]} --yes"})
    helper.ask("/command", {"words": "bill defer plugin:docs:docs --yes"})
    assert helper.ask("/hidden") == {"names": [LINEAR[0]], "deferred": ["mcp__plugin_docs_docs__"]}
    helper.ask("/command", {"words": "bill show plugin:docs:docs"})
    helper.ask("/command", {"words": f"bill show {LINEAR[0]}"})
    assert helper.ask("/hidden") == {"names": [], "deferred": []}


def test_words_that_are_none_are_answered_with_those_that_are(helper: Helper):
    assert "takes" in helper.ask("/command", {"words": "bill --since soon"})["text"]


def test_the_pane_has_a_page_of_the_bill_and_what_is_hidden_there_is_back_at_a_press(helper: Helper):
    shown = helper.ask("/view", {"page": "bill"})["pane"]
    assert "Claude Code has not said yet" in " ".join(shown["lines"])
    assert shown["deeds"] == []
    helper.ask("/standing", {"breakdown": breakdown()})
    assert "is hidden" in helper.ask("/press", {"id": f"bill hide {LINEAR[0]} --yes"})["text"]
    shown = helper.ask("/view", {"page": "bill", "columns": 76})["pane"]
    assert any("MCP server linear (2 tools)" in line for line in shown["lines"])
    (back,) = shown["deeds"]
    assert back["id"] == f"bill show {LINEAR[0]}"
    assert "is back" in helper.ask("/press", {"id": back["id"]})["text"]
    assert helper.ask("/hidden")["names"] == []
