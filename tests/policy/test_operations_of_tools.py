"""What a tool claims by its operation: which earlier results a new one ends."""

from __future__ import annotations

import pytest

from popkit_retention.core.hosts import claude_code
from popkit_retention.core.hosts.transcripts import outcomes
from popkit_retention.core.policy import engine, events, tools
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.context import ContextState
from popkit_retention.core.policy.ruleset import Ruleset
from tests.policy.scenario import SHIPPED

ENDS_THE_SAME_CALL = {
    tools.READ: True, tools.READ_NOTEBOOK: True, tools.SEARCH: True, tools.FIND: True, tools.LIST: True,
    tools.EDIT: True, tools.EDIT_NOTEBOOK: False, tools.WRITE: True, tools.SHELL: True, tools.WINDOWS_SHELL: True,
    tools.OUTPUT: False, tools.REPORT: False, tools.FETCH: True, tools.DELEGATE: False, tools.SKILL: True, tools.TASKS: True,
    tools.ASK: False, tools.PLAN: False, tools.GET: True, tools.OTHER: False,
}  # fmt: skip
OF_NO_KIND = {tools.OUTPUT, tools.REPORT, tools.FETCH, tools.DELEGATE, tools.SKILL, tools.GET, tools.OTHER}
# A tool for each operation, named for it.
TOOLS = tools.Tools(
    {operation: (operation, ("path",), "line") for operation in ENDS_THE_SAME_CALL},
    {tools.READ: "medium"},
    asks={tools.FIRST_LINE: ("first",), tools.LINES: ("lines",)},
)


def ended(*calls: tuple[str, dict]) -> list[str]:
    """The numbers of the calls whose results have ended; each returns a text of its own."""
    state, rules = ContextState("session"), Ruleset.from_config(SHIPPED, TOOLS, None)
    for number, (operation, given) in enumerate(calls, 1):
        tool = TOOLS.of(operation)
        outcome = outcomes.outcome_of_text(tool, given, f"what call {number} returned")
        engine.observe(state, events.Call(str(number), tool, given, outcome, float(number), "/p", "turn 1"), rules)
    return [*state.expired]


def test_each_operation_of_a_host_says_what_it_ends() -> None:
    assert {row[0] for row in claude_code.TOOLS.rows.values()} <= set(ENDS_THE_SAME_CALL)


@pytest.mark.parametrize("operation", ENDS_THE_SAME_CALL)
def test_the_same_call_again_ends_what_its_operation_says(operation: str) -> None:
    call = (operation, {"path": "a.py", "line": "ls"})
    assert ended(call, call) == (["1"] if ENDS_THE_SAME_CALL[operation] else [])


@pytest.mark.parametrize("operation", ENDS_THE_SAME_CALL)
def test_what_names_a_file_ends_a_read_of_its_lines_if_it_reads_or_edits(operation: str) -> None:
    """So an outline or a summary of a file is none of these operations."""
    lines = (tools.READ, {"path": "a.py", "first": 40, "lines": 10})
    assert ended(lines, (operation, {"path": "a.py"})) == (["1"] if operation in tools.READS | tools.EDITS else [])


@pytest.mark.parametrize("tier", ["ephemeral", "session"])
@pytest.mark.parametrize("operation", ENDS_THE_SAME_CALL)
def test_a_row_gives_results_a_kind_where_the_operation_gives_none(operation: str, tier: str) -> None:
    table = tools.Tools({"Ask": (operation, (), "line", (), (), "", False, "answer")}, {"Ask": tier})
    tool, given = table.of("Ask"), {"line": "ls"}
    call = events.Call("1", tool, given, outcomes.outcome_of_text(tool, given, "one"), 1.0, "/p", "turn 1")
    kind = classify(call, "/p", Ruleset.from_config(SHIPPED, table, None)).kind
    assert (kind == "answer") == (operation in OF_NO_KIND)
