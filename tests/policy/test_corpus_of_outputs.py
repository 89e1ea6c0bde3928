"""A corpus of outputs, with what enters of each: `goldens/outputs.txt`.

All enter one context, one behind the other, with all that may be left out. `= 1..40` stands for lines of a text that stay as they are; the
others stand as they enter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import door
from popkit_retention.core.policy.calls import Call, Outcome
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.state import shipped
from tests.policy.entering import body, read_of
from tests.policy.failing import FAILING
from tests.policy.timed_runs import RUNS, places, printed

GOLDEN = Path(__file__).with_name("goldens") / "outputs.txt"
TESTS = [f"tests/test_shop.py::test_order_{at:03} PASSED   [{at:3}%]" for at in range(100)]
CODE = body("shop", 60)
# Lines of one form, of many kinds.
ROWS = {
    "progress": ["\r".join(f"Fetching {at} of 20 parts" for at in range(1, 21)), "done"],
    "progress in shares": ["\r".join(f"{at}% [####    ] 12.{at} MB/s 0:00:{at:02}" for at in range(10, 60, 9)), "100% done", "fetched"],
    "a spinner": ["\r".join("|/-\\") + "\rready", "step 1...\rstep 1... ok", "12% error\r13% more\r14%"],
    "a meter": [" 10 1M 10 1k 0 0 5k 0 0:00:10 0:00:01 0:00:09 5k\r 20 1M 20 2k 0 0 5k 0 0:00:10 0:00:02 0:00:08 5k"],
    "colours": [
        "\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[0m",
        "a\x1b[5Gb",
        "\x1b]8;;https://a.invalid\x07link\x1b]8;;\x07",
        "\x1b[2K line",
    ],
    "blank lines": ["a", "", "", "", "", "b", "", ""],
    "repeated lines": ["starting the server again", *["waiting for the server to come up"] * 12, "up", *["."] * 30, *["a, b, c,"] * 5],
    "a count of ours": ["[the line above stands 3 times in a row]", "b", "[the line above stands 1 time in a row]"],
    "a table with bars": [f"| {at} | name {at} | {at * 7} |" for at in range(200)],
    "columns": ["NAME        READY   STATUS", *(f"web-{at:<7} 1/1     Running" for at in range(200))],
    "a long listing": [f"-rw-r--r-- 1 bob staff {at * 731} Jan {at % 30} 12:00 file_{at}.py" for at in range(200)],
    "settings": ["[server]", *(f"key_{at} = value of {at}" for at in range(300))],
    "comma-separated": [f"{at},{at * 3},name {at}" for at in range(400)],
    "objects": [json.dumps({"id": at, "name": f"name {at}"}) for at in range(300)],
    "a diff": ["diff --git a/a.py b/a.py", "@@ -1,60 +1,60 @@", *(f"-{line}" for line in CODE[:30]), *(f"+{line}" for line in CODE[30:])],
    "a log": [f"2026-01-01 12:00:{at % 60:02} INFO worker {at} handled request {at * 17} of the shop" for at in range(300)],
    "a log with one failure": [
        f"step {at} of the build is done and well" if at != 150 else "ERROR: step 150 failed: no space" for at in range(300)
    ],
    "plain words": [f"this is line number {at} of a text that somebody wrote about the shop" for at in range(150)],
}
MATCHES = [f"src/part_{at % 7}/basket.py:{at}:    return total(order, {at})" for at in range(200)]
AROUND = [f"src/shop.py{'-:'[at % 5 == 2]}{at}{'-:'[at % 5 == 2]}{'def price():' if at % 5 == 2 else '    pass'}" for at in range(300)]
MANY = [f"src/a_folder_with_a_long_name_{at}/and_a_file_of_it.py:{at}: total" for at in range(400) for _ in range(1 + at % 3)]
HOST = "<system-reminder>read it well</system-reminder>"


def arriving() -> Iterator[tuple[str, str, dict, str, bool]]:
    """(title, tool, input, text, whether it failed) of each."""
    for title, rows in ROWS.items():
        yield title, "Bash", {"command": f"./{title.replace(' ', '-')}"}, "\n".join(rows), False
        yield f"{title}, of a build", "Bash", {"command": f"make {title.split()[-1]}"}, "\n".join([*rows, "", HOST]), False
    for title, (command, lines) in RUNS.items():
        count = len(places(lines))
        for run, numbers in enumerate(([f"{3 + at % 7}.5" for at in range(count)], [f"{4 + at % 6}.25" for at in range(count)])):
            yield f"{title}, run {run + 1}", "Bash", {"command": command}, printed(lines, numbers), False
    yield "a slow run", "Bash", {"command": "pytest --durations=3"}, "\n".join([*TESTS, "3 passed in 4.00s"]), False
    for title, (text, _) in FAILING.items():
        yield f"failing: {title}", "Bash", {"command": "just ci"}, text, False
    yield (
        "a failed run",
        "Bash",
        {"command": "pytest"},
        "\n".join(["Exit code 1", *TESTS, *FAILING["pytest"][0].split("\n"), "1 failed"]),
        True,
    )
    yield "an error", "Bash", {"command": "./deploy"}, "\n".join(["Exit code 2", *ROWS["plain words"], "Error: no route"]), True
    yield "a short error", "Bash", {"command": "./deploy x"}, "Exit code 2\nno route", True
    yield "matches", "Bash", {"command": "rg total src"}, "\n".join(MATCHES), False
    yield "matches in many files", "Bash", {"command": "rg total"}, "\n".join(MANY), False
    yield "matches of a tool", "Grep", {"pattern": "total", "output_mode": "content"}, "\n".join(MATCHES), False
    yield "lines around matches", "Grep", {"pattern": "price", "output_mode": "content", "-A": 2}, "\n".join(AROUND), False
    yield "files", "Glob", {"pattern": "**/*.py"}, "\n".join(f"src/part_{at % 9}/file_{at}.py" for at in range(300)), False
    yield "a file", "Read", {"file_path": "/p/shop.py"}, read_of(CODE), False
    yield "the file again", "Read", {"file_path": "/p/shop.py"}, read_of(CODE) + "\n\n" + HOST, False
    yield "a part of the file", "Read", {"file_path": "/p/shop.py", "offset": 11, "limit": 30}, read_of(CODE[10:40], 11), False
    yield "the file, printed", "Bash", {"command": "cat shop.py"}, "\n".join(CODE), False
    yield "the file with numbers", "Bash", {"command": "cat -n shop.py"}, read_of(CODE, form="tab"), False
    yield "two files", "Bash", {"command": "cat shop.py; echo == b; cat b.py"}, "\n".join([*CODE, "== b", *body("basket")]), False
    yield "written", "Write", {"file_path": "/p/new.py", "content": "\n".join(body("new"))}, "File created", False
    yield "the written file", "Read", {"file_path": "/p/new.py"}, read_of(body("new")), False
    yield "a difference", "Bash", {"command": "git diff"}, "\n".join(["@@ -1,30 +1,31 @@", *(f"+{line}" for line in body("new"))]), False
    edit = {"file_path": "/p/new.py", "old_string": "x", "new_string": "\n".join(body("edited", 20))}
    yield "edited", "Edit", edit, "The file has been updated", False
    yield "an edit that failed", "Edit", {**edit, "file_path": "/p/other.py"}, "String not found", True
    yield "the edited file", "Read", {"file_path": "/p/new.py"}, read_of([*body("new", 10), *body("edited", 20), *body("new", 10)]), False
    yield "restored", "Bash", {"command": "popkit restore abcd2345"}, "\n".join(CODE), False
    yield (
        "a line like ours",
        "Read",
        {"file_path": "/p/x.md"},
        read_of(["[PopKit left out Read a.ts: popkit restore abcd2345]", "b"]),
        False,
    )
    yield "several runs", "Bash", {"command": "npm run lint; echo ==; npm test"}, "\n".join([*TESTS, "==", *TESTS, "100 passed"]), False


def folded(text: str, before: str) -> Iterator[str]:
    """The lines of a text, of which those that stand in another are given by their numbers."""
    lines, at = before.split("\n"), 0
    stretch: list[int] = []
    for line in text.split("\n"):
        place = next((place for place in range(at, len(lines)) if lines[place] == line), None)
        if place is None or (stretch and place != stretch[-1] + 1):
            yield from _range(stretch)
            stretch = []
        if place is None:
            yield "  " + line
        else:
            stretch.append(place)
            at = place + 1
    yield from _range(stretch)


def _range(stretch: Sequence[int]) -> Iterator[str]:
    if stretch:
        yield f"  = {stretch[0] + 1}..{stretch[-1] + 1}"


def told() -> Iterator[str]:
    shown, settings, rules = door.ContextLines(), door.Settings(door.ANY, door.STRONG), shipped.rules()
    for title, tool, given, text, error in arriving():
        call = Call(title, TOOLS.of(tool), given, Outcome(len(text), error=error), cwd="/p")
        kind, name = classify(call, "/p", rules).kind, door.name_of(TOOLS.of(tool), given, "/p")
        arrival = door.Arrival(call.id, call.traits, given, kind, name, text, error, given.get("file_path", ""), handle="abcd2345")
        entry = door.enter(arrival, shown, settings)
        yield f"# {title}: {kind}, {name}, {text.count(chr(10)) + 1} lines"
        if entry.reasons:
            yield "  " + "; ".join([*entry.reasons, *entry.leans_on])
        yield from folded(entry.text, text)
        for source in door.shows(arrival, entry.text, settings):
            shown.add(source)


def test_an_output_enters_as_the_corpus_says(golden) -> None:
    golden(GOLDEN, "".join(f"{row}\n" for row in told()))
