"""Of an output over its budget what says something enters; all of that stands in the output, and a failure is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hidden_failures import hidden_lines
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door, kinds
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.door import failures, informative
from popkit_retention.core.policy.door.failures import failures_in
from popkit_retention.core.policy.door.informative import LEAST_FAILED, LEAST_SAVED, shorten
from popkit_retention.core.state import shipped
from tests.examples import examples
from tests.policy.door_laws import HANDLE, outputs
from tests.policy.entering import shaped
from tests.policy.failing import COMMANDS, FAILING
from tests.work import steps

KINDS = ["run:test", "run", "search", "other", "error"]
PASSED = [f"tests/test_shop.py::test_order_{at:03} PASSED   [{at:3}%]" for at in range(100)]
FAILED = [
    "=================================== FAILURES ===================================",
    "_______________________________ test_price _______________________________",
    "    def test_price():",
    ">       assert price(3) == 30",
    "E       assert 33 == 30",
    "E        +  where 33 = price(3)",
    "tests/test_shop.py:41: AssertionError",
]
SUMMARY = ["=========================== short test summary info ===========================", "1 failed, 100 passed in 0.71s"]


def entered(lines: list[str], kind: str, error: bool = False) -> list[str]:
    return shorten("\n".join(lines), kind, error, HANDLE).text.split("\n")


def test_of_a_failed_run_the_failures_their_values_and_places_and_the_summary_stay():
    kept = entered(["Exit code 1", *PASSED, *FAILED, *SUMMARY], "run:test", error=True)
    assert [line for line in kept if line in FAILED + SUMMARY] == FAILED + SUMMARY
    assert kept[0] == "Exit code 1"
    assert sum(line in PASSED for line in kept) < 15
    assert "popkit restore abcdefgh" in kept[-1]


def test_of_a_passed_run_the_verdict_stays():
    kept = entered([*PASSED, "100 passed in 0.71s"], "run:test")
    assert kept[-2] == "100 passed in 0.71s"
    assert len("\n".join(kept)) < 2 * kinds.of("run").budget
    assert kept[-1].startswith("[PopKit left out ")


@pytest.mark.parametrize("kind", ["run:test", "other", "error"])
@pytest.mark.parametrize("count", [1, 200, 1_000])
def test_all_failures_stay_however_many_there_are(kind: str, count: int):
    failed = [f"FAIL tests/test_{at:05}.py" for at in range(count)]
    kept = entered([*PASSED, *failed, *PASSED, "done"], kind, error=kind == "error")
    assert [line for line in kept if line in set(failed)] == failed
    assert sum(line in PASSED for line in kept) < 2 * len(PASSED)


@pytest.mark.parametrize("kind", ["run", "other", "error", "search"])
def test_a_failure_in_the_middle_of_a_long_output_stays_in_every_kind(kind: str):
    for name, (text, failure) in FAILING.items():
        shortened = shorten(text, kind, kind == "error", HANDLE)
        if kind != "search":
            assert all(line in shortened.text.split("\n") for line in failure.split("\n")), name
            assert shortened.lines, f"nothing was left out, so nothing was shown: {name}"
        assert hidden_lines(text, shortened.text) == [], name


@pytest.mark.parametrize("kind", ["run", "other", "read", "search"])
@pytest.mark.parametrize("line", [
    "\x1b[1m\x1b[33mwarning\x1b[0m\x1b[1m: unused variable: `price`\x1b[0m",
    "\x1b[96m    Building\x1b[0m [====> ] 601/602: shop(bin)      \r\x1b[K\x1b[33mwarning\x1b[0m: unused variable: `price`",
    "test 2/3 \x1b[31mFAILED\x1b[0m\rtest 3/3 ok\r",
    "\x1b[31mError:\x1b[0m nobody knows the price",
])  # fmt: skip
def test_a_failure_is_known_in_colours_and_where_it_was_drawn_over(kind: str, line: str):
    assert failures_in(["all is well", line, "and so on"], kind) == [1]


@pytest.mark.parametrize("line", [
    "(pass) prices > throws an error for an unknown price [0.53ms]",
    "@shop/core:test: (pass) prices > fails without a price [0.53ms]",
    "  \u2713  12 [chromium] \u203a tests/shop.spec.ts:364:3 \u203a the order fails (1.5s)",
    "[web] \u2713 shows an error",
    "chkit:test:  0 fail",
    "    at next (/p/node_modules/express/lib/router.js:41:9)",
    "    at node:internal/process/task_queues:105:5",
])  # fmt: skip
def test_tests_that_passed_and_code_of_others_indicate_no_failure(line: str):
    assert failures_in([line], "run") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_runs_the_tasks_a_failure_stays(command: str):
    text, failure = FAILING["tsc"]
    call = Call("toolu_1", TOOLS.of("Bash"), {"command": command}, Outcome(len(text)), cwd="/p")
    kind = classify(call, "/p", shipped.rules()).kind
    entry = door.enter(
        door.Arrival("toolu_1", TOOLS.of("Bash"), {"command": command}, kind, "T1", text), door.ContextLines(), shaped(door.STRONG)
    )
    assert failure in entry.text
    assert len(entry.text) < len(text)


@pytest.mark.parametrize("kind", ["run:test", "other", "search", "error"])
def test_a_failed_result_of_up_to_4000_characters_enters_whole(kind: str):
    text = "Exit code 1\n" + "\n".join(f"step {at} of it" for at in range(400))
    assert shorten(text[:LEAST_FAILED], kind, True) == (text[:LEAST_FAILED], 0)
    assert shorten(text, kind, True).lines


@pytest.mark.parametrize("text", [
    " id | name\n----+------\n" + "".join(f" {at} | anna {at}\n" for at in range(300)) + "(300 rows)",
    "two tables\n| id | name |\n" + "".join(f"| {at} | anna {at} |\n" for at in range(300)) + "as it is",
    "+----+-----+\n| id | n |\n+----+-----+\n" + "".join(f"| {at} | anna |\n" for at in range(300)),
    "".join(f"[section{at}]\nname = anna\nport = {at}\n\n" for at in range(90)),
    "services:\n" + "".join(f"  web{at}:\n    image: shop/{at}\n    ports:\n      - 80\n" for at in range(90)),
    "".join(f"export SETTING_{at}={at}\nNAME{at}=anna\nOTHER{at}=b\nMORE{at}=c\nLAST{at}=d\n" for at in range(90)),
    "CONTAINER ID   IMAGE         STATUS       NAMES\n"
    + "".join(f"{at:012x}   shop/{at:<7}   Up {at % 9} days    shop_{at}\n" for at in range(90)),
    "NAME        READY   STATUS    RESTARTS   AGE\n" + "".join(f"web-{at:<7} 1/1     Running   {at:<10} {at}d\n" for at in range(90)),
    "Filesystem     Size  Used Avail Use% Mounted on\n"
    + "".join(f"/dev/sd{at:<6} {at:>5}G {at:>4}G  {at:>3}G {at:>3}% /mnt/{at}\n" for at in range(90)),
    "USER         PID %CPU COMMAND\n" + "".join(f"anna     {at:>7}  {at % 9}.0 node /srv/shop/{at}.js --port {at}\n" for at in range(90)),
], ids=["psql", "markdown", "mysql", "ini", "compose", "env", "docker", "kubectl", "df", "ps"])  # fmt: skip
def test_rows_of_tables_and_configurations_enter_whole(text: str):
    assert shorten(text, "other") == (text, 0)


@pytest.mark.parametrize("text", [
    "Building the shop\n" + "".join(f"step {at} of it, then another one\n" for at in range(300)),
    "Server is running\n" + "".join(f"2026-11-28 00:00:{at % 60:02} INFO  request {at} was served\n" for at in range(300)),
    "".join(f"web-{at:<7} 1/1     Running   {at:<10} {at}d\n" for at in range(90)),
    "  STEP     SAID\n" + "".join(f"  step{at:03}  said{at:03}\n" for at in range(600)),
], ids=["prose", "log", "no head", "one gutter"])  # fmt: skip
def test_lines_that_are_only_written_alike_are_no_table(text: str):
    assert shorten(text, "other").lines


@pytest.mark.parametrize("kind", ["search", "other"])
def test_a_long_listing_keeps_the_name_of_each_file(kind: str):
    text = "total 90\n" + "".join(f"-rw-r--r--  1 anna staff {at * 37:>6} Nov 28 00:{at % 60:02} price_{at}.py\n" for at in range(90))
    assert shorten(text, kind) == (text, 0)


@pytest.mark.parametrize(
    "definition", ["def price(item):", "export class Price {", "pub fn price() {", "func Price() int {", "type Price struct {"]
)
def test_a_search_that_shows_the_lines_around_a_definition_enters_whole(definition: str):
    lines = [f"src/a.py-{at}-    step_{at} = configure({at})" for at in range(100)]
    lines[3] = f"src/a.py:3:{definition}"
    assert shorten("\n".join(lines), "search").lines == 0
    lines[3] = "src/a.py:3:    total = price(item)"
    assert shorten("\n".join(lines), "search").lines


def test_the_first_matches_of_each_file_stay_and_the_rest_are_counted_by_file():
    files = {f"src/part_{name}.py": count for name, count in (("a", 90), ("b", 2), ("c", 30))}
    matches = [f"{file}:{at}:    return configure({at})" for file, count in files.items() for at in range(count)]
    kept = entered(matches, "search")
    for file in files:
        assert f"{file}:0:    return configure(0)" in kept
        assert f"{file}:1:    return configure(1)" in kept
    hidden = {file: count - sum(line.startswith(file) for line in kept[:-1]) for file, count in files.items()}
    assert f"most of them in src/part_a.py {hidden['src/part_a.py']}" in kept[-1]
    assert f"src/part_c.py {hidden['src/part_c.py']}" in kept[-1]


def test_matches_take_precedence_over_the_lines_around_them():
    beside = [f"{at}-    filler_of_the_shop = {at}" for at in range(1, 90)]
    kept = entered([*beside, "90:    total = price()", "91-    pass"], "search")
    assert "90:    total = price()" in kept
    assert len(kept) < len(beside)


def test_of_a_list_of_files_some_of_every_folder_stay():
    files = [f"src/{folder}/file_{at}.py" for folder in ("alpha", "beta", "gamma") for at in range(90)]
    kept = entered(files, "search")
    assert {line.split("/")[1] for line in kept[:-1]} == {"alpha", "beta", "gamma"}


def test_of_any_other_output_the_ends_stay_and_the_names_of_the_rest():
    lines = [f"row {at}: copied" for at in range(400)]
    lines[150] = "see /srv/shop/config/prices.toml"
    kept = entered(lines, "other")
    assert (kept[:2], kept[-3:-1]) == (lines[:2], lines[-2:])
    assert kept[-1].endswith("they name: /srv/shop/config/prices.toml]")


@pytest.mark.parametrize(("beyond", "named"), [(0, True), (1, False)])
def test_names_are_those_of_whole_lines_in_the_first_100_000_characters_left_out(beyond: int, named: bool):
    lines = [f"row {at:04} {'.' * 90}" for at in range(2_000)]
    first = next(at for at, (line, kept) in enumerate(zip(lines, entered(lines, "other"))) if line != kept)
    lines[first + 999] = f"see /srv/shop/{'p' * (80 + beyond)}.toml"
    assert len("\n".join(lines[first : first + 1_000]) + "\n") == 100_000 + beyond
    assert ("they name: /srv/shop/ppp" in entered(lines, "other")[-1]) is named


@pytest.mark.parametrize("text", [
    "diff --git a/a.py b/a.py\n" + "+    one line more\n" * 900,
    '{"rows": [\n' + '  {"id": 1},\n' * 900 + "]}",
    "id,name,price\n" * 900,
])  # fmt: skip
def test_diffs_and_data_enter_whole(text: str):
    assert shorten(text, "other").text == text


@pytest.mark.parametrize("kind", ["read", "ack", "tasks", "decision", "restored", ""])
def test_kinds_without_a_budget_enter_whole(kind: str):
    assert shorten("a line of it\n" * 5_000, kind).lines == 0


def test_an_error_whose_message_is_one_long_line_enters_whole():
    message = "Exit code 1\n" + "the server says " * 1_000 + "\n" + "at some place\n" * 500
    assert shorten(message, "other", error=True).text == message


@pytest.mark.parametrize("tool", ["Read", "Task", "WebFetch", "mcp__shop__list", "Edit"])
def test_what_no_shell_and_no_search_prints_enters_whole(tool: str):
    text = "\n".join(f"row {at} of it" for at in range(900))
    assert door.enter(door.Arrival("t", TOOLS.of(tool), {}, "other", "T1", text), door.ContextLines(), shaped(door.STRONG)).reasons == ()


def test_only_strong_shortens_and_the_same_call_made_at_once_again_enters_whole():
    text = "\n".join(f"row {at} of it" for at in range(900))
    arrival = door.Arrival("t", TOOLS.of("Bash"), {}, "other", "T1", text, handle=HANDLE)
    entry = door.enter(arrival, door.ContextLines(), shaped(door.STRONG))
    assert entry.text == shorten(text, "other", False, HANDLE).text
    assert door.is_partial(entry)
    assert entry.reasons == (f"{shorten(text, 'other').lines:,} lines over its budget left out",)
    for shape in (door.OFF, door.SAFE):
        assert door.enter(arrival, door.ContextLines(), shaped(shape)) == (text, (), ())
    arrival.again = True
    assert door.enter(arrival, door.ContextLines(), shaped(door.STRONG)) == (text, (), ())


def test_what_is_left_of_an_output_is_still_said_once():
    first = [f"value_{at} = configure('the shop', {at})" for at in range(40)]
    shown = door.ContextLines()
    shown.add(door.Source("a", "T1, Bash cat", first))
    text = "\n".join([*first, *(f"row {at} of it" for at in range(900))])
    entry = door.enter(
        door.Arrival("t", TOOLS.of("Bash"), {}, "other", "T2", text, handle=HANDLE), shown, door.Settings(door.ANY, door.STRONG)
    )
    assert len(entry.reasons) == 2
    assert entry.leans_on == ("a",)


def test_what_the_host_adds_for_the_model_stays():
    reminder = "<system-reminder>\nThe file is long.\n</system-reminder>"
    text = "row of it\n" * 900 + reminder
    assert shorten(text, "other").text.endswith("]\n" + reminder)


@given(outputs, st.sampled_from(KINDS))
@settings(max_examples=examples(50, 10_000))
def test_no_line_about_a_failure_is_left_out_nor_is_the_last_line(text: str, kind: str):
    kept = shorten(text, kind, True, HANDLE).text
    assert hidden_lines(text, kept) == []
    if kind != "search":
        assert [line for line in text.split("\n") if line.strip()][-1:] in ([], *([line] for line in kept.split("\n")))


@given(outputs, st.sampled_from(KINDS), st.booleans())
@settings(max_examples=examples(50, 10_000))
def test_it_gets_shorter_or_stays_as_it_is_and_once_is_enough(text: str, kind: str, error: bool):
    shortened = shorten(text, kind, error, HANDLE)
    assert shortened.text == text or len(shortened.text) <= len(text) - LEAST_SAVED
    assert shorten(shortened.text, kind, error, HANDLE) == (shortened.text, 0)
    if len(text) <= min(kind.budget for kind in kinds.ALL if kind.budget):
        assert shortened == (text, 0)


@pytest.mark.parametrize(("kind", "one"), [
    ("run", "FAIL tests/a.py"), ("search", "src/a.py:1:x"), ("search", "-" * 300 + "1" * 3_000), ("search", "/" * 400), ("other", "a row"),
    ("other", ""),
])  # fmt: skip
def test_a_line_of_a_long_text_takes_a_few_steps(kind: str, one: str):
    small, large = (steps(shorten, (one + "\n") * lines, kind) for lines in (400, 1_600))
    assert large < 4.4 * small
    assert large < 1_600 * 40
    text = (one + "\n") * (100_000 // (len(one) + 1))
    assert len(shorten(text, kind).text) < 20_000 or len(one) > kinds.of(kind).budget or one.startswith("FAIL")


# --- which lines tell of a failure, and what of each output stays ------------------------------------------------------------------

GOLDENS = Path(__file__).with_name("goldens")
REPORTS = [
    *(f"it says {word} here" for word in failures._WORDS), "all is well", "", "x" * 400 + " error", "x" * 395 + " error", "x" * 401,
    "Error", "eRRoR",
    *(f"{begin} 3" for begin in ("exit", "exited", "exit with", "exit code", "exit status", "exited with code", "exits")), "exit 0",
    "exit: 1", "exit code: 0",
    "exit=2", "exit(3)", "exit -1", "E501", "E50", "E12345", "xE501", "SIGTERM", "SIGHU", "xSIGTERM", "SIGTERMx", "E  a", "E a", "> a",
    ">  a", "- Expected",
    "+ Received", "-Expected", "  ^", "  ~~~", "  ~~^", "  |  ^", "  | x", "the Actual one", "actually", "a.py:3:5: x", "a:3:5", "a)3:5",
    "3:5:7", "a.py(3,5)",
    "a.py(3,)", "3:5 x", " 3:5  x", "3:5", "--> a", "-->a", "x --> a", "a.py:3: x", "a.py:3 x", "a.pyyyyyyyyy:3: x", 'File "a.py", line 3',
    'File "a.py", line x',
    "rspec ./a", "phpunit a", "rspecs a", "L3: a", "xL3: a", "a b.py:3", "b.py:3", "b.py:3 c", "a::b", "a::b c", "a.b::c.d ",
    "    at f (/p/node_modules/a.js:1:2)",
    "    at f (node:internal/a:1:2)", "    at f (/p/a.js:1:2)", "  12 | a", "  12 13 | a", "  12 |", "  12 |a", "> 12 | a error",
    " 12 | error", "  1) a", "1)a",
    "___ a ___", "__ a __", "--- a ---", "-- a --", "..F..", "....", "F", "E", "s.x", ".F. [ 50%]", "Fx", "0 errors", "no errors",
    "1 error", "10 errors",
    "errors: 0", "errors: 1", "failed=0", "failures: 0, errors: 2", "no failures but a problem", "noerror", "skipped: 0",
    "0 failing, 1 failing",
    "ok 1 - error", "ok  \tpkg/error\t0.3s", "ok error", "✓ an error", "✔ error", "√ error", "(pass) error", "PASS error", "PASSED error",
    "--- PASS: error",
    "test error ... ok", "test error ... FAILED", "a_error PASSED", "a_error PASSED  [ 50%]", "a_error PASSED x", "error ... ok",
    "an error ... ok",
    "test result: ok. 0 failed", "test result: FAILED", "web: ✓ error", "[web] ✓ error", "web:a: ok 1 error", "not ok 1", "error: x",
    "x: error: y", "x error y",
    "error[E1]: x", "warning: x", "warning: ", "a.c:3: warning: x", "warnings: x", "3:5 error x", "3:5 warning x", "thread panicked at x",
    "<<< FAILURE!", "<<< ERROR!",
    "... FAILED", "ValueError: x", "ValueError", "a.b.MyException: x", "KeyboardInterrupt", "a ValueError: x", "1 failed", "0 failed",
    "12 problems", "[ERROR] x",
    "> Task :a FAILED", "exited with code 3", "exited (3)", "undefined reference to", "ERR_PNPM_X", "3) a::b", "sh: x: command not found",
    "command not found",
    "ls: a: No such file or directory", "a: Permission denied", "Segmentation fault", "core dumped", "Failures: 1", "Errors: 0",
    "ELIFECYCLE", "CONFLICT (content)",
    "  --> a:3:5", "e: a", "a.kt:3:5: x", "a.kt:3:5 - x", "    a_test.go:3: x", "  1) [chrome]", "rspec ./a.rb", "FAILED in 3.5s", "FAILED",
    "FAILED [ 50%]", "x FAILED",
    "a: exit 1 (", "a: exit 0 (", "Traceback (most", "npm ERR! x", "npm error x", "make: *** [a]", "gmake[2]: *** x", "✕ a", "✗ a", "✖ a",
    "× a", "● a",
    "ninja: build stopped", "Exception in thread", "Caused by: x", "collect2: x", "goroutine 3 [", "Uncaught x", "Killed", "Killed x",
    "FAIL", "FAIL x", "FAILURES!",
    "src/a.py:3:error: x", "src/a.py-3-error: x", "3:error: x", "3-error: x", "| error: x", "] fatal: x", "#12 error: x", "E   x", "E  ",
    "panic: x", "AssertionError: x",
    "\x1b[31merror: x\x1b[0m", "a\rerror: x\rb", "\x1b[31mall is well\x1b[0m",
]  # fmt: skip


def test_a_line_tells_of_a_failure_where_the_golden_says_so(golden):
    rows = []
    for line in dict.fromkeys(REPORTS):
        marks = "".join(mark if failures_in(["well", line, "well"], kind) == [1] else " " for mark, kind in (("F", "run"), ("S", "search")))
        rows.append(f"{marks} {line if len(line) < 400 else f'{line[:3]}… ({len(line)})'!r}")
    golden(GOLDENS / "failure_lines.txt", "".join(f"{row}\n" for row in rows))


PLAIN = [f"this is line {at} of a text about the shop" for at in range(400)]
LONG_ROW, WEB = "-rw-r--r--  1 bob staff {at} Jan 1 12:00 file_{at}.py", "web-{at:<7} 1/1     Running"
# Outputs that are too long for any budget, or nearly.
LONG_OUTPUTS = {
    "plain": PLAIN,
    "plain, in short lines": [f"line {at}" for at in range(3_000)],
    "with one long line": [*PLAIN[:200], "y" * 5_000, *PLAIN[200:]],
    "failing": [f"error: no {at}" if at in (0, 1, 90, 91, 100, 399) else line for at, line in enumerate(PLAIN)],
    "failing often": [f"error: no {at}" if at % 9 == 0 else line for at, line in enumerate(PLAIN)],
    "with blank lines": [line for at in range(300) for line in (PLAIN[at], "", " ")],
    "matches": [f"src/part_{at % 7}.py:{at}:    return total(order, {at})" for at in range(400)],
    "matches of few files": [f"src/part_{at // 399}.py:{at}:    return total(order, {at})" for at in range(400)],
    "matches without files": [f"{at}:    return total(order, {at})" for at in range(400)],
    "around matches": [f"src/part.py{'-:'[at % 5 == 2]}{at}{'-:'[at % 5 == 2]}    a line {at} of it" for at in range(500)],
    "around a definition": [f"src/part.py{'-:'[at % 5 == 2]}{at}{'-:'[at % 5 == 2]}def total_{at}(order):" for at in range(500)],
    "definitions alone": [f"src/part.py:{at}:def total_{at}(order):" for at in range(500)],
    "matches in Windows": [f"C:\\src\\part_{at % 3}.py:{at}:    return total(order, {at})" for at in range(400)],
    "files": [f"src/part_{at % 9}/file_{at}.py" for at in range(700)],
    "files of no folder": [f"file_{at}_of_the_shop.py" for at in range(700)],
    "matches that fail": [f"src/part_{at % 7}.py:{at}:{'error: no' if at % 50 == 0 else 'x = error'} {at}" for at in range(400)],
    **{f"{count} rows with bars": [*["| a | b |"] * count, *PLAIN] for count in (1, 2, 3)},
    **{f"{count} long names": [f"-rw-r--r--  1 bob staff {'9' * 2_000} Jan 1 12:00 f"] * count for count in (1, 2, 3)},
    "a long listing": [LONG_ROW.format(at=at) for at in range(300)],
    "a long listing in four fifths": [LONG_ROW.format(at=at) if at % 5 else f"folder {at}:" for at in range(300)],
    "a long listing in less": [LONG_ROW.format(at=at) if at % 5 else f"folder {at}:" for at in range(301)],
    "a rule": ["name | count", "-----+------", *PLAIN],
    "a rule of one column": ["name", "-----", *PLAIN],
    "a rule that is long": ["name | count", "-----+------" * 90, *PLAIN],
    "columns": ["NAME        READY   STATUS", *(WEB.format(at=at) for at in range(400))],
    "columns, some rows out of them": ["NAME        READY   STATUS", *(WEB.format(at=at) if at % 11 else "x" * 40 for at in range(400))],
    "columns, more rows out of them": ["NAME        READY   STATUS", *(WEB.format(at=at) if at % 9 else "x" * 40 for at in range(400))],
    "two columns": ["NAME        STATUS", *(f"web-{at:<7} Running" for at in range(500))],
    "columns under no head": ["name        1       2", *(WEB.format(at=at) for at in range(400))],
    **{
        f"columns with {count} rows": ["NAME        READY   STATUS", *["web-1       1/1     " + "Running" * 900] * count]
        for count in (1, 2, 3)
    },
    "settings": ["[server]", *(f"key_{at} = value of {at}" for at in range(500))],
    "settings in four fifths": [f"key_{at}: value of {at}" if at % 5 else f"this is no setting {at}" for at in range(500)],
    "settings in less": [f"key_{at}: value of {at}" if at % 5 else f"this is no setting {at}" for at in range(501)],
    "items": [f"- item {at} of the list of the shop" for at in range(500)],
    "data": ["{", *PLAIN, "}"],
    "a line that is said once": [*PLAIN, "[PopKit left out 3 of 9 lines]"],
    **{f"a gap of {count}": [*PLAIN, "error: a", *PLAIN[:8], "-" * count, "", "", "error: b", *PLAIN] for count in (36, 37)},
    "with an end": [*PLAIN, ""],
    "with a reminder": [*PLAIN, "<system-reminder>read it well</system-reminder>", "more"],
}


def folded_to(lines: list[str], text: str) -> str:
    """Which lines stay: their numbers, and others as they are."""
    places = {line: at for at, line in reversed(list(enumerate(lines)))}
    rows = [str(places[line] + 1) if line in places and line.strip() else repr(line) for line in text.split("\n")]
    runs: list[list[str]] = []
    for row in rows:
        if runs and row.isdigit() and runs[-1][-1].isdigit() and int(row) == int(runs[-1][-1]) + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    return " ".join(run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


@pytest.mark.parametrize("kind", ["run", "search", "other", "error", "read"])
def test_of_each_output_stay_the_lines_that_the_golden_shows(golden, kind: str):
    rows = []
    for title, lines in LONG_OUTPUTS.items():
        text = "\n".join(lines)
        for error in (False, True):
            short = informative.shorten(text, kind, error, "abcd2345" if error else "")
            stays = "the same" if short == (text, 0) else f"{short.lines}: {folded_to(lines, short.text)}"
            rows.append(f"{title}{', failed' * error} => {stays}")
    golden(GOLDENS / f"shortened_{kind}.txt", "".join(f"{row}\n" for row in rows))
