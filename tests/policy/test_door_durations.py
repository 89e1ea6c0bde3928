"""Of a run that differs from one before in how long things took, the lines are said once; any other difference enters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.policy import door, own_lines
from popkit_retention.core.policy.door import once
from popkit_retention.core.policy.door.durations import are_alike, asked_for, cut, within
from popkit_retention.core.policy.door.failures import failures_in
from tests.examples import examples
from tests.policy.door_laws import Context, Result, is_rebuilt
from tests.policy.entering import DoorContext, references
from tests.policy.test_door_noise import NUMBERED
from tests.policy.test_door_noise import lines as numbered
from tests.policy.timed_runs import RUNS, places, printed

TEST = "run:test"
runners = st.sampled_from(sorted(RUNS))


def _number(seconds: float, unit: str) -> str:
    return f"{seconds * 1000:.4f}" if unit == "ms" else f"{seconds:.4f}"


_short = st.floats(0.001, 0.999)
_near = st.one_of(st.tuples(_short, _short), st.tuples(st.floats(0.9, 400), st.floats(0.51, 1.96)).map(lambda at: (at[0], at[0] * at[1])))
_apart = st.tuples(st.floats(1, 400), st.floats(2.01, 50)).map(lambda at: (at[0], at[0] * at[1]))
far = st.one_of(_apart, _apart.map(lambda pair: pair[::-1]))


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[str, str, str]:
    """(the command, what it printed, what it printed again in a time that says nothing)"""
    command, lines = RUNS[draw(runners)]
    units = places(lines)
    pairs = draw(st.lists(_near, min_size=3, max_size=8))
    taken = [pairs[at % len(pairs)] for at in range(len(units))]
    before, after = ([_number(pair[side], unit) for pair, unit in zip(taken, units)] for side in (0, 1))
    return command, printed(lines, before), printed(lines, after)


def bash(command: str, text: str) -> Result:
    return Result("Bash", {"command": command}, TEST, text)


def in_turn(command: str, *texts: str) -> tuple[Context, list[door.Entry]]:
    """The context after these outputs of a command, between which others came, and what of them entered."""
    context, entries = Context(door.Settings(door.ANY, door.OFF)), []
    for text in texts:
        result = bash(command, text)
        entries.append(context.arrives(result))
        if text != texts[-1]:
            context.is_seen(result, entries[-1])
    return context, entries


@given(two_runs())
@settings(max_examples=examples(25, 5_000))
def test_a_run_that_took_another_time_is_said_once_and_made_again_but_for_that(runs: tuple[str, str, str]):
    command, before, after = runs
    context, [first, entry] = in_turn(command, before, after)
    assert first == (before, (), ())
    if after != before:
        assert entry.leans_on == ("toolu_1",)
        assert len(entry.text) < len(after) / 2
        is_rebuilt(bash(command, after), entry.text, context.reader)


@pytest.mark.parametrize("runner", RUNS)
def test_the_reference_says_that_durations_differ_and_names_the_longest(runner: str):
    command, lines = RUNS[runner]
    units = places(lines)
    before = printed(lines, [_number(0.001 * (at % 9 + 1), unit) for at, unit in enumerate(units)])
    after = printed(lines, [_number(0.001 * (at % 7 + 1), unit) for at, unit in enumerate(units)])
    _, [_, entry] = in_turn(command, before, after)
    [reference] = references(entry.text)
    entered = entry.text.split("\n")
    assert (entered[0], entered[2]) == (after.split("\n")[0], after.split("\n")[1 + int(reference["count"])])
    written = {"0.0070s", "0.0070 s", "0.0070 seconds", "7.0000ms", "7.0000 ms"}
    assert reference["here"] in written
    assert reference["longest"] in {each.replace("7", "9") for each in written}
    assert entry.reasons == (f"{reference['count']} lines that the context already shows, but for durations",)


@given(two_runs())
@settings(max_examples=examples(25, 2_000))
def test_such_a_reference_is_known_as_a_line_of_ours_wherever_it_is_written(runs: tuple[str, str, str]):
    command, before, after = runs
    _, [_, entry] = in_turn(command, before, after)
    assert len(list(own_lines.found_in(entry.text))) == len(references(entry.text))


def test_a_reference_to_an_identical_result_says_nothing_of_durations():
    command, lines = RUNS["node --test"]
    text = printed(lines, ["0.25"] * len(places(lines)))
    _, [_, entry] = in_turn(command, text, text + "\nmore")
    assert [one["but"] for one in references(entry.text)] == [None]
    assert entry.reasons == ("34 lines that the context already shows",)


@given(two_runs(), st.data())
@settings(max_examples=examples(25, 5_000))
def test_a_line_in_which_another_digit_differs_enters_as_it_is(runs: tuple[str, str, str], data: st.DataObject):
    command, before, after = runs
    digits = [
        (at, place)
        for at, line in enumerate(after.split("\n"))
        for place, sign in enumerate(line)
        if sign.isdigit() and not any(begin <= place < end for begin, end, _ in within(line))
    ]
    if not digits:
        return
    lines = after.split("\n")
    at, place = data.draw(st.sampled_from(digits))
    other = data.draw(st.sampled_from(sorted({*"0123456789"} - {lines[at][place]})))
    lines[at] = lines[at][:place] + other + lines[at][place + 1 :]
    context, [_, entry] = in_turn(command, before, "\n".join(lines))
    if lines[at] not in before.split("\n"):
        assert lines[at] in entry.text.split("\n")
    if entry.reasons:
        is_rebuilt(bash(command, "\n".join(lines)), entry.text, context.reader)


@given(runners, far)
@settings(max_examples=examples(15, 2_000))
def test_a_line_whose_duration_is_too_far_from_what_it_was_enters_as_it_is(runner: str, pair: tuple[float, float]):
    command, lines = RUNS[runner]
    units = places(lines)
    taken = [0.01] * len(units)
    odd = len(units) // 2
    numbers = [[_number(pair[side] if at == odd else one, unit) for at, (one, unit) in enumerate(zip(taken, units))] for side in (0, 1)]
    before, after = printed(lines, numbers[0]), printed(lines, numbers[1])
    [line] = [line for line in after.split("\n") if numbers[1][odd] in line]
    context, [_, entry] = in_turn(command, before, after)
    assert line in entry.text.split("\n")
    is_rebuilt(bash(command, after), entry.text, context.reader)


@given(runners, far)
@settings(max_examples=examples(15, 2_000))
def test_with_all_durations_too_far_apart_no_line_is_the_same_but_for_them(runner: str, pair: tuple[float, float]):
    command, lines = RUNS[runner]
    before, after = (printed(lines, [_number(seconds, unit) for unit in places(lines)]) for seconds in pair)
    _, [_, entry] = in_turn(command, before, after)
    assert [one["but"] for one in references(entry.text)] == [None] * len(references(entry.text))
    assert [line for line in after.split("\n") if within(line)] == [line for line in entry.text.split("\n") if within(line)]


@pytest.mark.parametrize("form", NUMBERED)
def test_an_output_in_which_a_number_matters_enters_whole_when_it_is_another(form: str):
    lines = numbered(form + "  # of item {n} in the basket of the shop", 80).split("\n")
    before, after = "\n".join(lines[:40]), "\n".join(lines[40:])
    _, [_, entry] = in_turn("npm test", before, after)
    assert entry == (after, (), ())


@pytest.mark.parametrize(("before", "after"), [
    ("timeout 30s", "timeout 31s"),
    ("retrying in 5s", "retrying in 6s"),
    ("the token expires in 10s", "the token expires in 11s"),
    ("it took 5s of 5s limit", "it took 4s of 5s limit"),
    ("10 tests in 4s of 5s", "10 tests in 3s of 5s"),
    ("   Start at  10:12:33", "   Start at  10:12:34"),
    ("Finished at: 2026-11-27T10:12:33Z", "Finished at: 2026-11-27T10:12:34Z"),
    ("BenchmarkPrice-12    \t 1000000\t      1032 ns/op", "BenchmarkPrice-12    \t 1000000\t      1060 ns/op"),
    ("price  time:   [1.2 ms 1.3 ms 1.4 ms]", "price  time:   [1.2 ms 1.3 ms 1.5 ms]"),
    ("  Time (mean ± σ):     12.3 ms ±   0.4 ms", "  Time (mean ± σ):     12.4 ms ±   0.4 ms"),
    ("p95: 12ms", "p95: 13ms"),
    ('"interval_ms": 500,', '"interval_ms": 501,'),
    ("the limit of a slow test (300ms)", "the limit of a slow test (301ms)"),
    ("  ✓ waits for 50ms", "  ✓ waits for 51ms"),
    ("  ✔ waits for 50 ms (0.25ms)", "  ✔ waits for 51 ms (0.25ms)"),
    ("  ✔ adds item 1 (0.25ms)", "  ✔ adds item 2 (0.25ms)"),
    ("  ✔ adds item 1 (0.25ms)", "  ✖ adds item 1 (0.25ms)"),
    ("ok  \tshop\t0.012s", "ok  \tshop\t(cached)"),
    ("ok  \tshop\t0.012s\tcoverage: 81.4% of statements", "ok  \tshop\t0.012s\tcoverage: 81.5% of statements"),
    ("Time:        1.2 s, estimated 2 s", "Time:        1.2 s, estimated 3 s"),
    ("3 passed in 0.12s", "4 passed in 0.12s"),
    ("3 passed in 61.12s (0:01:01)", "3 passed in 62.12s (0:01:02)"),
    ("duration: 30s", "duration: 31s"),
    ("Duration 30s", "Duration 31s"),
    ("10 users, Duration: 30s", "10 users, Duration: 31s"),
    ("Time: 30s", "Time: 31s"),
    ("config.timeout 30s", "config.timeout 31s"),
    ("real\t0m3.2s", "real\t0m3.3s"),
    ("2026-11-27 passed in 10:12:33s", "2026-11-27 passed in 10:12:34s"),
])  # fmt: skip
def test_a_value_that_may_be_no_duration_of_the_run_is_compared_to_the_last_digit(before: str, after: str):
    assert not are_alike(before, after)


@pytest.mark.parametrize(("before", "after", "alike"), [
    ("3 passed in 0.01s", "3 passed in 0.99s", True),
    ("3 passed in 0.60s", "3 passed in 1.10s", True),
    ("3 passed in 0.10s", "3 passed in 1.00s", False),
    ("3 passed in 20.0s", "3 passed in 40.0s", True),
    ("3 passed in 20.0s", "3 passed in 40.1s", False),
    ("BUILD SUCCESSFUL in 1m 2s", "BUILD SUCCESSFUL in 1m 50s", True),
    ("BUILD SUCCESSFUL in 1m 2s", "BUILD SUCCESSFUL in 3m 2s", False),
    ("  30 passing (900ms)", "  30 passing (10ms)", True),
    ("  30 passing (900ms)", "  30 passing (1.2s)", True),
    ("  30 passing (100ms)", "  30 passing (1.2s)", False),
    ("ok 1 - adds # time=1200ms", "ok 1 - adds # time=2500ms", False),
    ("# duration_ms 1200.5", "# duration_ms 2400.9", True),
    ("# duration_ms 1200.5", "# duration_ms 2401.1", False),
    ("   Duration  1.21s (tests 5ms)", "   Duration  2.21s (tests 900ms)", True),
    ("   Duration  1.21s (tests 5ms)", "   Duration  1.21s (tests 1900ms)", False),
])  # fmt: skip
def test_durations_may_differ_below_a_second_and_within_a_factor_of_two(before: str, after: str, alike: bool):
    assert are_alike(before, after) == are_alike(after, before) == alike


def test_a_failure_enters_with_its_own_duration():
    command, lines = RUNS["node --test"]
    lines = [*lines[:20], "  ✖ adds nothing ({ms}ms)", "  AssertionError: 33 is not 30", *lines[20:]]
    before, after = (printed(lines, [number] * len(places(lines))) for number in ("0.25", "0.50"))
    context, [_, entry] = in_turn(command, before, after)
    whole, entered = after.split("\n"), entry.text.split("\n")
    assert {whole[at] for at in failures_in(whole, "run")} <= set(entered)
    assert "  ✖ adds nothing (0.50ms)" in entered
    assert len(references(entry.text)) == 2
    is_rebuilt(bash(command, after), entry.text, context.reader)


def _twice(text: str, other: str, say_once: str = door.ANY, command: str = "npm test", **more: Any) -> door.Entry:
    context = DoorContext(say_once)
    context.arrives(text, kind=TEST, command=command)
    return context.arrives(other, **{"kind": TEST, "command": command, **more})


COMMAND, LINES = RUNS["node --test"]
QUICK, SLOW = (printed(LINES, [number] * len(places(LINES))) for number in ("0.25", "0.50"))


def test_durations_are_ignored_only_in_successful_untimed_runs_and_only_if_set():
    assert _twice(QUICK, SLOW).leans_on == ("toolu_1",)
    for say_once in (door.OFF, door.READS):
        assert _twice(QUICK, SLOW, say_once) == (SLOW, (), ())
    for command in ("time npm test", "npm run bench", "pytest --durations=5", "npm test | sort by_time"):
        assert _twice(QUICK, SLOW, command=command) == (SLOW, (), ())
    assert _twice(QUICK, SLOW, command="timeout 300 npm test").leans_on == ("toolu_1",)
    for other in ({"error": True}, {"again": True}, {"kind": "read"}, {"kind": "other"}):
        assert _twice(QUICK, SLOW, **other) == (SLOW, (), ())


def test_another_command_is_no_run_of_the_same():
    context = DoorContext()
    context.arrives(QUICK, kind=TEST, command="npm test")
    assert context.arrives(SLOW, kind=TEST, command="npm test -- --all") == (SLOW, (), ())


@pytest.mark.parametrize("leaves", [
    lambda shown: shown.drop(["toolu_1"]), lambda shown: shown.forget(["toolu_1"]), lambda shown: shown.keep([]),
])  # fmt: skip
def test_nothing_is_the_same_as_what_has_left_the_context(leaves):
    context = DoorContext()
    context.arrives(QUICK, kind=TEST, command=COMMAND)
    leaves(context.shown)
    assert context.arrives(SLOW, kind=TEST, command=COMMAND) == (SLOW, (), ())


def test_every_later_run_refers_to_the_first_that_entered_whole():
    texts = [printed(LINES, [f"{number}.5"] * len(places(LINES))) for number in range(1, 6)]
    context, entries = in_turn(COMMAND, *texts)
    assert [entry.leans_on for entry in entries] == [(), *[("toolu_1",)] * 4]
    is_rebuilt(bash(COMMAND, texts[-1]), entries[-1].text, context.reader)


def test_of_several_runs_that_entered_whole_the_last_is_called_so():
    texts = [printed(LINES, [f"{number}.5"] * len(places(LINES))) for number in (1, 1100, 1200)]
    context, entries = in_turn(COMMAND, *texts)
    assert [entry.leans_on for entry in entries] == [(), (), ("toolu_2",)]
    assert [one["newest"] for one in references(entries[-1].text)] == ["last "]
    is_rebuilt(bash(COMMAND, texts[-1]), entries[-1].text, context.reader)


def test_where_another_run_would_fit_the_same_words_the_lines_enter():
    texts = [printed(LINES, [f"{number}.5"] * len(places(LINES))) for number in (1, 1100, 2)]
    _, entries = in_turn(COMMAND, *texts)
    assert entries[-1] == (texts[-1], (), ())


@given(two_runs(), st.integers(0, 60), st.integers(1, 20), st.booleans())
@settings(max_examples=examples(25, 2_000))
def test_what_may_differ_in_durations_never_makes_more_enter(runs: tuple[str, str, str], at: int, count: int, is_new: bool):
    _, before, after = runs
    lines, new = after.split("\n"), before.split("\n")[at : at + count]
    text = "\n".join([*lines[:at], *([f"{line} is new" for line in new] if is_new else new), *lines[at + count :]])
    shown = door.ContextLines()
    shown.add(once.source("toolu_1", "Bash of it", before))
    shown.add(once.source("toolu_2", "Bash of another", "\n".join(new * 2)))
    exact, reduced = (once.say_once(text, shown, earlier=earlier) for earlier in ((), shown.results_of("Bash of it")))
    assert exact.is_exact
    assert len(reduced.text) <= len(exact.text)


def test_a_short_run_enters_whole():
    text = printed(LINES[:8], ["0.25"] * 8)
    assert _twice(text, text.replace("0.25", "0.50")) == (text.replace("0.25", "0.50"), (), ())


# --- each form --------------------------------------------------------------------------------------------------------------------------

REPORTED = [
    *(f"✓ adds ({written})" for written in (
        "3ms", "3 ms", "3.5ms", "3s", "3.25 s", "3 sec", "3 secs", "3 seconds", "2m 3s", "2 m 3 s", "2min 3s", "1h 2m 3s", "1h2m3s",
        "1 h 3s", "3µs", "3us", "3ns", "3m",
        "3h", "3", "3sx", "3s/op", "3 ms ", " 3ms", "3ms]", "1234h 3s", "123h 3s", "12345m 3s", "1234m 3s", "1234567890s", "123456789s",
        "0.1234567890s", "x3ms", "-3ms",
        "+3ms", "/3ms", ",3ms", ":3ms", ".3ms", "3ms, 4ms", "3_ms",
    )),
    *(f"{mark} adds (3ms)" for mark in ("✔", "√", "▶", "ok", "okay", "--- PASS:", "--- SKIP:", "--- FAIL:", "PASS", "PASSED", "(pass)",
    "Passed", "3 passing", "3 passed",
                                       "passing", "✗", "", "  ✓", "x ✓")),
    "✓ adds [3ms]", "✓ adds [ 3ms]", "✓ adds (3ms) x", "✓ (4ms) adds (3ms)", "duration_ms 3.5", "# duration_ms 3", "ℹ duration_ms: 3",
    "duration_ms", "duration_ms 3 x",
    "duration_ms 1234567890", "  duration_ms 123456789.123456789", "ok 1 - adds # time=3ms", "not ok 1 # time=3ms", "ok 1 # time=3ms x",
    "ok  pkg/a  0.3s", "ok  pkg/a  0.3s  x",
    "ok  _/a  3s", "ok  /a  3s", "ok  3a  3s", "ok pkg/a 0.3sx", "Ran 3 tests across 1 file. [3ms]", "Ran 1 test across 2 files. [3ms]",
    "Ran tests across 1 file. [3ms]",
    "Ran 3 tests across 1 file. [3ms] x", "PASS [ 0.3s] a", "Summary [3s] a", "PASS [3s]", "0.3s call a.py::b", "0.3s setup  a.py::b",
    "0.3s teardown a.py::b", "0.3s calls a.py::b",
    "0.3s call a.py", " 0.3s call a.py::b", " Duration  3ms", " Duration  3ms (transform 1ms, tests 2ms)", " Duration  3ms (x)",
    " Duration 3ms", " Duration  3ms x", "Time:  3s",
    "Time:        3 s, estimated 4 s", "Time: 3 s", "Time:  3 s x", "a.js 3ms (unchanged)", "a.js 3ms (changed)", "a b 3ms (unchanged)",
    "Wall time: 3s", "Wall time: 3s x",
    *(f"{word} in 3s" for word in (
        "3 passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "warnings", "Finished", "finished", "Built", "built",
        "Compiled", "Completed", "completed", "Done",
        "done", "Ran", "ran", "test", "tests", "example", "examples", "file", "files", "module", "modules", "package", "packages",
        "successfully", "SUCCESSFUL", "target(s)",
        "failed", "undone", "Done.", "Done..", "well",
    )),
    *(f"Done in 3s{behind}" for behind in (".", ",", ";", "=", ")", " x", " of x", ":", "/x", " offer")), "Done in x 3s", "Done  in 3s",
    "compilation took 3s", "compilation took 3s x",
    "(files took 3s to load)", "(files took 3s to load) x", "a ... ok (3ms)", "a ... ok (3ms) x", "a ... ok 3ms", "(3 tests) 3ms",
    "(1 test | 2 skipped) 3ms", "(3 tests | 2) 3ms",
    "(3 tests) 3ms x", "Time elapsed: 3 s", "Time elapsed: 3 s - in a", "Time elapsed: 3 s -- in a", "Time elapsed: 3 s <<<",
    "Total time: 3 s", "Total time:  3 s", "Total time: 3 s x",
    ", Duration: 3 s - a.dll", ", Duration: 3 s - a.exe", "Duration: 3 s - a.dll", "Done in 3s, Done in 4s", "took 3s", "timeout 3s",
    "✓ a" + "x" * 391 + " (3ms)", "✓ a" + "x" * 392 + " (3ms)",
    "✓ \0 (3ms)", "", "x",
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "left"),
    [("", ""), ("  ", ""), ("done", "done"), ("✓ done (31 ms)", "✓ done"), ("=== 3 passed in 0.12s ===", "=== 3 passed in")],
)
def test_a_line_is_cut_before_its_duration(line: str, left: str):
    assert cut(line) == left


def test_a_line_has_the_durations_that_the_golden_shows(golden):
    def shown(line: str) -> str:
        return line if len(line) < 300 else f"{line[:4]}… ({len(line)})"

    rows = []
    for line in REPORTED:
        found = [(line[begin:end], round(seconds, 12)) for begin, end, seconds in within(line)]
        rows.append(f"{shown(line)!r} => {found}, {shown(cut(line))!r}" if found else f"{shown(line)!r}")
    golden(Path(__file__).with_name("goldens") / "durations.txt", "".join(f"{row}\n" for row in rows))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("3ms", "999ms", True), ("3ms", "1000ms", False), ("0s", "0.99s", True), ("1s", "2s", True), ("1s", "2.01s", False),
        ("2s", "1s", True), ("600ms", "1s", True),
        ("400ms", "1s", False), ("1m 1s", "61s", True), ("1h 1s", "1m 1s", False), ("3s", "3s", True),
    ],
)  # fmt: skip
def test_durations_say_nothing_below_a_second_or_within_a_factor_of_two(one: str, other: str, alike: bool):
    assert are_alike(f"✓ adds ({one})", f"✓ adds ({other})") is alike
    assert are_alike(f"✓ adds ({other})", f"✓ adds ({one})") is alike
    assert not are_alike(f"✓ adds ({one})", f"✓ addz ({other})")


def test_each_duration_of_a_line_counts():
    assert are_alike("Done in 3s, Done in 4s", "Done in 4s, Done in 5s")
    assert not are_alike("Done in 3s, Done in 4s", "Done in 4s, Done in 9s")
    assert not are_alike("Done in 3s, Done in 4s", "Done in 3s, Done in")
    assert not are_alike("no time", "no times")
    assert are_alike("no time", "no time")


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("time npm test", True), ("npm test --durations=3", True), ("npm run bench", True), ("npm run benchmarks", True),
        ("hyperfine a", True), ("perf a", True),
        ("npm run perform-a", True), ("npm run profile", True), ("pytest --slow", True), ("a speedtest", True), ("npm run timings", True),
        ("TIMES a", True),
        ("timed a", False), ("runtime a", False), ("npm test", False), ("a xbench", False), ("perfect a", False), ("time2 a", True),
        (None, False), (3, False), ("", False),
    ],
)  # fmt: skip
def test_a_command_asks_for_times_by_its_words(command: object, asks: bool):
    assert asked_for(command) is asks
