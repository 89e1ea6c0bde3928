"""Who reads only what stands after a clear learns of each run what the whole conversation said of it last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.core.policy.outlines import OUTLINE_CHARS
from popkit_retention.core.policy.placeholder import beside, handle_in, placeholder, why, with_outline
from popkit_retention.core.policy.plans import CLEAR
from popkit_retention.core.policy.ruleset import PROFILES
from tests.policy.conversing import Conversing

HANDLE = "abcd2345"
COMMANDS = [
    "npm test", "npm test 2>&1 | tail -40", "npm test src/a.test.ts", "cd app && npm test", "npx vitest run", "npx vitest run a.test.ts",
    "pytest -q", "pytest tests/test_a.py", "npm run lint && npm test", "npm test; git log --oneline", "npx tsc --noEmit", "npm run build",
]  # fmt: skip
ENDS = ["Tests: 3 failed, 39 passed, 42 total", "Tests: 42 passed, 42 total", "5 passed in 0.31s", "2 failed in 9.01s", "done", ""]
RUNS = st.tuples(st.sampled_from(COMMANDS), st.booleans(), st.sampled_from(ENDS), st.sampled_from([0, 4, 9, 40, 200]))
HISTORIES = st.lists(st.one_of(RUNS, RUNS, st.sampled_from(["read", "edit", "wait", "pin"])), min_size=1, max_size=16)
ASKED = st.sampled_from(
    [{}, {"now": True}, {"pattern": "npm*"}, {"tier": "session"}, {"tier": "session", "now": True}, {"ids": ("T1", "T2", "T3", "T4")}]
)


def played(history: list, profile: str | None) -> tuple[Conversing, dict[str, str]]:
    """The session, and the text of each run by its id."""
    session = Conversing(profile=profile)
    texts = {}
    for number, step in enumerate(history):
        if step == "read":
            session.read(f"{number % 3}.py", text="a line of code\n" * 60)
        elif step == "edit":
            session.edit(f"{number % 3}.py")
        elif step == "wait":
            session.wait(500)
        elif step == "pin":
            session.pin(f"T{session.steps}")
        else:
            command, failed, end, lines = step
            text = f"PASS src/part{number}.test.ts\n" * lines + end
            (session.bash_fails if failed else session.bash)(command, text)
            texts[f"T{session.steps}"] = text
    session.nothing(6)
    return session, texts


def last_words(session: Conversing) -> dict[str, tuple[str, str]]:
    """Key of a run -> (id, verdict) of the newest."""
    return {part[0]: (result.id, result.verdict) for result in session.conversation.results() for part in result.parts
            if part[0].startswith("run:")}  # fmt: skip


def plain(text: str) -> str:
    return " ".join("".join(char if char in OUTLINE_CHARS else " " for char in text).split())


def standing(session: Conversing, texts: dict[str, str], gone: set[str]) -> dict[str, str]:
    """id -> what stands in the place of each run."""
    rules = session.conversation.rules
    shown = dict(texts)
    for id in gone & texts.keys():
        result = session.result(id)
        shown[id] = with_outline(placeholder(result.label, why(result, 9), HANDLE), beside(result, texts[id], rules))
        assert handle_in(shown[id]) == HANDLE
    return shown


@pytest.mark.parametrize("profile", sorted(PROFILES))
@given(history=HISTORIES, asked=ASKED, cold=st.booleans())
def test_what_remains_gives_each_run_the_last_words_of_the_whole(profile: str, history: list, asked: dict, cold: bool):
    session, texts = played(history, profile)
    plan = session.plan(cold=cold, **asked)
    gone = {result.id for result in plan.going}
    shown = standing(session, texts, gone)
    for id, verdict in last_words(session).values():
        assert id not in gone or plain(verdict) in shown[id].partition("\n")[2], "its placeholder says it"
        if not (plan.selection.forces or id not in gone):
            assert len(session.result(id).subjects) <= 2, "unasked none goes whose last word may be another command's"
    for decision in plan.having(CLEAR):
        if decision.result.id in texts:
            assert decision.placeholder < decision.result.tokens
            assert plan.selection.forces or len(shown[decision.result.id]) < len(texts[decision.result.id])


def _failed_then_passed(profile: str | None, then: str) -> tuple[Conversing, dict[str, str]]:
    """The tests fail, some of them pass, and much comes behind."""
    failed, passed = ("npm test", True, "Tests: 3 failed, 39 passed, 42 total", 40), (then, False, "Tests: 42 passed, 42 total", 12)
    return played([failed, "read", passed, *["read", "edit"] * 20], profile)


def test_after_the_run_that_passed_the_one_that_failed_has_no_last_word():
    session, texts = _failed_then_passed("auto", "npm test src/a.test.ts")
    plan = session.plan()
    gone = {result.id for result in plan.going}
    assert "T3" in gone
    assert standing(session, texts, gone)["T3"].endswith("\nexit 0: Tests: 42 passed 42 total")


@pytest.mark.parametrize("then", ["npm test src/a.test.ts; git log --oneline", "npm run lint && npm test src/a.test.ts"])
def test_a_run_that_no_single_line_sums_up_stays_unless_it_is_forced(then: str):
    session, _ = _failed_then_passed("auto", then)
    assert session.why()["T3"] == session.why(now=True)["T3"] == "last_word"
    assert "T3" in session.going(ids=("T3",))
    assert "T3" in session.going(tier="session")


def test_once_a_newer_run_came_it_may_go():
    session, _ = _failed_then_passed("auto", "npm run lint && npm test src/a.test.ts")
    session.bash("npm test src/a.test.ts", "PASS\n" * 40)
    session.bash("npm run lint", "ok\n" * 40)
    session.nothing(9)
    assert "T3" in session.going()


@pytest.mark.parametrize(
    ("command", "failed", "verdict"),
    [
        ("npm test", True, "exit 1: Tests: 3 failed"),
        ("npm test", False, "exit 0: Tests: 3 failed"),
        ("cd app && npm test", False, "exit 0: Tests: 3 failed"),
        ("npm test | tail -4", False, "Tests: 3 failed"),
        ("npm test; echo done", False, "Tests: 3 failed"),
    ],
)
def test_the_exit_code_is_shown_where_it_is_the_runs_own(command: str, failed: bool, verdict: str):
    session, texts = played([(command, failed, "Tests: 3 failed", 40)], "spec")
    assert standing(session, texts, {"T1"})["T1"].partition("\n")[2] == verdict
