"""Which test, build, lint and type-check runs are the same run, and what a failing run leaves."""

from __future__ import annotations

import pytest

from tests.policy.scenario import Scenario

# (earlier, later, whether the later one ends the earlier)
RUNS = [
    ("npm test", "npm test", True),
    ("npm t", "npm run test -- --silent | tail -20", True),
    ("npm test", "npm run build", False),
    ("npm test", "cd web && npm test", False),
    ("pytest tests/a.py", "pytest", True),
    ("pytest", "pytest tests/a.py", False),
    ("pytest -k login", "pytest -k logout", False),
    ("go test ./pkg/a", "go test ./...", True),
]


@pytest.mark.parametrize(("earlier", "later", "ends"), RUNS)
def test_a_run_is_ended_by_a_newer_run_of_the_same_or_of_more(session: Scenario, earlier, later, ends):
    session.bash(earlier)
    assert session.tier("T1") == "session"
    assert session.bash(later) == ({"T1": "superseded"} if ends else {})


def test_a_full_run_ends_both_of_two_partial_runs(session: Scenario):
    session.bash("pytest tests/a.py")
    session.bash("pytest tests/b.py")
    assert session.bash("pytest") == {"T1": "superseded", "T2": "superseded"}


def test_two_partial_runs_do_not_end_a_full_run(session: Scenario):
    session.bash("pytest")
    session.bash("pytest tests/a.py")
    session.bash("pytest tests/b.py")
    assert session.live == ["T1", "T2", "T3"]


@pytest.mark.parametrize("first_fails", [True, False])
@pytest.mark.parametrize("second_fails", [True, False])
def test_a_run_is_ended_by_its_next_run_however_either_went(session: Scenario, first_fails, second_fails):
    (session.bash_fails if first_fails else session.bash)("npm test")
    assert (session.bash_fails if second_fails else session.bash)("npm test") == {"T1": "superseded"}
    assert session.live == ["T2"]


def test_a_failing_run_waits_for_its_next_run_however_long_that_takes(session: Scenario):
    session.bash_fails("npm test", "1 failing")
    session.nothing(50)
    session.wait(10_000)
    assert session.tier("T1") == "session"
    assert "T1" in session.live
    assert session.bash("npm test") == {"T1": "superseded"}


def test_a_failed_run_leaves_its_verdict_of_one_line_in_the_reasons(session: Scenario):
    session.bash_fails("npm test", "> app@1.0.0 test\n> jest\n\n  ● login › refuses\n\nTests: 1 failed, 12 passed, 13 total\n\nTime: 1.2 s")
    session.bash("npm test", "Tests: 13 passed, 13 total")
    assert "Tests: 1 failed, 12 passed, 13 total" in session.reasons("T1")
    assert "login › refuses" not in session.reasons("T1")
    assert session.result("T1").verdict == "exit 1: Tests: 1 failed, 12 passed, 13 total"


def test_a_failed_run_that_is_ended_by_a_wider_one_leaves_its_verdict_too(session: Scenario):
    session.bash_fails("pytest tests/a.py", "1 failed, 3 passed in 0.10s")
    session.bash("pytest", "20 passed in 1.00s")
    assert "1 failed, 3 passed in 0.10s" in session.reasons("T1")


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("collected 4 items\n\n====== 4 passed in 0.02s ======", "4 passed in 0.02s"),
        ("warming up\nok  \texample.com/app\t0.01s", "example.com/app"),
        ("x" * 5000 + "\nTests: 2 failed, 2 total", "Tests: 2 failed, 2 total"),
        ("Found 3 errors in 1 file (checked 9 source files)", "Found 3 errors in 1 file (checked 9 source files)"),
    ],
)
def test_the_verdict_is_the_line_that_tells_how_it_went(session: Scenario, output, verdict):
    session.bash("npm test", output)
    assert verdict in session.result("T1").verdict
    assert "\n" not in session.result("T1").verdict
    assert len(session.result("T1").verdict) <= 120


def test_a_result_that_is_no_run_and_no_error_has_no_verdict(session: Scenario):
    session.bash("rg failed", "a.py:1: 3 failed")
    session.bash("python a.py", "3 failed")
    session.read("a.py", text="3 failed")
    assert [session.result(id).verdict for id in session.live] == ["", "", ""]
